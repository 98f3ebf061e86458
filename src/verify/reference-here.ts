/** @file What a model should compute, by ONNX Runtime, in the process that calls this: inputs drawn, outputs to compare with. */
import { exposeComputed, exposeValues } from "../onnx/expose.ts";
import { modelInMemory } from "../onnx/in-memory.ts";
import { type OpenModel, openModel } from "../onnx/open.ts";
import { patchedInMemory } from "../onnx/patched-in-memory.ts";
import { type Budget, type HalfType, halfAllowance, halfRange } from "./budget.ts";
import { codeWays } from "./code-ways.ts";
import { compareTensors } from "./compare.ts";
import { openSession, type Runnable, runtimeVersion, type SessionOptions } from "./ort.ts";
import { type Run, runOriginal } from "./plan.ts";
import { roundWeights } from "./rounded.ts";
import { checkRunnable } from "./signature.ts";
import type { GivenSizes } from "./sizes.ts";
import { convert, isFloatTensor, numbersOf, type Tensors, tensorOf } from "./tensor.ts";
import type { Decided, Operand } from "./ties.ts";

/** Plain data, so that it can be sent to another process. */
export interface ReferenceTask {
  readonly path: string;
  readonly budget: Budget;
  /** How many normal draws, beside negative and zero ones. */
  readonly seeds: number;
  /** Sizes of symbolic axes, by symbol; of others, one that runs is found. */
  readonly sizes: GivenSizes;
  /** Inputs to use instead of drawn ones. */
  readonly inputs: Tensors | undefined;
  /** Inner values that are wanted as well, by name. */
  readonly expose: readonly string[];
  readonly threads: number | undefined;
  /** Whether what other ways of rounding to codes make of the given inputs is asked for as well. */
  readonly ways?: boolean;
}

export interface Reference {
  readonly runtime: string;
  readonly runs: readonly Run[];
  /** By run, under a half budget: what the model gives with weights and inputs rounded to half. */
  readonly rounded: readonly Tensors[] | undefined;
  readonly notices: readonly string[];
  /** Of the first run, where `ways` are asked for. */
  readonly ways?: readonly Tensors[];
}

/** Throws InputError: `onnxruntime-missing`, `weights-missing`, `random-operator`, `cannot-run`. */
export async function referenceHere(
  task: ReferenceTask,
  onProgress: (what: string) => void,
): Promise<Reference> {
  using model = openModel(task.path);
  checkRunnable(model);
  const options: SessionOptions = { optimization: "basic", threads: task.threads };
  const { budget, seeds, sizes, inputs: given } = task;
  onProgress("the reference, loading");
  let plan: Awaited<ReturnType<typeof runOriginal>>;
  {
    await using session = await openSession(runnable(model, task), options);
    const request = { budget, seeds, sizes, given, onProgress, oneSize: true };
    const { notices, ...ran } = await runOriginal(session, model, request);
    plan = { ...ran, notices: [...session.notices, ...notices] };
  }
  const rounded =
    budget.kind === "half" ? await runRounded(model, budget.dtype, plan.runs, options) : undefined;
  const [first] = plan.runs;
  const ways =
    task.ways === true && first !== undefined
      ? await codeWays(model, { path: task.path }, first.inputs, options)
      : undefined;
  return {
    ...{ runtime: await runtimeVersion(), runs: plan.runs, rounded, notices: plan.notices },
    ...(ways && { ways }),
  };
}

function runnable(model: OpenModel, { path, expose }: ReferenceTask): Runnable {
  if (expose.length === 0) return { path };
  return { path, ...modelInMemory(path, () => exposeValues(model, model.source, expose)) };
}

export interface RoundedOptions extends SessionOptions {
  readonly onProgress?: (run: Run) => void;
  /** Whether an input is half itself; all are unless it says so. Another keeps what half has no number for. */
  readonly isHalf?: (input: string) => boolean;
}

/** The model with weights and inputs rounded to half, on every set of inputs. */
export async function runRounded(
  model: OpenModel,
  dtype: HalfType,
  runs: readonly Run[],
  { onProgress, isHalf, ...options }: RoundedOptions,
): Promise<Tensors[]> {
  const patch = roundWeights(model, dtype);
  const { path } = model;
  await using session = await openSession({ path, ...patchedInMemory(model, patch) }, options);
  const results: Tensors[] = [];
  for (const run of runs) {
    onProgress?.(run);
    results.push(await session.run(roundedInputs(run.inputs, dtype, isHalf)));
  }
  return results;
}

/**
 * The values that decide an output, in the original, each with what its budget lets it move. Throws InputError
 * `cannot-run` where the runtime does not hand them out.
 */
export async function decidingOperands(
  model: OpenModel,
  { operands }: Decided,
  { inputs }: Pick<Run, "inputs">,
  { budget, isHalf, ...options }: RoundedOptions & { readonly budget: Extract<Budget, { kind: "half" }> },
): Promise<Operand[]> {
  const { path } = model;
  const names = operands.map(({ name }) => name);
  const run = async (segments: () => ReturnType<typeof exposeValues>, given: Tensors) => {
    await using session = await openSession({ path, ...modelInMemory(path, segments) }, options);
    return await session.run(given);
  };
  const own = await run(() => exposeValues(model, model.source, names), inputs);
  const patch = roundWeights(model, budget.dtype);
  const moved = await run(
    () => exposeComputed(model, patch, names),
    roundedInputs(inputs, budget.dtype, isHalf),
  );
  return names.flatMap((name) => {
    const [tensor, other] = [own.get(name), moved.get(name)];
    if (tensor === undefined || other?.dims.join() !== tensor.dims.join()) return [];
    const itself = compareTensors(tensor, tensor);
    const { maximumError } = halfAllowance(budget, itself, compareTensors(tensor, other));
    return [{ tensor, largest: itself.largest, budget: maximumError }];
  });
}

/** Floats rounded to half, in the type they have. */
export function roundedInputs(
  inputs: Tensors,
  dtype: HalfType,
  isHalf: (input: string) => boolean = () => true,
): Tensors {
  return new Map(
    [...inputs].map(([name, tensor]) => {
      if (!isFloatTensor(tensor)) return [name, tensor];
      const numbers = numbersOf(tensor);
      const rounded = numbersOf(tensorOf(dtype, tensor.dims, numbers));
      const { largest } = halfRange[dtype];
      const kept = Array.from(rounded, (value, at) => {
        const exact = numbers[at] ?? value;
        return isHalf(name) || Math.abs(exact) <= largest ? value : exact;
      });
      return [name, convert(tensorOf("float32", tensor.dims, kept), tensor.dtype, name)];
    }),
  );
}
