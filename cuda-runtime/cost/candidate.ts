/** @file What every family of kernels chooses by: candidates, each with the time that the plan will print for it. */
import type { Emitter } from "../ir/emitter.ts";
import type { Candidate, Chooser, Question } from "../ir/question.ts";

export type { Candidate } from "../ir/question.ts";

/** Undefined where there is none. Of equals the first: families list first what they would rather take. */
export function cheapest<Launch>(candidates: Iterable<Candidate<Launch>>): Candidate<Launch> | undefined {
  let best: Candidate<Launch> | undefined;
  for (const candidate of candidates) {
    if (best === undefined || candidate.microseconds < best.microseconds) best = candidate;
  }
  return best;
}

/** Answers by prediction alone. */
export const predicting: Chooser = {
  answer(question) {
    const best = cheapest(question.candidates());
    return best && { ...best, by: "predicted" };
  },
};

/** Emits the candidate that is predicted to take least. False where there is none. */
export function emitCheapest<Launch>(emitter: Emitter, question: Question<Launch>): boolean {
  const best = cheapest(question.candidates());
  if (best !== undefined) question.emit(emitter, best.launch);
  return best !== undefined;
}
