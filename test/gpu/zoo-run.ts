/** @file One model in one precision: planned, run, compared, timed. */
import { StreamClock } from "../../cuda-runtime/driver/stream.ts";
import { type Plan, PlanError } from "../../cuda-runtime/ir/step.ts";
import { isStorageType } from "../../cuda-runtime/ir/storage.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { exclusively } from "../../cuda-runtime/session/exclusive.ts";
import type { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import { isWithin } from "../../src/verify/budget.ts";
import { compareTensors } from "../../src/verify/compare.ts";
import { arrays, convert, type Tensor, type Tensors } from "../../src/verify/tensor.ts";
import { weightsOf } from "./node-tests-data.ts";
import { familiesOf } from "./node-tests-run.ts";
import { allowanceFor, type Reference } from "./zoo-reference.ts";

export interface ZooResult {
  readonly model: string;
  readonly precision: Precision;
  readonly status: "inside" | "outside" | "unsupported" | "failed" | "planned";
  readonly reason: string;
  /** Of the worst output: largest error over largest magnitude, and over what it may come to. */
  readonly relativeError: number;
  readonly shareOfBudget: number;
  /** Median of graph replays, and their spread between the 10th and the 90th percentile. */
  readonly microseconds: number;
  readonly spread: number;
  readonly arenaBytes: number;
  readonly constantBytes: number;
  readonly steps: number;
  readonly launches: number;
  readonly families: Readonly<Record<string, number>>;
  readonly planSeconds: number;
  readonly loadSeconds: number;
}

const empty = {
  reason: "",
  relativeError: Number.NaN,
  shareOfBudget: Number.NaN,
  microseconds: Number.NaN,
  spread: Number.NaN,
  arenaBytes: 0,
  constantBytes: 0,
  steps: 0,
  launches: 0,
  families: {},
  planSeconds: 0,
  loadSeconds: 0,
};

export interface ZooTask {
  readonly name: string;
  /** What is run. */
  readonly model: OpenModel;
  readonly sizes: ReadonlyMap<string, number>;
  readonly precision: Precision;
  /** Named by all processes that time on this GPU; undefined where this is the only one. */
  readonly lock?: string | undefined;
}

export function planZooModel(
  { name, model, sizes, precision }: ZooTask,
  host?: HarnessHost,
): [ZooResult, Plan?] {
  const start = performance.now();
  try {
    const plan = planModel({
      model,
      precision,
      dims: sizes,
      weights: weightsOf(model),
      target: host?.target,
    });
    const launches = plan.steps.filter(({ action }) => action.kind === "launch").length;
    const planSeconds = (performance.now() - start) / 1000;
    const about = { steps: plan.steps.length, launches, families: familiesOf(plan), planSeconds };
    return [{ ...empty, model: name, precision, status: "planned", ...about }, plan];
  } catch (error) {
    return [failed(name, precision, error)];
  }
}

export function failed(model: string, precision: Precision, error: unknown): ZooResult {
  const text = error instanceof Error ? error.message : String(error);
  const isUnsupported = error instanceof PlanError;
  const reason = isUnsupported
    ? `${error.operator}: ${text}`
    : error instanceof Error
      ? (error.stack ?? text)
      : text;
  return { ...empty, model, precision, status: isUnsupported ? "unsupported" : "failed", reason };
}

/** Throws what loading, running and the reference throw. */
export async function runZooModel(
  task: ZooTask,
  reference: Reference,
  host: HarnessHost,
): Promise<ZooResult> {
  const [planned, plan] = planZooModel(task, host);
  if (plan === undefined) return planned;
  const start = performance.now();
  using session = DeviceSession.load(host.context, host.store, plan, { poison: true });
  const loadSeconds = (performance.now() - start) / 1000;
  const bytes = session.run(bytesOfInputs(plan, reference.inputs));
  const outputs = tensorsOf(plan, bytes);
  const judged = await judge(outputs, reference, task.precision);
  const { arenaBytes, constantBytes } = session.memory;
  const times = exclusively(task.lock, () => timed(session, host));
  return { ...planned, ...judged, ...times, arenaBytes, constantBytes, loadSeconds };
}

/** As the plan's ports take them: a fixed model's inputs may be of another float type. */
export function bytesOfInputs(plan: Plan, inputs: Tensors): Map<string, Uint8Array> {
  return new Map(
    plan.inputs.map(({ name, view }) => {
      const given = inputs.get(name);
      if (given === undefined) throw new Error(`there is no input "${name}"`);
      const { data, dtype } = convert(given, view.type, name);
      if (dtype === "string" || !isStorageType(dtype)) throw new Error(`input "${name}" is ${dtype}`);
      return [name, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
    }),
  );
}

function tensorsOf(plan: Plan, outputs: ReadonlyMap<string, Uint8Array>): Map<string, Tensor> {
  return new Map(
    plan.outputs.map(({ name, view: { type, shape } }) => {
      const data = new Uint8Array(outputs.get(name) ?? new Uint8Array());
      return [name, { dtype: type, dims: shape, data: new arrays[type](data.buffer) }];
    }),
  );
}

type Judgement = Pick<ZooResult, "status" | "reason" | "relativeError" | "shareOfBudget">;

async function judge(outputs: Tensors, reference: Reference, precision: Precision): Promise<Judgement> {
  const expected = await reference.expected();
  let worst: Judgement = { status: "inside", reason: "", relativeError: 0, shareOfBudget: 0 };
  for (const [name, wanted] of expected) {
    const actual = outputs.get(name);
    if (actual?.dims.join() !== wanted.dims.join()) {
      const shape = actual === undefined ? "is missing" : `has shape [${actual.dims.join(",")}]`;
      return { ...worst, status: "outside", reason: `${name} ${shape}, expected [${wanted.dims.join(",")}]` };
    }
    const difference = compareTensors(wanted, actual);
    const allowance = await allowanceFor(reference, precision, name, difference);
    const share = Math.max(
      ratio(difference.maximumError, allowance.maximumError),
      ratio(difference.rootMeanSquareError, allowance.rootMeanSquareError),
      ratio(difference.mismatches, allowance.mismatches),
    );
    const isInside = isWithin(difference, allowance);
    const relativeError = ratio(difference.maximumError, difference.largest);
    const at = difference.worst;
    const where =
      at === undefined ? "" : ` at [${at.index.join(",")}]: ${at.actual}, expected ${at.expected}`;
    const mismatches = difference.mismatches > 0 ? `${difference.mismatches} mismatches, ` : "";
    const reason = isInside
      ? worst.reason
      : `${name}: ${mismatches}error ${difference.maximumError.toExponential(2)}${where}`;
    const status = isInside ? worst.status : "outside";
    worst = {
      status,
      reason,
      relativeError: Math.max(worst.relativeError, relativeError),
      shareOfBudget: Math.max(worst.shareOfBudget, share),
    };
  }
  return worst;
}

function ratio(value: number, limit: number): number {
  return value === 0 ? 0 : value / limit;
}

const warmUps = 10;
const mostRuns = 200;
const mostMicroseconds = 1e6;

/** Replays of the graph, inputs in place. */
export function timed(
  session: DeviceSession,
  { context }: HarnessHost,
): Pick<ZooResult, "microseconds" | "spread"> {
  using clock = new StreamClock(context.driver, session.stream);
  const once = () => clock.microsecondsOf(() => session.launch());
  for (let i = 0; i < warmUps; i++) once();
  const times: number[] = [];
  for (let total = 0; times.length < mostRuns && total < mostMicroseconds; ) {
    const time = once();
    total += time;
    times.push(time);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
  return { microseconds: at(0.5), spread: (at(0.9) - at(0.1)) / at(0.5) };
}
