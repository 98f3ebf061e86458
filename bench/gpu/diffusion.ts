/**
 * @file Steps of diffusion, what stands beside them in a network, and a sampling loop, each planned as a model and timed beside
 * PyTorch's eager operators, both replayed as CUDA graphs in one run.
 *
 *     node dist/gpu/diffusion.js [--torch bench/gpu/torch_steps.py] [--only NAME,…] [--plan]
 *
 * Writes $OUT/diffusion.json. --plan prints how many launches each takes, without a GPU. GB/s count inputs and outputs once.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { encodeValues } from "../../cuda-runtime/ir/encode.ts";
import type { Plan, PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { bytesOfType } from "../../cuda-runtime/ir/storage.ts";
import { elementCount } from "../../cuda-runtime/ir/view.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { randomValues } from "../../cuda-runtime/session/random.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { model } from "../../fixtures/builder.ts";
import { ddimStep, ddpmStep, flowStep, type StepSizes, temporalBlend } from "../../fixtures/diffusion.ts";
import { type Sampling, samplingModel } from "../../fixtures/sampling.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { weightsOf } from "../../test/gpu/node-tests-data.ts";
import { convNormSilu, groupNormSilu, queriesKeysValues } from "./layer-models.ts";
import { timesBeside } from "./torch-steps.ts";

const { values: options } = parseArgs({
  options: {
    torch: { type: "string" },
    only: { type: "string" },
    plan: { type: "boolean", default: false },
    device: { type: "string", default: "0" },
  },
});

interface Work {
  readonly name: string;
  readonly bytes: () => Uint8Array;
  /** What torch_steps.py reads. */
  readonly op: Readonly<Record<string, unknown>>;
  /** Of a sum of the same elements: its GB/s are what the others are compared with. */
  readonly isAdd?: boolean;
}

const builders = {
  ddim: ddimStep,
  ddpm: ddpmStep,
  flow: flowStep,
  blend: temporalBlend,
  add: sumOf,
} as const;
type Kind = keyof typeof builders;

/** The first is what others are compared with. */
const kinds: readonly Kind[] = ["add", "ddim", "ddpm", "flow", "blend"];

/** Of a million elements, and of sixteen. */
const shapes: readonly (readonly number[])[] = [
  [16, 4, 128, 128],
  [16, 4, 512, 512],
];

const sampling: Sampling = {
  ...{ steps: 20, batch: 1, channels: 4, size: 64, width: 64, depth: 3 },
  dtype: "float16",
};

function sumOf({ shape, dtype = "float32" }: StepSizes): Uint8Array {
  return model({ name: "add" }, (graph) => {
    graph.nodes(
      "Add",
      [graph.input("x", shape, dtype), graph.input("y", shape, dtype)],
      {},
      { outputs: ["z"] },
    );
    graph.output("z", dtype, shape);
  });
}

function stepWork(kind: Kind, shape: readonly number[], dtype: "float16" | "float32"): Work {
  const type = dtype === "float16" ? "fp16" : "fp32";
  return {
    name: `${kind} ${type} ${shape.join("x")}`,
    bytes: () => builders[kind]({ shape, dtype }),
    op: { op: "elementwise", kind, shape, dtype: type },
    isAdd: kind === "add",
  };
}

const works: readonly Work[] = [
  ...shapes.flatMap((shape) =>
    (["float16", "float32"] as const).flatMap((dtype) => kinds.map((kind) => stepWork(kind, shape, dtype))),
  ),
  {
    name: "conv+bn+silu fp16 8x128x64x64->128",
    bytes: () => convNormSilu(8, 128, 64, 128),
    op: { op: "conv_silu", batch: 8, channels: 128, size: 64, filters: 128, dtype: "fp16" },
  },
  {
    name: "qkv fp16 4096x768",
    bytes: () => queriesKeysValues(4096, 768),
    op: { op: "qkv", rows: 4096, width: 768, dtype: "fp16" },
  },
  {
    name: "groupnorm+silu fp16 2x320x64x64",
    bytes: () => groupNormSilu(2, 320, 64),
    op: { op: "group_silu", batch: 2, channels: 320, size: 64, dtype: "fp16" },
  },
  {
    name: `sampling fp16, ${sampling.steps} steps of ${sampling.width} channels at ${sampling.size}x${sampling.size}`,
    bytes: () => samplingModel(sampling),
    op: { op: "sampling", ...sampling, dtype: "fp16" },
  },
];

