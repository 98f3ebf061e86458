/** @file What keeps a model of a million nodes in memory: equal strings are one, and lists have no room to grow on. */
const interned = new Map<string, string>();
const maxInterned = 4096;

/** An equal string: for names of operators, domains, attributes and files, of which a model has a few. */
export function intern(text: string): string {
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size < maxInterned) interned.set(text, text);
  return text;
}

/** The list in an array of its own length: one that grew by `push` has room for sixteen more. */
export function exactly<T>(list: readonly T[] | undefined): readonly T[] {
  return list?.slice() ?? [];
}
