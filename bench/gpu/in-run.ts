/**
 * @file What each launch takes within a run, beside what it takes by itself: whole runs from a cold L2, cut off behind every launch.
 *
 *     node dist/gpu/in-run.js [--precision fp16|model|…] [--dim NAME=SIZE] [--last] [--in-place] MODEL.onnx …
 *
 * Prints, launch by launch, the microseconds that the run is longer by, from a cold L2 and from a warm one, and what the launch takes again and again;
 * writes $OUT/in-run.jsonl; branches come one behind another then. --last: whole runs alone, as they run, and a row a model with what is predicted of each launch. --in-place: a decoder's present is its
 * past's memory, where both are as long.
 */
import { appendFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import {
  aloneMicroseconds,
  bytesMoved,
  movedBytes,
  predictedMicroseconds,
} from "../../cuda-runtime/cost/predict.ts";
import { Owned } from "../../cuda-runtime/driver/owned.ts";
import { type Graph, TimingEvent } from "../../cuda-runtime/driver/stream.ts";
import { type Step, touched } from "../../cuda-runtime/ir/step.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { openDevice } from "../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { inOrder } from "../../cuda-runtime/session/steps.ts";
import { KernelManifest, KernelStore } from "../../cuda-runtime/session/store.ts";
import { timeSteps, timesOf } from "../../cuda-runtime/session/timing.ts";
import { describedStep } from "../../src/gpu/describe.ts";
import { drawPlanned, planSizes } from "../../src/gpu/plan.ts";
import { bytesOf } from "../../src/gpu/run.ts";
import { machineOfDevice } from "../../src/hardware/machine.ts";
import { openModel } from "../../src/onnx/open.ts";

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    precision: { type: "string", default: "fp16" },
    dim: { type: "string", multiple: true, default: [] },
    last: { type: "boolean", default: false },
    "in-place": { type: "boolean", default: false },
    rounds: { type: "string", default: "24" },
  },
});
/** "model": its own types, codes among them. */
const precisions: readonly Precision[] = ["fp16", "bf16", "tf32", "fp32", "model"];
const precision = precisions.find((each) => each === options.precision);
if (precision === undefined) throw new Error(`--precision is one of ${precisions.join(", ")}`);
const sizes = Object.fromEntries(
  options.dim.map((each) => each.split("=")).map(([name = "", size]) => [name, [Number(size)]]),
);
const rounds = Number(options.rounds);

const kernels = new URL("../cuda/", import.meta.url);
using context = await openDevice(undefined);
using store = new KernelStore(context, { kernels });
const manifest = new KernelManifest(kernels, context.device.computeCapability);
const target = machineOfDevice(context.device);

/** Median microseconds of each graph, whole rounds one after another so that the clock is the same for all. */
function mediansOf(session: DeviceSession, graphs: readonly Graph[], isCold: boolean): number[] {
  using owned = new Owned();
  const flush = owned.use(context.allocate(2 * context.device.l2Bytes));
  const start = owned.use(new TimingEvent(context.driver));
  const end = owned.use(new TimingEvent(context.driver));
  const samples = graphs.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, graph] of graphs.entries()) {
      if (isCold) session.stream.fill(flush.address, 0, flush.bytes);
      else graph.launch(session.stream);
      session.stream.record(start);
      graph.launch(session.stream);
      session.stream.record(end);
      end.synchronize();
      if (round >= 0) samples[index]?.push(end.microsecondsSince(start));
    }
  }
  return samples.map((own) => timesOf(own).median);
}

function note(row: object): void {
  const { OUT } = process.env;
  if (OUT !== undefined) appendFileSync(path.join(OUT, "in-run.jsonl"), `${JSON.stringify(row)}\n`);
}

/** What a launch takes by itself again and again, and what is predicted: by itself, and as part of the run. Bytes: all, read from constants, written. */
function expectationOf(step: Step, own: number | undefined): object {
  const { action } = step;
  const [reads, writes] = touched(action);
  const constants = reads.filter(({ buffer }) => buffer.kind === "constant");
  const { kernel, detail } = describedStep(step, manifest, target);
  const rounded = (microseconds: number) => Number(microseconds.toFixed(3));
  return {
    kind: action.kind === "launch" ? action.launch.kernel.kind : action.kind,
    ...{ kernel, detail, own: rounded(own ?? Number.NaN) },
    alone: rounded(aloneMicroseconds(action, target)),
    inRun: rounded(predictedMicroseconds(action, target)),
    bytes: movedBytes(action),
    constantBytes: bytesMoved(constants),
    writtenBytes: bytesMoved(writes),
  };
}

for (const file of files) {
  using model = openModel(file);
  const request = { precision, target, shareCaches: options["in-place"] };
  const planned = planSizes(model, sizes, request, { memoryBytes: context.memory().freeBytes });
  const { plan } = planned;
  using session = DeviceSession.load(context, store, plan);
  session.run(bytesOf(plan, drawPlanned(model, planned)));
  using owned = new Owned();
  const lasts = options.last ? [session.ready.length - 1] : session.ready.map((_, index) => index);
  // What a launch adds is told of a run in which branches come one behind another: beside each other all but the last add nothing.
  const launched = options.last ? session.ready : session.ready.map(inOrder);
  const graphs = lasts.map((last) => owned.use(session.capture(launched.slice(0, last + 1))));
  const cold = mediansOf(session, graphs, true);
  const warm = mediansOf(session, graphs, false);
  const own = timeSteps(session).map(({ median }) => median);
  const total = own.reduce((sum, each) => sum + each, 0);
  console.log(
    `${path.basename(file)} ${precision}: cold ${cold.at(-1)?.toFixed(1)}, warm ${warm.at(-1)?.toFixed(1)}, by themselves ${total.toFixed(1)} us, ${plan.steps.length} launches`,
  );
  if (options.last) {
    const whole = { file: path.basename(file), precision, cold: cold.at(-1), warm: warm.at(-1), own: total };
    note({ ...whole, steps: plan.steps.map((step, index) => expectationOf(step, own[index])) });
    continue;
  }
  for (const [index, step] of plan.steps.entries()) {
    const { kernel, detail } = describedStep(step, manifest, target);
    const grown = (all: readonly number[]) => (all[index] ?? 0) - (index === 0 ? 0 : (all[index - 1] ?? 0));
    const row = {
      file: path.basename(file),
      index,
      kernel,
      detail,
      cold: grown(cold),
      warm: grown(warm),
      own: own[index] ?? 0,
    };
    console.log(
      [row.cold, row.warm, row.own].map((each) => each.toFixed(1).padStart(7)).join(" "),
      kernel,
      detail.slice(0, 60),
    );
    note(row);
  }
}
