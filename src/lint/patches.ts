/** @file Convolutions over patches that do not overlap: each is one product over reordered elements. */
import { intsAttributeIn } from "../facts/attributes.ts";
import { bytesOf } from "../ir/dtype.ts";
import type { Value } from "../ir/model.ts";
import { isReshaping, permutationOf } from "../ops/ask.ts";
import { movesToLast } from "../ops/permutations.ts";
import { type ConvWork, type GemmWork, type TrafficWork, volume } from "../ops/work.ts";
import { ConstantValues } from "../workload/constants.ts";
import type { CostedProduct, LintContext, Step } from "./context.ts";
import { isQuantized } from "./formats.ts";

export interface PatchProduct {
  readonly gemm: GemmWork<number>;
  /** The pass that lays each patch out as a row. */
  readonly gather: TrafficWork<number>;
}

/**
 * Undefined where the patches overlap or leave something out, and where a position's channels fill a load of `multiple` elements:
 * there convolution kernels read the patches as they lie, at full rate, and the pass that gathers them is a loss.
 */
export function patchesAsProduct(work: ConvWork<number>, multiple: number): PatchProduct | undefined {
  const { kernel, strides, input, output, dilations, groups, channels, filters, batch, dtype } = work;
  if (work.transposed || groups !== 1 || isQuantized(dtype) || volume(kernel) === 1) return undefined;
  const tiles = kernel.every(
    (size, axis) => size === strides[axis] && input[axis] === size * (output[axis] ?? 0),
  );
  if (!tiles || dilations.some((each) => each !== 1) || channels >= multiple) return undefined;
  const [m, k] = [batch * volume(output), channels * volume(kernel)];
  const bytes = bytesOf(dtype, m * k);
  return {
    gemm: {
      kind: "gemm",
      batch: 1,
      m,
      n: filters,
      k,
      transA: false,
      transB: true,
      sharedB: true,
      dtype,
    },
    gather: {
      kind: "traffic",
      pattern: "copy",
      rows: m,
      columns: k,
      bytesRead: bytes,
      bytesWritten: bytes,
      dtype,
    },
  };
}

/** Whether a convolution has no padding that its sizes do not show. */
export function isUnpadded({ node, scope }: CostedProduct): boolean {
  return (intsAttributeIn(node, "pads", scope) ?? []).every((pad) => pad === 0);
}

/**
 * Kernels of the Transposes that bring a convolution's channels to the last axis, where all its readers are such; undefined where
 * some reader wants the layout that the convolution writes.
 */
export function transposesToLast({ node, scope }: CostedProduct, context: LintContext): Step[] | undefined {
  const constants = ConstantValues.of(scope);
  const steps: Step[] = [];
  const pending: (Value | undefined)[] = [node.outputs[0]];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value.isOutput) return undefined;
    for (const reader of value.consumers) {
      // Shape arithmetic reads sizes, not elements.
      if (constants.has(reader)) continue;
      if (isReshaping(reader)) pending.push(reader.outputs[0]);
      else if (movesToLast(permutationOf(reader) ?? [])) {
        const step = context.timeline.stepOf(reader, scope);
        if (step !== undefined) steps.push(step);
      } else return undefined;
    }
  }
  return steps;
}
