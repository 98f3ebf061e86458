/** @file What a step is and does, without its time. */

import { movedBytes, predictedMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import type { Action, PlanTarget, Step } from "../../cuda-runtime/ir/step.ts";
import { bytesOfType, isCodeStorage } from "../../cuda-runtime/ir/storage.ts";
import { describeView, type View } from "../../cuda-runtime/ir/view.ts";
import { multipliesOnTensorCores } from "../../cuda-runtime/kernels/tensor-cores.ts";
import type { HostPart } from "../../cuda-runtime/plan/foresee.ts";
import type { KernelManifest } from "../../cuda-runtime/session/store.ts";
import type { ComputeType } from "../hardware/target.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import type { StepFacts } from "./protocol.ts";

export function describedStep(
  { action, label, operator, beside = [], chosenBy, lane = 0, waits = [] }: Step,
  manifest: KernelManifest,
  target: PlanTarget,
): StepFacts {
  const common = {
    operator,
    label,
    beside,
    chosenBy: chosenBy ?? null,
    bytes: movedBytes(action),
    predictedMicroseconds: predictedMicroseconds(action, target),
    lane: action.runShare === undefined ? null : lane,
    waits,
    runShare: action.runShare ?? null,
  };
  if (action.kind === "clear") {
    const shapes = describeView(action.view);
    return { ...common, shapes, kernel: "clear", detail: "", flops: 0, tensor: null, compute: "fp32" };
  }
  const { kernel, flops = 0, detail = "", reads, writes } = action.launch;
  const name = kernel.kind === "built" ? `${kernel.family}/${kernel.entry}` : shortEntry(kernel.entry);
  const tensor = manifest.facts(kernel)?.tensor ?? null;
  const shapes = `${reads.map(describeView).join(" ")} -> ${writes.map(describeView).join(" ")}`;
  const compute = computeOf(reads, isOnTensorCores(action));
  return { ...common, shapes, kernel: name, detail, flops, tensor, compute };
}

/** Whether a launch multiplies on Tensor Cores, built or not. */
export function isOnTensorCores(action: Action): boolean {
  return action.kind === "launch" && multipliesOnTensorCores(action.launch.kernel);
}

/** What the host does between graphs, as a step. */
export function describedHost({
  node,
  detail,
  bytes,
  predictedMicroseconds: predicted,
}: HostPart): StepFacts {
  return {
    operator: operatorOf(node),
    label: labelOf(node),
    beside: [],
    kernel: "host",
    chosenBy: null,
    detail,
    shapes: "",
    flops: 0,
    bytes,
    tensor: null,
    compute: "fp32",
    predictedMicroseconds: predicted,
    lane: null,
    waits: [],
    runShare: null,
  };
}

/** Entries of compiled text are named by its hash: a few digits tell them apart. */
function shortEntry(entry: string): string {
  return entry.replace(/([0-9a-f]{8})[0-9a-f]{8,}$/, "$1");
}

/** In what the operands are multiplied. */
function computeOf(reads: readonly View[], isTensor: boolean): ComputeType {
  const type = reads[0]?.type;
  if (type === "float16") return "fp16";
  if (type === "bfloat16") return "bf16";
  if (isTensor && type !== undefined && isCodeStorage(type)) return "fp8";
  if (isTensor && type !== undefined && bytesOfType(type) === 1) return "int8";
  return isTensor ? "tf32" : "fp32";
}
