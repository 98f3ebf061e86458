/** @file In the GPU's process: the sweep of a calibration, each item a model of one node. */
import type { onnx as types } from "onnx-proto";
import type { DeviceContext } from "../../cuda-runtime/driver/context.ts";
import type { Plan, PlanTarget, Step } from "../../cuda-runtime/ir/step.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import { bytesOfPort } from "../../cuda-runtime/session/memory.ts";
import { openDevice } from "../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../cuda-runtime/session/store.ts";
import { timeSteps } from "../../cuda-runtime/session/timing.ts";
import { machineOfDevice } from "../hardware/machine.ts";
import { modelFromBytes } from "../onnx/open.ts";
import type { GpuTask, SweepReport } from "./protocol.ts";
import type { SweepItem, SweepModel } from "./sweep.ts";

type Proto = typeof types;

/** ONNX's code of float16. */
const float16 = 10;
/** The first with Gelu; LayerNormalization is older. */
const opset = 20;

export async function runSweep(
  { device, kernels, items }: Extract<GpuTask, { kind: "sweep" }>,
  onProgress: (what: string) => void,
): Promise<SweepReport> {
  onProgress("opening the GPU");
  const { default: proto } = await import("onnx-proto");
  using context = await openDevice(device);
  using store = new KernelStore(context, { kernels: new URL(kernels) });
  const microseconds = items.map((item, index) => {
    onProgress(`${item.model.opType}, ${index + 1} of ${items.length}`);
    return timeItem(item, context, store, proto.onnx);
  });
  const { device: measured, driver } = context;
  const { cacheProblem } = store;
  return { kind: "sweep", device: measured, driverVersion: driver.version, microseconds, cacheProblem };
}

function timeItem(item: SweepItem, context: DeviceContext, store: KernelStore, proto: Proto): number {
  const plan = sweepPlan(item, machineOfDevice(context.device), proto);
  using session = DeviceSession.load(context, store, plan);
  session.writeInputs(randomInputs(plan));
  const times = timeSteps(session);
  return plan.steps.reduce((sum, step, at) => sum + (counts(step, item) ? (times[at]?.median ?? 0) : 0), 0);
}

/** Weights are random, and made when the plan is loaded. */
export function sweepPlan({ model: node }: SweepItem, target: PlanTarget, proto: Proto): Plan {
  using model = modelFromBytes(modelBytes(node, proto), `${node.opType}.onnx`);
  return planModel({
    model,
    precision: "model",
    target,
    weights: ({ dims }) => ({ size: 2 * countOf(dims), readInto: (_, bytes) => fillHalves(bytes) }),
  });
}

/** Of products, the kernels that multiply: what changes layouts around them is other layers' in a model. */
export function counts({ action }: Step, { family }: SweepItem): boolean {
  if (family === "traffic" || action.kind === "clear") return true;
  const { kernel } = action.launch;
  return kernel.kind === "built" && kernel.family !== "transpose";
}

function modelBytes({ opType, domain, inputs, output, attributes }: SweepModel, proto: Proto): Uint8Array {
  const typeOf = (dims: readonly number[]) => ({
    tensorType: { elemType: float16, shape: { dim: dims.map((dimValue) => ({ dimValue })) } },
  });
  const named = inputs.map((input, index) => ({ ...input, name: `x${index}` }));
  return proto.ModelProto.encode({
    irVersion: 9,
    opsetImport: [
      { domain: "", version: opset },
      { domain: "com.microsoft", version: 1 },
    ],
    graph: {
      name: "sweep",
      node: [
        {
          name: opType,
          opType,
          domain,
          input: named.map(({ name }) => name),
          output: ["y"],
          attribute: Object.entries(attributes).map(([name, value]) => attributeOf(name, value, proto)),
        },
      ],
      input: named
        .filter(({ isWeight }) => !isWeight)
        .map(({ name, dims }) => ({ name, type: typeOf(dims) })),
      // Random weights are made where they are read; no file holds them.
      initializer: named
        .filter(({ isWeight }) => isWeight)
        .map(({ name, dims }) => ({
          name,
          dims: [...dims],
          dataType: float16,
          dataLocation: proto.TensorProto.DataLocation.EXTERNAL,
          externalData: [{ key: "location", value: "random" }],
        })),
      output: [{ name: "y", type: typeOf(output) }],
    },
  }).finish();
}

function attributeOf(
  name: string,
  value: SweepModel["attributes"][string],
  { AttributeProto: { AttributeType } }: Proto,
): types.IAttributeProto {
  if (typeof value === "number") return { name, type: AttributeType.INT, i: value };
  if ("float" in value) return { name, type: AttributeType.FLOAT, f: value.float };
  return { name, type: AttributeType.INTS, ints: [...value] };
}

function randomInputs(plan: Plan): Map<string, Uint8Array> {
  return new Map(
    plan.inputs.map((port) => {
      const bytes = new Uint8Array(bytesOfPort(port));
      fillHalves(bytes);
      return [port.name, bytes];
    }),
  );
}

/** Halves from 1/16 to 1, of either sign: zeros would let the GPU run faster than it does. */
function fillHalves(bytes: Uint8Array): void {
  let state = 0x9e37_79b9;
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const bits = (0x2c00 + ((state >>> 16) & 0x0fff)) | ((state >>> 8) & 0x8000);
    bytes[at] = bits & 0xff;
    bytes[at + 1] = bits >>> 8;
  }
}

function countOf(dims: readonly number[]): number {
  return dims.reduce((total, size) => total * size, 1);
}
