/** @file Are two models the same function? */
import { invariant } from "../ir/errors.ts";
import type { Stacked } from "../ir/stacked.ts";
import { type Budget, budgets } from "./budget.ts";
import type { Lanes } from "./compare.ts";
import { doings } from "./protocol.ts";
import { type ChildOptions, CrashError, runInChild } from "./run-in-child.ts";
import type { GivenSizes, InputsFlag } from "./sizes.ts";
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
  /** What gives them, for messages: `--inputs` unless given, null for nothing. */
  readonly inputsFlag?: InputsFlag | undefined;
  /** Of values that the candidate pads, by name: positions of the original's elements along each axis. */
  readonly lanes?: ReadonlyMap<string, Lanes> | undefined;
  /** Of inputs and outputs that the candidate has transposed: its axis i is the original's axis p[i]. */
  readonly permutations?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Where the candidate takes other samples than the original in one run: how that is made of the original's runs. */
  readonly stacked?: Stacked | undefined;
  /** NaN counts as what padding may make of infinite inputs, as docs/fixing.md says; false unless given. */
  readonly assumesFinite?: boolean | undefined;
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
  return await compareOrLeave(taskOf(original, candidate, options), options);
}

/** Without what the original itself does not survive in ONNX Runtime: that tells nothing of the candidate. */
async function compareOrLeave(task: VerifyTask, options: VerifyOptions): Promise<VerifyOutcome> {
  try {
    return await compareInChild(task, options);
  } catch (error) {
    const left = error instanceof CrashError ? leftOutOf(task, error.doing) : undefined;
    if (left === undefined) throw error;
    const outcome = await compareOrLeave(left.task, options);
    return { ...outcome, report: { ...outcome.report, notices: [...outcome.report.notices, left.notice] } };
  }
}

function leftOutOf(task: VerifyTask, doing: string): { task: VerifyTask; notice: string } | undefined {
  if (task.emptyBatch && doing === doings.originalEmpty) {
    // Some kernels divide by the number of samples.
    const notice = "not compared at a batch of 0: ONNX Runtime crashes on the original there";
    return { task: { ...task, emptyBatch: false }, notice };
  }
  if (task.allOptimizations && doing.startsWith(doings.originalFused)) {
    const notice = "not compared with all optimizations: ONNX Runtime crashes on the original with them";
    return { task: { ...task, allOptimizations: false }, notice };
  }
  return undefined;
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
    // Runs of a model that takes some samples make none of no samples.
    emptyBatch: options.stacked === undefined,
    allOptimizations: true,
    inputs: options.inputs,
    inputsFlag: options.inputsFlag,
    lanes: options.lanes ?? new Map(),
    permutations: options.permutations ?? new Map(),
    stacked: options.stacked,
    assumesFinite: options.assumesFinite ?? false,
    threads: options.threads,
  };
}
