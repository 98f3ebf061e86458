/** @file One node test: planned, run where there is a GPU, compared. */
import { CudaError, PtxError } from "../../cuda-runtime/driver/errors.ts";
import { type Plan, PlanError } from "../../cuda-runtime/ir/step.ts";
import { isStorageType } from "../../cuda-runtime/ir/storage.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { type OutputBytes, ProgramSession } from "../../cuda-runtime/session/program-device.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { InputError } from "../../src/ir/errors.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import type { HalfType } from "../../src/verify/budget.ts";
import { arrays, convert, isFloatTensor, type Tensor, type Tensors } from "../../src/verify/tensor.ts";
import { type Comparison, compareExact, compareHalf } from "./node-tests-compare.ts";
import { openTest, readSets, reasonToSkip, type TestSet, UnreadableError } from "./node-tests-data.ts";
import { type PlannedTest, planTest } from "./node-tests-plan.ts";

export type Status =
  | "passed"
  | "wrong"
  /** The runtime says that it cannot do it. */
  | "unsupported"
  /** Outside the contract: strings, sequences, training … */
  | "skipped"
  /** The driver reports an error, or the process ended. */
  | "fault"
  /** Any other exception: a bug. */
  | "bug"
  /** Plan only: a plan was made. */
  | "planned";

export interface TestResult {
  readonly status: Status;
  /** What was wrong, missing or out of scope. */
  readonly reason: string;
  /** Of an unsupported test. */
  readonly operator: string;
  /** Inputs whose elements the plan holds for. */
  readonly known: readonly string[];
  readonly maximumError: number;
  readonly largest: number;
  /** Steps of a run by kernel family; empty where the result is known without one. */
  readonly steps: Readonly<Record<string, number>>;
  readonly milliseconds: number;
}

export interface RunOptions {
  readonly folder: string;
  readonly precision: Precision;
  /** Undefined: plans only. */
  readonly host: HarnessHost | undefined;
  /** Runs again over memory full of NaN bytes and asks for identical results. */
  readonly twice: boolean;
  /** Waits after each step, so that a fault has a name. */
  readonly stepwise: boolean;
  /** In stages, whether or not one graph would do: what data decides is left to the run. */
  readonly staged: boolean;
}

const nothing = {
  reason: "",
  operator: "",
  known: [],
  maximumError: 0,
  largest: 0,
  steps: {},
  milliseconds: 0,
};

export function runTest(name: string, options: RunOptions): TestResult {
  const start = performance.now();
  const result = attempt(name, options);
  return { ...result, milliseconds: Math.round(performance.now() - start) };
}

function attempt(name: string, options: RunOptions): TestResult {
  try {
    using model = openTest(options.folder, name);
    const skip = reasonToSkip(model);
    if (skip !== undefined) return { ...nothing, status: "skipped", reason: skip };
    const sets = readSets(options.folder, name, model);
    const results = sets.map((set) => runSet(model, set, options));
    const worst = results.find(({ status }) => status !== "passed" && status !== "planned") ?? results[0];
    return worst ?? { ...nothing, status: "skipped", reason: "no data" };
  } catch (error) {
    return failure(error);
  }
}

function failure(error: unknown): TestResult {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof PlanError)
    return { ...nothing, status: "unsupported", operator: error.operator, reason };
  if (error instanceof UnreadableError)
    return { ...nothing, status: "unsupported", operator: "tensor", reason };
  if (error instanceof CudaError || error instanceof PtxError) return { ...nothing, status: "fault", reason };
  if (error instanceof InputError) return { ...nothing, status: "bug", reason: `${error.code}: ${reason}` };
  return { ...nothing, status: "bug", reason: error instanceof Error ? (error.stack ?? reason) : reason };
}

