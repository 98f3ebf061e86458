/** @file Are two models the same function? */
import { InputError, invariant } from "../ir/errors.ts";
import { type Budget, budgets } from "./budget.ts";
import type { Lanes } from "./compare.ts";
import { originalEmpty } from "./protocol.ts";
import { type ChildOptions, runInChild } from "./run-in-child.ts";
import type { GivenSizes } from "./sizes.ts";
import type { Tensors } from "./tensor.ts";
import type { VerifyOutcome, VerifyTask } from "./verify-here.ts";

export interface VerifyOptions extends ChildOptions {
  /** How far outputs may be apart; `budgets.padding` unless given. */
  readonly budget?: Budget | undefined;
  /** How many draws of normal inputs, beside large, negative and zero ones; 2 unless given. */
  readonly seeds?: number | undefined;
  /** Sizes of symbolic axes, by symbol. Two that the original takes are found for all others. */
  readonly sizes?: GivenSizes | undefined;
  /** Sizes beside those given are tried as well; false unless given. */
  readonly otherSizes?: boolean | undefined;
  /** Inputs to use instead of drawn ones, by name. */
  readonly inputs?: Tensors | undefined;
  /** Of values that the candidate pads, by name: positions of the original's elements along each axis. */
  readonly lanes?: ReadonlyMap<string, Lanes> | undefined;
  /** Of inputs and outputs that the candidate has transposed: its axis i is the original's axis p[i]. */
  readonly permutations?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Of ONNX Runtime; its own choice unless given. */
  readonly threads?: number | undefined;
}

const defaultSeeds = 2;

/**
 * Runs both models on the same inputs, in a child process, and compares what they give. The outcome's report says
 * `same`, or where they differ. Throws InputError where that cannot be found out: `onnxruntime-missing`,
 * `weights-missing`, `random-operator`, `cannot-run` (the original), `verify-timeout`, `verify-memory`,
 * `verify-crashed`.
 */
export async function compareModels(
  original: string,
  candidate: string,
  options: VerifyOptions,
): Promise<VerifyOutcome> {
  const task = taskOf(original, candidate, options);
  try {
    return await compareInChild(task, options);
  } catch (error) {
    if (!(error instanceof InputError) || error.code !== "verify-crashed") throw error;
    if (!error.message.includes(originalEmpty)) throw error;
    // Some kernels of ONNX Runtime divide by the number of samples.
    const outcome = await compareInChild({ ...task, emptyBatch: false }, options);
    const notices = [
      ...outcome.report.notices,
      "not compared at a batch of 0: ONNX Runtime crashes on the original there",
    ];
    return { ...outcome, report: { ...outcome.report, notices } };
  }
}

async function compareInChild(task: VerifyTask, options: VerifyOptions): Promise<VerifyOutcome> {
  const result = await runInChild({ kind: "compare", task }, task.candidate, options);
  invariant(result.kind === "compared", `a comparison was answered by "${result.kind}"`);
  return result.outcome;
}

/** The comparison with what was not given filled in. */
export function taskOf(
  original: string,
  candidate: string,
  options: Omit<VerifyOptions, "childUrl">,
): VerifyTask {
  return {
    original,
    candidate,
    budget: options.budget ?? budgets.padding,
    seeds: options.seeds ?? defaultSeeds,
    sizes: options.sizes ?? {},
    otherSizes: options.otherSizes ?? false,
    emptyBatch: true,
    inputs: options.inputs,
    lanes: options.lanes ?? new Map(),
    permutations: options.permutations ?? new Map(),
    threads: options.threads,
  };
}