interface Row {
  readonly name: string;
  readonly launches: number;
  readonly us: number;
  readonly gbPerSecond: number;
  readonly isAdd: boolean;
  /** Of the numbers drawn, none was infinite or NaN. */
  readonly hasOnlyNumbers: boolean;
}

function planOf(work: Work, target: PlanTarget | undefined): Plan {
  using opened = modelFromBytes(work.bytes());
  return planModel({ model: opened, target, weights: weightsOf(opened) });
}

function portBytes(plan: Plan): number {
  const ports = [...plan.inputs, ...plan.outputs];
  return ports.reduce((sum, { view }) => sum + elementCount(view.shape) * bytesOfType(view.type), 0);
}

/** Weights and roots are of numbers between a quarter and three. */
function drawnInputs(plan: Plan): Map<string, Uint8Array> {
  return new Map(
    plan.inputs.map(({ name, view }, seed) => {
      const values = randomValues(view.type, elementCount(view.shape), seed + 1, 0.25);
      const isLarge = view.shape.length === 4 && view.shape.at(-1) !== 1;
      return [name, encodeValues(view.type, isLarge ? values : values.map((value) => value + 0.5))];
    }),
  );
}

function measure(host: HarnessHost, work: Work): Row {
  using opened = modelFromBytes(work.bytes());
  const plan = planModel({ model: opened, target: host.target, weights: weightsOf(opened) });
  const bytes = portBytes(plan);
  const count = plan.steps.length > 4 ? 1 : setCount(bytes, host.context.device.l2Bytes);
  const inputs = drawnInputs(plan);
  const sessions = Array.from({ length: count }, () =>
    DeviceSession.load(host.context, host.store, plan, {}),
  );
  try {
    const [first] = sessions;
    for (const session of sessions) session.writeInputs(inputs);
    const result = first?.run(inputs).values().next().value;
    const us = timeCalls(
      host,
      sessions.map((session) => ({
        launch: () => {
          for (const step of session.ready) session.runner.launch(step, host.stream);
        },
      })),
    );
    const hasOnlyNumbers = result !== undefined && isAllFinite(result, plan);
    const { name, isAdd = false } = work;
    return { name, launches: plan.steps.length, us, gbPerSecond: bytes / us / 1e3, isAdd, hasOnlyNumbers };
  } finally {
    for (const session of sessions) session[Symbol.dispose]();
  }
}

function isAllFinite(bytes: Uint8Array, plan: Plan): boolean {
  const type = plan.outputs[0]?.view.type;
  if (type === "float32") {
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4).every(Number.isFinite);
  }
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  return halves.every((bits) => (bits & 0x7c00) !== 0x7c00);
}

function report(rows: readonly Row[], chosen: readonly Work[]): void {
  const peers = timesBeside(
    chosen.map(({ op }) => op),
    options.torch,
  );
  let add = Number.NaN;
  const whole = rows.map((row, at) => {
    if (row.isAdd) add = row.gbPerSecond;
    return { ...row, ofAdd: row.gbPerSecond / add, torch: peers[at] ?? null };
  });
  for (const { name, launches, us, gbPerSecond, ofAdd, torch, hasOnlyNumbers } of whole) {
    const ratio = torch === null ? "" : `, ${(torch.us / us).toFixed(2)}x of PyTorch's ${torch.us} us`;
    const rate =
      launches > 4 ? "" : `, ${gbPerSecond.toFixed(0)} GB/s (${(100 * ofAdd).toFixed(0)} % of an add)`;
    console.log(
      `${name}: ${launches} launches, ${us.toFixed(2)} us${rate}${ratio}${hasOnlyNumbers ? "" : ", NOT FINITE"}`,
    );
  }
  writeFileSync(
    path.join(process.env["OUT"] ?? ".", "diffusion.json"),
    `${JSON.stringify(whole, null, 1)}\n`,
  );
}

const chosen = works.filter(
  ({ name }) => options.only?.split(",").some((part) => name.includes(part)) ?? true,
);
if (options.plan) {
  for (const work of chosen) {
    const { steps } = planOf(work, undefined);
    const kernels = steps.map(({ action }) =>
      action.kind === "launch" ? action.launch.kernel.entry : action.kind,
    );
    const few = kernels.length > 4 ? "" : `: ${kernels.join(", ")}`;
    console.log(`${work.name}: ${steps.length} launches${few}`);
  }
} else {
  using host = await HarnessHost.open({
    kernels: new URL("../cuda/", import.meta.url),
    device: Number(options.device),
  });
  report(
    chosen.map((work) => measure(host, work)),
    chosen,
  );
}