function runSet(model: OpenModel, set: TestSet, options: RunOptions): TestResult {
  const { host, precision } = options;
  const planned = planTest(model, set, { precision, target: host?.target, staged: options.staged });
  const { plan, known } = planned;
  const about = { ...nothing, known, steps: plan === undefined ? { staged: 1 } : familiesOf(plan) };
  if (host === undefined) return { ...about, status: "planned" };
  const outputs = execute(planned, set.inputs, host, options);
  if (typeof outputs === "string") return { ...about, status: "wrong", reason: outputs };
  const half = halfOf(precision);
  const rounded = half === undefined ? undefined : lazily(() => roundedRun(model, set, half, host, options));
  const comparisons = [...set.outputs].map(([name, expected]): readonly [string, Comparison] => {
    const actual = outputs.get(name);
    if (actual === undefined)
      return [name, { same: false, maximumError: 0, largest: 0, problem: "is missing" }];
    const exact = compareExact(expected, actual);
    if (exact.same || half === undefined) return [name, exact];
    const plain = compareHalf(expected, actual, half, undefined);
    return [name, plain.same ? plain : compareHalf(expected, actual, half, rounded?.().get(name))];
  });
  const bad = comparisons.filter(([, { same }]) => !same);
  const worst = Math.max(0, ...comparisons.map(([, { maximumError }]) => maximumError));
  return {
    ...about,
    status: bad.length === 0 ? "passed" : "wrong",
    reason: bad.map(([name, { problem }]) => `${name}: ${problem}`).join("; "),
    maximumError: worst,
    largest: Math.max(0, ...comparisons.map(([, { largest }]) => largest)),
  };
}

function halfOf(precision: Precision): HalfType | undefined {
  if (precision === "fp16") return "float16";
  return precision === "bf16" ? "bfloat16" : undefined;
}

/** What FP32 gives for inputs that were rounded to half: no half precision result can be asked to be nearer. */
function roundedRun(
  model: OpenModel,
  set: TestSet,
  half: HalfType,
  host: HarnessHost,
  options: RunOptions,
): Tensors {
  const inputs = new Map(
    [...set.inputs].map(([name, tensor]) => [
      name,
      isFloatTensor(tensor) && tensor.dtype !== "float64"
        ? convert(convert(tensor, half, name), tensor.dtype, name)
        : tensor,
    ]),
  );
  const planned = planTest(model, { ...set, inputs }, { precision: "fp32", target: host.target });
  const outputs = execute(planned, inputs, host, { ...options, twice: false });
  return typeof outputs === "string" ? new Map() : outputs;
}

/** Outputs by name, or what is wrong with them already. */
function execute(
  { plan, program }: PlannedTest,
  inputs: Tensors,
  { context, store }: HarnessHost,
  { twice, stepwise }: Pick<RunOptions, "twice" | "stepwise">,
): Map<string, Tensor> | string {
  const options = { poison: true, stepwise };
  const bytes = new Map([...inputs].map(([name, tensor]) => [name, bytesOfTensor(tensor)]));
  if (program !== undefined) {
    using session = new ProgramSession(context, store, program, options);
    return twoRuns(() => session.run(bytes), twice);
  }
  if (plan === undefined) throw new Error("a test is planned one way or the other");
  using session = DeviceSession.load(context, store, plan, options);
  const once = () => {
    const outputs = session.run(bytes);
    const named = plan.outputs.map(({ name, view: { type, shape } }): [string, OutputBytes] => [
      name,
      { type, shape, bytes: outputs.get(name) ?? new Uint8Array() },
    ]);
    return new Map(named);
  };
  return twoRuns(once, twice);
}

function twoRuns(run: () => Map<string, OutputBytes>, twice: boolean): Map<string, Tensor> | string {
  const first = run();
  if (twice) {
    const second = run();
    for (const [name, { bytes }] of first) {
      if (!Buffer.from(bytes).equals(second.get(name)?.bytes ?? new Uint8Array()))
        return `${name}: a second run gives other bytes`;
    }
  }
  return new Map(
    [...first].map(([name, { type, shape, bytes }]) => {
      const data = new Uint8Array(bytes);
      return [name, { dtype: type, dims: shape, data: new arrays[type](data.buffer) }];
    }),
  );
}

function bytesOfTensor(tensor: Tensor): Uint8Array {
  if (tensor.dtype === "string" || !isStorageType(tensor.dtype)) return new Uint8Array();
  const { buffer, byteOffset, byteLength } = tensor.data;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export function familiesOf({ steps }: Plan): Record<string, number> {
  const families: Record<string, number> = {};
  for (const { action } of steps) {
    const kernel = action.kind === "clear" ? undefined : action.launch.kernel;
    const family = kernel === undefined ? "clear" : kernel.kind === "ptx" ? "ptx" : kernel.family;
    families[family] = (families[family] ?? 0) + 1;
  }
  return families;
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
