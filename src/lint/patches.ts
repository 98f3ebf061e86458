/** @file Convolutions over patches that do not overlap: each is one product over reordered elements. */
import { intsAttributeIn } from "../facts/attributes.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { groupBy } from "../ir/group.ts";
import type { Node, Value } from "../ir/model.ts";
import { isReshaping, permutationOf } from "../ops/ask.ts";
import { transposeWork } from "../ops/movement/transpose.ts";
import { movesToLast } from "../ops/permutations.ts";
import { bindWork, type ConvWork, type GemmWork, volume, type Work } from "../ops/work.ts";
import { ConstantValues } from "../workload/constants.ts";
import type { CostedProduct, LintContext } from "./context.ts";
import { isQuantized } from "./formats.ts";
import { type AsRows, noPasses, type PassesAround, passesAround } from "./patch-layouts.ts";
import type { Site } from "./rule.ts";

export interface PatchProduct {
  readonly gemm: GemmWork<number>;
  /** The pass that lays each patch out as a row. */
  readonly gather: readonly Work<number>[];
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
    gather: gatherWork(work),
  };
}

/** The Transpose of [batch, channels, across, patch, …] that brings each patch's elements together. */
function gatherWork({ batch, channels, output, kernel, dtype }: ConvWork<number>): Work<number>[] {
  const shape = [batch, channels, ...output.flatMap((across, axis) => [across, kernel[axis] ?? 1])];
  const positions = output.map((_, axis) => 2 + 2 * axis);
  const inside = kernel.map((_, axis) => 3 + 2 * axis);
  const bound = transposeWork(shape, [0, ...positions, 1, ...inside], dtype);
  return bound.flatMap((each) => bindWork(each, new Map()) ?? []);
}

/** Whether a convolution has no padding that its sizes do not show. */
function isUnpadded({ node, scope }: CostedProduct): boolean {
  return (intsAttributeIn(node, "pads", scope) ?? []).every((pad) => pad === 0);
}

/**
 * Transposes that bring a convolution's channels to the last axis, where all its readers are such; undefined where some reader wants the
 * layout that the convolution writes.
 */
function transposesToLast({ node, scope }: CostedProduct): Node[] | undefined {
  const constants = ConstantValues.of(scope);
  const found: Node[] = [];
  const pending: (Value | undefined)[] = [node.outputs[0]];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value.isOutput) return undefined;
    for (const reader of value.consumers) {
      // Shape arithmetic reads sizes, not elements.
      if (constants.has(reader)) continue;
      if (isReshaping(reader)) pending.push(reader.outputs[0]);
      else if (movesToLast(permutationOf(reader) ?? [])) found.push(reader);
      else return undefined;
    }
  }
  return found;
}

/** A convolution over patches that a product could take the place of. */
export interface PatchConvolution extends PatchProduct {
  readonly product: CostedProduct;
  readonly work: ConvWork<number>;
  /** Transposes behind it that go with it; undefined where something reads its image as the file has it. */
  readonly transposes: readonly Node[] | undefined;
  /** What a stack that turns convolutions to NHWC has around it. */
  readonly passes: PassesAround;
}

/** In the order of products. */
export function patchConvolutions(context: LintContext): PatchConvolution[] {
  const found = context.products.flatMap((product): Omit<PatchConvolution, "passes">[] => {
    const work = product.sizes;
    if (work.kind !== "conv" || product.weight === undefined || !isUnpadded(product)) return [];
    const patches = patchesAsProduct(work, context.alignment(work.dtype));
    return patches === undefined
      ? []
      : [{ ...patches, product, work, transposes: transposesToLast(product) }];
  });
  const byScope = groupBy(found, (each) => siteIn(each).scope);
  const passesIn = new Map(
    [...byScope].map(([scope, all]) => [scope, passesAround(all.map(rowsOf), scope, context)]),
  );
  return found.map((each) => {
    const { node, scope } = siteIn(each);
    return { ...each, passes: passesIn.get(scope)?.(node) ?? noPasses };
  });
}

function rowsOf(patches: Omit<PatchConvolution, "passes">): AsRows {
  return { node: siteIn(patches).node, transposes: patches.transposes };
}

/** What is around it is around its call, where the file spells NHWC. */
function siteIn({ product }: Omit<PatchConvolution, "passes">): Site {
  return siteOf(product.node, product.scope);
}
