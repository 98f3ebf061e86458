/** @file RotaryEmbedding of ai.onnx and com.microsoft: pairs of a head's elements turned by an angle of the position. */

import type { Emitter } from "../ir/emitter.ts";
import { add, convert, index, load, multiply, subtract } from "../ir/expr-build.ts";
import { elementCount, expanded, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { emitGather } from "../kernels/movement/gather.ts";
import { compileChain } from "../ptx/compile.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { rawView } from "./elementwise-operands.ts";

/** Where an operator has its inputs; the data is input 0. */
interface Inputs {
  readonly cos: number;
  readonly sin: number;
  readonly positions: number;
}

interface Rotation {
  /** Elements of a head that are turned; the others stay. */
  readonly width: number;
  readonly isInterleaved: boolean;
}

/** Axes [batch, length, heads, head size], from [batch, heads, length, size] or [batch, length, heads · size]. */
function headsOf(context: LowerContext, view: View, heads: number): View {
  if (view.shape.length === 4) return permuted(view, [0, 2, 1, 3]);
  const [batch = 1, length = 1, hidden = 1] = view.shape;
  if (view.shape.length !== 3 || heads < 1 || hidden % heads !== 0) {
    return context.fail(`has data of [${view.shape.join(",")}], whose last axis is not ${heads} heads`);
  }
  const apart = reshaped(view, [batch, length, heads, hidden / heads]);
  return apart ?? context.fail("has heads that are not contiguous");
}

/** Cosines or sines [batch, length, 1, pairs], looked up by position where there are positions. */
function anglesOf(
  context: LowerContext,
  at: number,
  rows: readonly number[],
  positions: View | undefined,
): View {
  const cache = rawView(context, at);
  const pairs = cache.shape.at(-1) ?? 1;
  const [batch = 1, length = 1] = rows;
  if (positions === undefined) {
    if (cache.shape.length !== 3)
      context.fail(`has no positions and a cache of [${cache.shape.join(",")}], expected three axes`);
    const all = expanded(cache, [batch, length, pairs]);
    return { ...all, shape: [batch, length, 1, pairs], strides: all.strides.toSpliced(2, 0, 0) };
  }
  if (cache.shape.length !== 2)
    context.fail(`has a cache of [${cache.shape.join(",")}], expected [positions,pairs]`);
  const to = context.temporary(cache.type, [batch, length, pairs]);
  const [stride = 0, last = 1] = cache.strides;
  emitGather(context, {
    from: cache,
    indices: positions,
    to,
    fromStrides: [0, 0, last],
    indexStrides: [...positions.strides, 0],
    lookup: [{ size: cache.shape[0] ?? 1, stride }],
    depthStride: 0,
  });
  return { ...to, shape: [batch, length, 1, pairs], strides: to.strides.toSpliced(2, 0, 0) };
}

/** [batch, length]; one number is the position of the first column. */
function positionsOf(context: LowerContext, at: number, rows: readonly number[]): View | undefined {
  if (!context.hasInput(at)) return undefined;
  const given = context.input(at);
  if (given.shape.length === 2) return expanded(given, rows);
  if (elementCount(given.shape) !== 1)
    return context.fail(
      `has positions of [${given.shape.join(",")}], expected [batch,length] or one element`,
    );
  const first = convert("i32", load({ ...given, shape: [], strides: [] }));
  const expr = add(first, index(0, rows[1] ?? 1));
  return context.evaluate(expr, rows, "int32");
}

/** The two elements of each pair: neighbours, or the halves of what is turned. */
function pairOf(view: View, { width, isInterleaved }: Rotation): readonly [View, View] {
  const pairs = width / 2;
  return isInterleaved
    ? [sliced(view, 3, 0, pairs, 2), sliced(view, 3, 1, pairs, 2)]
    : [sliced(view, 3, 0, pairs), sliced(view, 3, pairs, pairs)];
}

/** The two halves of a rotation: what is turned, or what it becomes. */
export type Halves = readonly [View, View];

/** Where a pair (x, y) goes: (x · cos₀ − y · sin₀, x · sin₁ + y · cos₁). */
export interface PairRotation {
  readonly from: Halves;
  readonly to: Halves;
  /** Of the first and of the second of a pair, repeated to the shape of a half. */
  readonly cos: Halves;
  readonly sin: Halves;
}

/** All pairs in one launch, computed as float32 (float64 where they are). */
export function emitPairRotation(emitter: Emitter, { from, to, cos, sin }: PairRotation): void {
  const [x, y] = [load(from[0]), load(from[1])];
  const type = x.type === "f64" ? "f64" : "f32";
  const angle = (view: View) => convert(type, load(view));
  const outputs = [
    { expr: subtract(multiply(x, angle(cos[0])), multiply(y, angle(sin[0]))), to: to[0] },
    { expr: add(multiply(x, angle(sin[1])), multiply(y, angle(cos[1]))), to: to[1] },
  ];
  const launch = compileChain({ shape: to[0].shape, outputs }, emitter.target);
  if (launch !== undefined) emitter.launch(launch);
}

function rotate(
  context: LowerContext,
  from: View,
  to: View,
  [cos, sin]: readonly [View, View],
  rotation: Rotation,
): void {
  emitPairRotation(context, {
    ...{ from: pairOf(from, rotation), to: pairOf(to, rotation) },
    ...{ cos: [cos, cos], sin: [sin, sin] },
  });
  const size = from.shape[3] ?? 0;
  const { width } = rotation;
  if (width < size) context.copy(sliced(from, 3, width, size - width), sliced(to, 3, width, size - width));
}

function rotary(inputs: Inputs): Lower {
  return (context) => {
    if ((context.float("scale") ?? 1) !== 1) context.fail(`scale is ${context.float("scale")}, expected 1`);
    if (context.int("is_packed_batching") === 1) context.fail("is_packed_batching is 1, expected 0");
    const given = context.input(0);
    const pairs = context.inputShape(inputs.cos).at(-1) ?? 1;
    const stated = context.int("num_heads") ?? 0;
    const heads = stated > 0 ? stated : (given.shape.at(-1) ?? 1) / (2 * pairs);
    const from = headsOf(context, given.shape.length === 3 ? context.packed(given) : given, heads);
    const size = from.shape[3] ?? 1;
    const turned = context.int("rotary_embedding_dim") ?? 0;
    const rotation = { width: turned > 0 ? turned : size, isInterleaved: context.int("interleaved") === 1 };
    if (rotation.width !== 2 * pairs || rotation.width > size) {
      context.fail(
        `rotates ${rotation.width} of ${size} elements by ${pairs} angles, expected one angle for two elements`,
      );
    }
    const rows = from.shape.slice(0, 2);
    const positions = positionsOf(context, inputs.positions, rows);
    const angles = [
      anglesOf(context, inputs.cos, rows, positions),
      anglesOf(context, inputs.sin, rows, positions),
    ] as const;
    rotate(context, from, headsOf(context, context.output(0), heads), angles, rotation);
  };
}

export const rotaryLowerings: LowerTable = {
  RotaryEmbedding: rotary({ cos: 1, sin: 2, positions: 3 }),
  "com.microsoft::RotaryEmbedding": rotary({ positions: 1, cos: 2, sin: 3 }),
};
