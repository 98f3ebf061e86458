/** @file How large the values inside a model get. */
import { invariant } from "../ir/errors.ts";
import { type ChildOptions, runInChild } from "./run-in-child.ts";
import type { GivenSizes } from "./sizes.ts";
import type { Tensors } from "./tensor.ts";

export interface RangeOptions extends ChildOptions {
  /** Float values of the main graph, by name: inputs, or outputs of nodes. */
  readonly values: readonly string[];
  /** Sets of inputs; drawn ones unless given. */
  readonly samples?: readonly Tensors[] | undefined;
  /** How many draws of normal inputs, beside negative and zero ones; 2 unless given. */
  readonly seeds?: number | undefined;
  /** Sizes of symbolic axes, by symbol. Two that the model takes are found for all others. */
  readonly sizes?: GivenSizes | undefined;
  readonly threads?: number | undefined;
}

/**
 * The largest magnitude of each value over all samples, by name; Infinity where a NaN or an infinity was seen. Runs in
 * a child process. Throws InputError as `compareModels` does.
 */
export async function observeRanges(
  path: string,
  options: RangeOptions,
): Promise<ReadonlyMap<string, number>> {
  const { values, samples, seeds = 2, sizes = {}, threads } = options;
  const task = { path, values, samples, seeds, sizes, threads };
  const result = await runInChild({ kind: "observe", task }, path, options);
  invariant(result.kind === "observed", `a request for ranges was answered by "${result.kind}"`);
  return result.ranges;
}
