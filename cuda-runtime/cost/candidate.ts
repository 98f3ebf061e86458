/** @file What every family of kernels chooses by: candidates, each with the time that the plan will print for it. */

/** One way of computing something. */
export interface Candidate<Launch> {
  /** What is launched, in its family's words: the row of a table, and how it is cut. */
  readonly launch: Launch;
  /** Predicted, of all steps that it takes: copies of operands and sums of splits included. */
  readonly microseconds: number;
}

/** Undefined where there is none. Of equals the first: families list first what they would rather take. */
export function cheapest<Launch>(candidates: Iterable<Candidate<Launch>>): Candidate<Launch> | undefined {
  let best: Candidate<Launch> | undefined;
  for (const candidate of candidates) {
    if (best === undefined || candidate.microseconds < best.microseconds) best = candidate;
  }
  return best;
}
