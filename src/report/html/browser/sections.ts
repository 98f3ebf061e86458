/** @file Folded parts: a link into one opens it, and paper has no folds. */

/** Long tables stay folded on paper: a hundred models are a book. */
const printed = "details.finding, main > details.model[open] details";

export function openTarget(): void {
  const open = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name === "" ? null : document.getElementById(name);
    for (let each: Element | null = target; each !== null; each = each.parentElement)
      if (each instanceof HTMLDetailsElement) each.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
}

export function openForPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    const closed = [...document.querySelectorAll<HTMLDetailsElement>(printed)].filter(({ open }) => !open);
    for (const each of closed) each.open = true;
    opened = closed;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
    opened = [];
  });
}
