/**
 * @file Products with weights stored in few bits: A [..., K] by a blob that holds [N, K], in A's own type.
 *
 * Attributes (or the blob's shape) tell K and N; the weights are expanded on their way to the multiplier.
 */

import { type Dim, mulDims, product, type Shape } from "../../ir/dim.ts";
import { dtypes } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { dimAt, multiplyType, sharedOr } from "../product/operands.ts";
import { elementsAt, tensor, tensorAt } from "../shape.ts";
import { computed, computes, half, type Traits } from "../traits.ts";
import type { GemmWork } from "../work.ts";
import { microsoft } from "./domain.ts";
import { blockedAxes, blockedLane } from "./weight-blocks.ts";

interface Sizes {
  /** What A's last axis must be. */
  readonly k: Dim;
  /** Columns of every output in turn. */
  readonly columns: readonly Dim[];
  /** Whether the weights are stored [N, K] against A's K. */
  readonly transB: boolean;
}

interface Form extends Pick<OpDefinition, "axes" | "lanes"> {
  readonly type: string;
  readonly traits: Traits;
  readonly sizesOf: (context: OpContext) => Sizes;
  /** Of a weight as it is stored, with its share of scales and zero points. */
  readonly bitsOf: (context: OpContext) => number;
  /** Outputs, each with the product that gives its columns; default one each. */
  readonly outputs?: (context: OpContext, columns: readonly Dim[]) => readonly Dim[];
}

function weightOnly({ type, traits, sizesOf, bitsOf, outputs, ...padded }: Form): OpDefinition {
  return defineOp({
    domain: microsoft,
    type,
    traits,
    product: true,
    ...padded,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      const { k, columns } = sizesOf(context);
      sharedOr("last axis of A and K", dimAt(shape, -1), k);
      const widths = outputs?.(context, columns) ?? columns;
      return widths.map((width) => tensor(dtype, withColumns(shape, width)));
    },
    work(context) {
      const { dtype, shape } = tensorAt(context, 0);
      const computeType = multiplyType(dtype);
      if (computeType === undefined || shape === undefined) return undefined;
      const { k, columns, transB } = sizesOf(context);
      const m = product(shape.slice(0, -1));
      const stored = { sharedB: true, weightBits: bitsOf(context) } as const;
      const common = { kind: "gemm", batch: 1, m, k, transA: false, transB, ...stored } as const;
      return columns.map((n): GemmWork => ({ ...common, n, dtype: computeType }));
    },
  });
}

function withColumns(shape: Shape | undefined, columns: Dim): Shape | undefined {
  return shape === undefined ? undefined : [...shape.slice(0, -1), columns];
}

function required(context: OpContext, name: string): number {
  const value = context.int(name);
  if (value === undefined || value < 1)
    throw new ShapeError(textOf`the attribute ${name} is ${value ?? "missing"}`);
  return value;
}

/** ONNX Runtime takes 2 to 8; a file may say anything. */
function statedBits(context: OpContext): number {
  return Math.min(8, Math.max(1, context.int("bits") ?? 4));
}

/** Codes, and of each block a scale and perhaps a zero point of as many bits as a code. */
function blockBits(context: OpContext): number {
  const bits = statedBits(context);
  const scale = dtypes[tensorAt(context, 2).dtype ?? "float16"].bits;
  const zero = context.inputs[3] === undefined ? 0 : bits;
  return bits + (scale + zero) / Math.max(1, context.int("block_size") ?? 32);
}

/** Codes alone: scales of large blocks are next to nothing. */
const codeBits = (bits: number) => () => bits;

function stated(context: OpContext): Sizes {
  return { k: required(context, "K"), columns: [required(context, "N")], transB: true };
}

/** The backward form multiplies by [N, K] as it lies. */
function bnb4Sizes(context: OpContext): Sizes {
  const { k, columns } = stated(context);
  if ((context.int("transB") ?? 1) !== 0) return { k, columns, transB: true };
  return { k: required(context, "N"), columns: [k], transB: false };
}

/** Weights [N, K · `codesPerByte`⁻¹] of their own. */
function blobSizes(codesPerByte: number): (context: OpContext) => Sizes {
  return (context) => {
    const blob = tensorAt(context, 1).shape;
    const stored = dimAt(blob, 1);
    const k = sharedOr("K", stored === undefined ? undefined : mulDims(stored, codesPerByte));
    return { k, columns: [sharedOr("N", dimAt(blob, 0))], transB: true };
  };
}

/** The blob's shape [K, N] comes as a third input. */
function fpQ4Sizes(context: OpContext): Sizes {
  const [k, n] = elementsAt(context, 2) ?? [];
  return { k: sharedOr("K", k), columns: [sharedOr("N", n)], transB: false };
}

export const weightOnlyOps: readonly OpDefinition[] = [
  weightOnly({
    type: "MatMulNBits",
    traits: computes(half(1, 1)),
    sizesOf: stated,
    bitsOf: blockBits,
    axes: blockedAxes,
    lanes: blockedLane,
  }),
  weightOnly({ type: "MatMulBnb4", traits: computed, sizesOf: bnb4Sizes, bitsOf: codeBits(4) }),
  weightOnly({ type: "MatMulFpQ4", traits: computed, sizesOf: fpQ4Sizes, bitsOf: codeBits(4) }),
  weightOnly({
    type: "MatMulBlockQuantizedFp4Weight",
    traits: computed,
    sizesOf: blobSizes(2),
    bitsOf: codeBits(4),
  }),
  weightOnly({
    type: "MatMulBlockQuantizedFp8Weight",
    traits: computed,
    sizesOf: blobSizes(1),
    bitsOf: codeBits(8),
  }),
  // Gate and up projection become one output; behind it the residual sum, as wide as A.
  weightOnly({
    type: "MatMulNBitsMlp",
    traits: computed,
    bitsOf: statedBits,
    sizesOf: (context) => ({ ...stated(context), columns: [required(context, "N"), required(context, "N")] }),
    outputs: (context, columns) => [...columns.slice(0, 1), required(context, "K")],
  }),
  weightOnly({
    type: "MatMulNBitsQkv",
    traits: computed,
    bitsOf: statedBits,
    sizesOf: (context) => {
      const [q, kv] = [required(context, "Nq"), required(context, "Nkv")];
      return { k: required(context, "K"), columns: [q, kv, kv], transB: true };
    },
    outputs: (context, columns) => [...columns, required(context, "K")],
  }),
];
