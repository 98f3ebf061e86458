/** @file Two decoders' choices, step by step: where they differ, whether it was a choice between equals. */
import type { Decoded } from "./greedy.ts";

export interface OtherToken {
  /** From 0. */
  readonly step: number;
  readonly expected: number;
  readonly actual: number;
  /** How much likelier the reference takes its own, as a share of its largest score. */
  readonly gap: number;
  /** Within what rounding moves scores by: neither choice is wrong. */
  readonly isTie: boolean;
}

export interface DecodeComparison {
  readonly others: readonly OtherToken[];
  /** The largest difference of a score, as a share of the largest score of its step. */
  readonly largestError: number;
}

/** Both have been fed the reference's tokens. `tolerance`: a gap below it is a tie. */
export function compareDecoded(expected: Decoded, actual: Decoded, tolerance: number): DecodeComparison {
  const others: OtherToken[] = [];
  let largestError = 0;
  for (const [step, reference] of expected.scores.entries()) {
    const own = actual.scores[step] ?? new Float32Array(reference.length).fill(Number.NaN);
    let [largest, error] = [0, 0];
    for (const [at, score] of reference.entries()) {
      largest = Math.max(largest, Math.abs(score));
      const difference = Math.abs(score - (own[at] ?? Number.NaN));
      error = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(error, difference);
    }
    largestError = Math.max(largestError, error / largest);
    const [mine = -1, theirs = -1] = [actual.tokens[step], expected.tokens[step]];
    if (mine === theirs) continue;
    const gap = ((reference[theirs] ?? 0) - (reference[mine] ?? 0)) / largest;
    const isTie = Number.isFinite(error) && gap <= tolerance;
    others.push({ step, expected: theirs, actual: mine, gap, isTie });
  }
  return { others, largestError };
}
