/** @file Answers about sizes, given once for all layers that have them: a large model repeats a few. */
import type { Work } from "../ops/work.ts";

/** `answer`, which depends on the sizes alone, asked once for each. Products of equal sizes share one object of them. */
export function perWork<W extends Work<number>, T>(answer: (work: W) => T): (work: W) => T {
  const known = new Map<W, { readonly answer: T }>();
  return (work) => {
    const before = known.get(work);
    if (before !== undefined) return before.answer;
    const made = answer(work);
    known.set(work, { answer: made });
    return made;
  };
}
