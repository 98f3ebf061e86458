/** @file Files that are dropped anywhere on the page, or on the report inside of it. */

export function takeDrops(place: HTMLElement, take: (files: readonly File[]) => void): void {
  takeDropsOn(window, place, take);
}

export function takeDropsOn(
  target: Window,
  place: HTMLElement,
  take: (files: readonly File[]) => void,
): void {
  // What is not taken, the browser opens in the page's stead.
  target.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  target.addEventListener("dragleave", () => place.classList.remove("over"));
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) take(files);
  });
}
