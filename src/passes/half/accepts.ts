/** @file Whether an operator takes half at all, and from which version of its domain on. */
import { findOp } from "../../ops/registry.ts";
import type { HalfTraits, HalfType } from "../../ops/traits.ts";

export type { HalfType, Slot } from "../../ops/traits.ts";

/** Undefined for an operator that keeps FP32. `domain` "" is ai.onnx. */
export function typesOf(domain: string, opType: string): HalfTraits | undefined {
  const half = findOp(domain, opType)?.traits.half;
  return half?.since.float16 === undefined && half?.since.bfloat16 === undefined ? undefined : half;
}

/** Whether an operator takes the type at a version of its domain. */
export function accepts(types: HalfTraits, type: HalfType, opset: number): boolean {
  const since = types.since[type];
  return since !== undefined && opset >= since;
}
