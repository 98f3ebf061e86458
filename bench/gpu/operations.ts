/** @file The operations that are measured, as emitters get them: on a GPU to be timed, without one to be predicted. */

import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import { type Epilogue, noActivation, plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import type { Expr } from "../../cuda-runtime/ir/expr.ts";
import { binary, constant, load, unary } from "../../cuda-runtime/ir/expr-build.ts";
import type { FloatStorage, HalfStorage, StorageType } from "../../cuda-runtime/ir/storage.ts";
import { channelsSecond, permuted, sliced, type View } from "../../cuda-runtime/ir/view.ts";
import { emitAttention, unlimited } from "../../cuda-runtime/kernels/attention/attention.ts";
import type { TensorTile } from "../../cuda-runtime/kernels/attention/tiles.ts";
import type { ConvChoice } from "../../cuda-runtime/kernels/conv/choose.ts";
import { emitConv } from "../../cuda-runtime/kernels/conv/conv.ts";
import type { Accepts } from "../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { emitRowNorm } from "../../cuda-runtime/kernels/norm/norm.ts";
import type { RowLaunch } from "../../cuda-runtime/kernels/norm/rows.ts";
import { emitSoftmax } from "../../cuda-runtime/kernels/softmax/softmax.ts";

/** Where an operation's tensors come from, and its launches go to. */
export interface Operands {
  readonly emitter: Emitter;
  /** Packed; a constant's packing is not part of a run. */
  tensor(kind: "constant" | "input", type: StorageType, shape: readonly number[], seed: number): View;
  output(type: StorageType, shape: readonly number[]): View;
}

export interface ProductSize {
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** What a product's results go through: nothing; a bias and GELU; a bias and the sum with a residual. */
export const productEnds = ["plain", "gelu", "residual"] as const;
export type ProductEnd = (typeof productEnds)[number];

/** Elements that rows of x and of W begin at multiples of. */
export interface Pitches {
  readonly x: number;
  readonly w: number;
}

export const noPitches: Pitches = { x: 1, w: 1 };

export function pitchOf(columns: number, multiple: number): number {
  return Math.ceil(columns / multiple) * multiple;
}

/** y = x Wᵀ with constant weights; returns y. */
export function emitProduct(
  set: Operands,
  { M, N, K }: ProductSize,
  storage: FloatStorage,
  accepts?: Accepts,
  end: ProductEnd = "plain",
  pitches: Pitches = noPitches,
): View {
  const x = sliced(set.tensor("input", storage, [M, pitchOf(K, pitches.x)], 1), 1, 0, K);
  const w = sliced(set.tensor("constant", storage, [N, pitchOf(K, pitches.w)], 2), 1, 0, K);
  const epilogue: Epilogue = {
    ...plainEpilogue,
    bias: end === "plain" ? undefined : set.tensor("constant", "float32", [N], 3),
    activation: end === "gelu" ? { kind: "gelu", a: 0, b: 0 } : noActivation,
    residual: end === "residual" ? set.tensor("input", storage, [M, N], 4) : undefined,
  };
  const to = set.output(storage, [M, N]);
  emitGemm(set.emitter, { a: x, b: permuted(w, [1, 0]), to, epilogue, channels: "n" }, accepts);
  return to;
}

/** Input channels, sizes, filters, taps (the same along each axis), stride, padding, groups. */
export interface Layer {
  readonly channels: number;
  /** One to three spatial axes; PyTorch's side knows two. */
  readonly size: readonly number[];
  readonly filters: number;
  readonly taps: number;
  readonly stride: number;
  readonly pad: number;
  readonly groups: number;
}

export function outputSize({ size, taps, stride, pad }: Layer): number[] {
  return size.map((each) => Math.floor((each + 2 * pad - taps) / stride) + 1);
}

/** Channels last, with bias; returns y as it is in memory. */
export function emitLayer(
  set: Operands,
  layer: Layer,
  batch: number,
  storage: FloatStorage,
  accepts?: (choice: ConvChoice) => boolean,
): View {
  const { channels, size, filters, taps, stride, pad, groups } = layer;
  const y = set.output(storage, [batch, ...outputSize(layer), filters]);
  const request = {
    x: channelsSecond(set.tensor("input", storage, [batch, ...size, channels], 1)),
    w: set.tensor("constant", storage, [filters, channels / groups, ...size.map(() => taps)], 2),
    to: channelsSecond(y),
    strides: size.map(() => stride),
    dilations: size.map(() => 1),
    pads: size.map(() => pad),
    groups,
    epilogue: { ...plainEpilogue, bias: set.tensor("constant", "float32", [filters], 3) },
  };
  emitConv(set.emitter, request, accepts);
  return y;
}

/** Batch, heads, queries, keys, head size, causal. */
export type AttentionShape = readonly [number, number, number, number, number, boolean];

/** [batch, heads, length, size] in memory as PyTorch has it there; returns what it writes. */
export function emitHeads(
  set: Operands,
  shape: AttentionShape,
  storage: HalfStorage,
  tile?: TensorTile,
): View {
  const [batch, heads, queries, keys, dim, isCausal] = shape;
  const operand = (length: number, seed: number) =>
    set.tensor("input", storage, [batch, heads, length, dim], seed);
  const o = set.output(storage, [batch, heads, queries, dim]);
  const request = {
    q: operand(queries, 1),
    k: operand(keys, 2),
    v: operand(keys, 3),
    o,
    scale: 1 / Math.sqrt(dim),
    softcap: 0,
    position: 0,
    left: unlimited,
    right: isCausal ? 0 : unlimited,
    emptyRows: "nan",
  } as const;
  emitAttention(set.emitter, request, tile);
  return o;
}

export type RowKind = "layernorm" | "softmax";

/** [rows, columns] to the same. */
export function emitRows(
  emitter: Emitter,
  kind: RowKind,
  x: View,
  y: View,
  accepts?: (launch: RowLaunch) => boolean,
): void {
  if (kind === "softmax") emitSoftmax(emitter, { x, y, axis: 1, mode: "softmax" }, accepts);
  else
    emitRowNorm(emitter, { x, y, scale: undefined, bias: undefined, isRms: false, epsilon: 1e-5 }, accepts);
}

interface Chain {
  readonly inputs: 1 | 2;
  readonly expr: (x: Expr, y: Expr) => Expr;
}

export const chains: Readonly<Record<"add" | "gelu" | "silu", Chain>> = {
  add: { inputs: 2, expr: (x, y) => binary("add", x, y) },
  gelu: {
    inputs: 1,
    expr: (x) => {
      const half = binary("mul", x, constant("f32", 0.5));
      const erf = unary("erf", binary("mul", x, constant("f32", Math.SQRT1_2)));
      return binary("mul", half, binary("add", erf, constant("f32", 1)));
    },
  },
  silu: { inputs: 1, expr: (x) => binary("mul", x, unary("sigmoid", x)) },
};

export type ChainKind = keyof typeof chains;

/** Of halves; returns what it writes. */
export function emitChain(set: Operands, kind: ChainKind, shape: readonly number[]): View {
  const { inputs, expr } = chains[kind];
  const x = set.tensor("input", "float16", shape, 1);
  const y = inputs === 2 ? set.tensor("input", "float16", shape, 2) : x;
  const to = set.output("float16", shape);
  set.emitter.evaluateInto(expr(load(x), load(y)), to);
  return to;
}
