/** @file Graphs wider or higher than the screen: each begins at the node that it is about, which is its first. */

export function showFound(): void {
  // A folded graph has no sizes: it is scrolled once it is seen, and never again, for its reader moves it.
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      scrollToFirst(target);
    }
  });
  for (const view of document.querySelectorAll(".graph .scroll")) seen.observe(view);
}

function scrollToFirst(view: Element): void {
  const node = view.querySelector(".node rect")?.getBoundingClientRect();
  if (node === undefined) return;
  const { left, top, width, height } = view.getBoundingClientRect();
  view.scrollBy(node.left + node.width / 2 - left - width / 2, node.top + node.height / 2 - top - height / 2);
}
