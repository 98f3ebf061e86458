/** @file Reductions, ordering, scans, transforms on the GPU against loops in double precision. */

import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, permuted, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitArg, emitTopK } from "../../../cuda-runtime/kernels/order/order.ts";
import {
  emitReduce,
  type ReduceRequest,
  type Reduction,
} from "../../../cuda-runtime/kernels/reduce/reduce.ts";
import { emitScan } from "../../../cuda-runtime/kernels/scan/scan.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

interface Shaped {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** The values along reduced axes, for each kept position in row-major order. */
function* rowsOf({ shape, values }: Shaped, axes: ReadonlySet<number>): Generator<number[]> {
  const strides = stridesOf(shape);
  const offsets = (wanted: boolean) => {
    let found = [0];
    for (const [axis, size] of shape.entries()) {
      if (axes.has(axis) !== wanted) continue;
      const stride = strides[axis] ?? 0;
      found = found.flatMap((offset) => Array.from({ length: size }, (_, i) => offset + i * stride));
    }
    return found;
  };
  const inner = offsets(true);
  for (const outer of offsets(false)) yield inner.map((offset) => values[outer + offset] ?? Number.NaN);
}

const plain: Reduction = { pre: "none", combine: "sum", post: "none", divisor: 1 };

function sumOf(row: readonly number[], f: (x: number) => number = (x) => x): number {
  return row.reduce((total, x) => total + f(x), 0);
}

interface Kind {
  readonly reduction: (count: number) => Reduction;
  readonly reference: (row: readonly number[]) => number;
}

const kinds = {
  sum: { reduction: () => plain, reference: (row) => sumOf(row) },
  mean: {
    reduction: (count) => ({ ...plain, divisor: count }),
    reference: (row) => sumOf(row) / row.length,
  },
  max: {
    reduction: () => ({ ...plain, combine: "max" }),
    reference: (row) => row.reduce((a, b) => Math.max(a, b)),
  },
  min: {
    reduction: () => ({ ...plain, combine: "min" }),
    reference: (row) => row.reduce((a, b) => Math.min(a, b)),
  },
  prod: {
    reduction: () => ({ ...plain, combine: "prod" }),
    reference: (row) => row.reduce((a, b) => a * b, 1),
  },
  l1: { reduction: () => ({ ...plain, pre: "abs" }), reference: (row) => sumOf(row, Math.abs) },
  l2: {
    reduction: () => ({ ...plain, pre: "square", post: "sqrt" }),
    reference: (row) => Math.sqrt(sumOf(row, (x) => x * x)),
  },
  logSum: {
    reduction: () => ({ ...plain, pre: "abs", post: "log" }),
    reference: (row) => Math.log(sumOf(row, Math.abs)),
  },
  logSumExp: {
    reduction: () => ({ ...plain, combine: "logSumExp" }),
    reference: (row) => Math.log(sumOf(row, Math.exp)),
  },
  sumSquare: {
    reduction: () => ({ ...plain, pre: "square" }),
    reference: (row) => sumOf(row, (x) => x * x),
  },
} as const satisfies Record<string, Kind>;

/** Of results relative to the sum of magnitudes; halves are rounded once, at the end. */
const tolerances: Readonly<Partial<Record<StorageType, Tolerance>>> = {
  float32: { relative: 2e-6, absolute: 2e-5 },
  float16: { relative: 1e-3, absolute: 2e-3 },
  bfloat16: { relative: 8e-3, absolute: 1e-2 },
  float64: { relative: 1e-12, absolute: 1e-12 },
};
const exactly: Tolerance = { relative: 0, absolute: 0 };

interface ReduceCase {
  readonly kind: keyof typeof kinds;
  readonly type: StorageType;
  readonly to?: StorageType;
  readonly shape: readonly number[];
  readonly axes: readonly number[];
  /** Axes of the memory, outermost first. */
  readonly order?: readonly number[];
  readonly offset?: number;
  readonly scale?: number;
  /** Elements between rows beyond the packed ones. */
  readonly pitch?: number;
}

function stridedTensor(harness: Harness, each: ReduceCase): View {
  const { type, shape, order, offset = 0, scale, pitch = 0 } = each;
  const last = shape.length - 1;
  const padded = pitch === 0 ? shape : shape.with(last, (shape[last] ?? 1) + pitch);
  const strides = stridesOf(padded, order);
  return harness.tensor(type, [...shape], {
    strides,
    offset,
    seed: shape.length + offset,
    ...(scale && { scale }),
  });
}

function reduceCase(each: ReduceCase): KernelCase {
  const { kind, type, to = type, shape, axes, order, offset, pitch } = each;
  const details = [
    order && `order ${order}`,
    offset && `offset ${offset}`,
    pitch && `pitch ${pitch}`,
    to !== type && `to ${to}`,
  ];
  return {
    name: `${kind} ${type}[${shape}] over ${axes} ${details.filter(Boolean).join(" ")}`.trim(),
    run: (harness) => runReduce(harness, each, to),
  };
}

function runReduce(harness: Harness, each: ReduceCase, to: StorageType): void {
  const { kind, shape } = each;
  const axes = new Set(each.axes);
  const input = stridedTensor(harness, each);
  const output = harness.output(
    to,
    shape.map((size, axis) => (axes.has(axis) ? 1 : size)),
  );
  const count = each.axes.reduce((total, axis) => total * (shape[axis] ?? 1), 1);
  const { reduction, reference }: Kind = kinds[kind];
  const request: ReduceRequest = {
    ...reduction(count),
    input,
    axes,
    output,
    integersAs: kind === "l2" || kind === "logSum" || kind === "logSumExp" ? "float64" : "integer",
  };
  emitReduce(harness.emitter, request);
  harness.execute();
  const whole = tolerances[to] === undefined;
  const expected = [...rowsOf({ shape, values: harness.values(input) }, axes)].map((row) =>
    whole ? Math.trunc(reference(row)) : reference(row),
  );
  harness.expectClose(output, expected, toleranceOf(to, count), kind);
}

/** Sums of many elements of either sign err with the sum of their magnitudes. */
function toleranceOf(type: StorageType, count: number): Tolerance {
  const base = tolerances[type];
  if (base === undefined) return exactly;
  return { relative: base.relative, absolute: base.absolute * Math.max(1, Math.sqrt(count) / 16) };
}

const floats: readonly StorageType[] = ["float32", "float16", "bfloat16"];

const reduceCases: readonly ReduceCase[] = [
  ...Object.keys(kinds).flatMap((kind) =>
    floats.map(
      (type): ReduceCase => ({ kind: kind as keyof typeof kinds, type, shape: [5, 7, 33], axes: [1] }),
    ),
  ),
  // Rows: a warp each, a block each, several blocks each; unaligned starts and ends.
  ...floats.flatMap((type): ReduceCase[] => [
    { kind: "mean", type, shape: [600, 771], axes: [1] },
    { kind: "max", type, shape: [67, 1031], axes: [1], offset: 3 },
    { kind: "min", type, shape: [3, 9001], axes: [1], offset: 1, pitch: 5 },
    { kind: "sum", type, shape: [200_003], axes: [0] },
    { kind: "l1", type, shape: [2, 3, 65_537], axes: [2] },
    { kind: "max", type, shape: [150_001], axes: [0], offset: 7 },
    // Columns: channels-last means, odd and whole vectors.
    { kind: "mean", type, shape: [2, 64, 7, 7], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "max", type, shape: [1, 40, 56, 56], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "mean", type, shape: [3, 37, 9, 9], axes: [2, 3], order: [0, 2, 3, 1] },
    // In one launch, by blocks alone and by teams: rows of a round that is not whole, columns beyond the last tile.
    { kind: "mean", type, shape: [1, 144, 56, 56], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "min", type, shape: [3, 24, 61, 29], axes: [2, 3], order: [0, 2, 3, 1], to: "float32" },
    { kind: "mean", type, shape: [1, 1160, 7, 7], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "l2", type, shape: [40, 96, 14, 14], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "sum", type, shape: [1, 8, 3, 1], axes: [2, 3], order: [0, 2, 3, 1] },
    { kind: "sumSquare", type, shape: [10_007, 24], axes: [0] },
    { kind: "mean", type, shape: [2, 2048, 7, 7], axes: [2, 3], order: [0, 2, 3, 1], to: "float32" },
    { kind: "mean", type, shape: [4, 8, 30, 31], axes: [0, 2, 3] },
    { kind: "sum", type, shape: [3, 4, 5, 6, 7], axes: [0, 2, 4] },
    { kind: "logSumExp", type, shape: [2, 70_000], axes: [1] },
    { kind: "l2", type, shape: [300, 4, 3], axes: [0], order: [2, 0, 1] },
    { kind: "mean", type, shape: [7, 1, 5], axes: [1] },
  ]),
  { kind: "mean", type: "float16", to: "float32", shape: [33, 129], axes: [1] },
  { kind: "sum", type: "float32", to: "float16", shape: [33, 129], axes: [1] },
  { kind: "sum", type: "float64", shape: [3, 1000], axes: [1] },
  { kind: "logSumExp", type: "float64", shape: [3, 100], axes: [0] },
  ...(["int32", "int64", "uint8", "int8", "uint32", "uint64", "int16", "uint16"] as const).flatMap(
    (type): ReduceCase[] => [
      { kind: "max", type, shape: [4, 50], axes: [1] },
      { kind: "min", type, shape: [50, 4], axes: [0] },
      { kind: "sum", type, shape: [3, 5, 2], axes: [0, 2] },
    ],
  ),
  { kind: "sum", type: "int64", shape: [100_000], axes: [0] },
  { kind: "mean", type: "int32", shape: [3, 17], axes: [1] },
  { kind: "l2", type: "int32", shape: [3, 17], axes: [1] },
  { kind: "max", type: "bool", shape: [6, 3], axes: [1] },
  { kind: "min", type: "bool", shape: [6, 3], axes: [1] },
];

/** Indices along an axis by value, ties by index. */
function orderedIndices(row: readonly number[], isLargest: boolean): number[] {
  const sign = isLargest ? -1 : 1;
  return [...row.keys()].sort((a, b) => sign * ((row[a] ?? 0) - (row[b] ?? 0)) || a - b);
}

function argCase(
  type: StorageType,
  shape: readonly number[],
  axis: number,
  isLargest: boolean,
  isLastIndex: boolean,
): KernelCase {
  return {
    name: `${isLargest ? "argmax" : "argmin"} ${type}[${shape}] axis ${axis}${isLastIndex ? " last" : ""}`,
    run(harness) {
      const input = harness.tensor(type, [...shape], { seed: axis });
      const output = harness.output("int64", shape.with(axis, 1) as number[]);
      emitArg(harness.emitter, { input, axis, isLargest, isLastIndex, output });
      harness.execute();
      const expected = [...rowsOf({ shape, values: harness.values(input) }, new Set([axis]))].map((row) => {
        const best = isLargest ? row.reduce((a, b) => Math.max(a, b)) : row.reduce((a, b) => Math.min(a, b));
        return isLastIndex ? row.lastIndexOf(best) : row.indexOf(best);
      });
      harness.expectClose(output, expected, exactly, "indices");
    },
  };
}

function topKCase(
  type: StorageType,
  shape: readonly number[],
  axis: number,
  count: number,
  isLargest: boolean,
  scale?: number,
): KernelCase {
  return {
    name: `topk ${type}[${shape}] axis ${axis} k ${count}${isLargest ? "" : " smallest"}`,
    run(harness) {
      const input = harness.tensor(type, [...shape], { seed: count, ...(scale !== undefined && { scale }) });
      const result = shape.with(axis, count);
      const values = harness.output(type, [...result]);
      const indices = harness.output("int64", [...result]);
      emitTopK(harness.emitter, { input, axis, values, indices, isLargest });
      harness.execute();
      const rows = [...rowsOf({ shape, values: harness.values(input) }, new Set([axis]))];
      const expected = rows.map((row) => orderedIndices(row, isLargest).slice(0, count));
      const back = (numbers: readonly number[][]) => scattered(numbers, result, axis);
      harness.expectClose(indices, back(expected), exactly, "indices");
      const picked = expected.map((found, at) => found.map((index) => rows[at]?.[index] ?? Number.NaN));
      harness.expectClose(values, back(picked), exactly, "values");
    },
  };
}

/** Rows along an axis, as `rowsOf` gives them, back in row-major order. */
function scattered(
  rows: readonly (readonly number[])[],
  shape: readonly number[],
  axis: number,
): Float64Array {
  const strides = stridesOf(shape);
  const stride = strides[axis] ?? 1;
  const size = shape[axis] ?? 1;
  const result = new Float64Array(elementCount(shape));
  for (const [at, row] of rows.entries()) {
    const start = Math.floor(at / stride) * stride * size + (at % stride);
    for (const [i, value] of row.entries()) result[start + i * stride] = value;
  }
  return result;
}

interface ScanCase {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly axis: number;
  readonly isExclusive?: boolean;
  readonly isReverse?: boolean;
  readonly isProduct?: boolean;
  readonly isTransposed?: boolean;
}

function scanCase(each: ScanCase): KernelCase {
  const { type, shape, axis, isExclusive = false, isReverse = false, isProduct = false, isTransposed } = each;
  const flags = [
    isExclusive && "exclusive",
    isReverse && "reverse",
    isProduct && "product",
    isTransposed && "transposed",
  ];
  return {
    name: `scan ${type}[${shape}] axis ${axis} ${flags.filter(Boolean).join(" ")}`.trim(),
    run(harness) {
      const reversedShape = [...shape].reverse();
      const input = isTransposed
        ? permuted(harness.tensor(type, reversedShape, { seed: 5 }), [...shape.keys()].reverse())
        : harness.tensor(type, [...shape], { seed: 5, ...(isProduct && { scale: 1.5 }) });
      const output = harness.output(type, [...shape]);
      emitScan(harness.emitter, {
        input,
        output,
        axis,
        isExclusive,
        isReverse,
        isProduct,
      });
      harness.execute();
      const rows = [...rowsOf({ shape, values: harness.values(input) }, new Set([axis]))];
      const expected = rows.map((row) => running(row, isExclusive, isReverse, isProduct));
      harness.expectClose(
        output,
        scattered(expected, shape, axis),
        toleranceOf(type, shape[axis] ?? 1),
        "running totals",
      );
    },
  };
}

function running(
  row: readonly number[],
  isExclusive: boolean,
  isReverse: boolean,
  isProduct: boolean,
): number[] {
  let total = isProduct ? 1 : 0;
  const result = (isReverse ? [...row].reverse() : row).map((x) => {
    const before = total;
    total = isProduct ? total * x : total + x;
    return isExclusive ? before : total;
  });
  return isReverse ? result.reverse() : result;
}

export const cases: readonly KernelCase[] = [
  ...reduceCases.map(reduceCase),
  argCase("float32", [5, 1001], 1, true, false),
  argCase("float16", [3, 50_257], 1, true, false),
  argCase("int32", [4, 300, 3], 1, true, true),
  argCase("int8", [4, 300, 3], 1, false, false),
  argCase("uint64", [70_000, 5], 1, false, true),
  argCase("float64", [17], 0, true, false),
  argCase("bfloat16", [2, 40, 9], 0, false, true),
  topKCase("float32", [3, 10], 1, 3, true),
  topKCase("float32", [7, 1], 1, 1, true),
  topKCase("float32", [3, 100, 5], 1, 100, false),
  topKCase("int32", [2, 4096], 1, 17, true),
  topKCase("int64", [2, 5000], 1, 40, false),
  topKCase("uint64", [4, 33], 1, 8, true),
  topKCase("float64", [2, 2049], 1, 600, true),
  topKCase("float16", [2, 50_257], 1, 50, true),
  topKCase("bfloat16", [6000, 3], 0, 5, false),
  topKCase("uint8", [1, 20_000], 1, 9, true, 3),
  topKCase("float32", [1, 9000], 1, 9000, true),
  topKCase("float32", [2, 30_000], 1, 4000, false),
  ...floats.map((type) => scanCase({ type, shape: [3, 40], axis: 1 })),
  scanCase({ type: "float32", shape: [3, 5000], axis: 1 }),
  scanCase({ type: "float32", shape: [3, 5000], axis: 1, isExclusive: true, isReverse: true }),
  scanCase({ type: "float32", shape: [200, 7, 9], axis: 0, isReverse: true }),
  scanCase({ type: "float32", shape: [70, 300], axis: 1, isTransposed: true }),
  scanCase({ type: "float64", shape: [2, 30], axis: 1, isProduct: true }),
  scanCase({ type: "int32", shape: [2, 3000], axis: 1, isExclusive: true }),
  scanCase({ type: "int64", shape: [2, 3, 4], axis: 1, isProduct: true }),
  scanCase({ type: "uint32", shape: [20_000, 3], axis: 1 }),
];
