/** @file "Did you mean …?" */

/** The candidate nearest to a mistyped word, if one is near enough to be meant. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance > 1 && formOf(word) === formOf(candidate)) continue;
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Of a code: those that differ in several digits alone, or in how many there are, are other codes, not mistyped ones. */
function formOf(word: string): string {
  return word.toLowerCase().replaceAll(/\d+/g, "0");
}

/** `; did you mean "x"?`, or nothing. */
export function suggestion(word: string, candidates: Iterable<string>): string {
  const nearest = closest(word, candidates);
  return nearest === undefined ? "" : `; did you mean "${nearest}"?`;
}

/** Insertions, removals and replacements that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
