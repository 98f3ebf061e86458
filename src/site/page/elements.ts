/** @file Parts of the page by their names; one that is not there is a bug. */

export function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`tc-lint bug: the page has no ${id}`);
  return found;
}

/** An element with text in it: what comes from a file's name is never markup. */
export function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  ...content: readonly (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const result = document.createElement(name);
  result.append(...content);
  return result;
}
