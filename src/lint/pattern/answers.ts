/** @file What code of a plugin gives back, before anything is done with it: nobody's compiler looked at it. */

/** An answer that is none; what it says stands for itself. */
export class WrongAnswer extends Error {
  override readonly name = "WrongAnswer";
}

/** Throws WrongAnswer for a promise, which would hold wherever something is asked: rules answer at once. */
export function atOnce<T>(what: string, answer: T): T {
  if (!(answer instanceof Promise)) return answer;
  // What becomes of it is nobody's concern any more; a rejection that nobody hears ends the process.
  answer.catch(() => {});
  throw new WrongAnswer(`${what} gave a promise, and a rule answers at once: no async, no await`);
}

/** As messages quote it: what a plugin gives may throw where it is made text. */
export function quoted(answer: unknown): string {
  if (typeof answer === "string") return JSON.stringify(answer);
  if (typeof answer === "object" && answer !== null) return Array.isArray(answer) ? "a list" : "an object";
  return typeof answer === "function" ? "a function" : String(answer);
}
