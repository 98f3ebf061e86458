/** @file Data movement: every kernel at each width, against the definitions. */

import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitGather } from "../../../cuda-runtime/kernels/movement/gather.ts";
import {
  emitScatter,
  emitScatterReduce,
  type Reduction,
} from "../../../cuda-runtime/kernels/movement/scatter.ts";
import { emitSelect } from "../../../cuda-runtime/kernels/movement/select.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { at, filled, type Grid, offsetIn } from "../arrays.ts";

const exact = { relative: 0, absolute: 0 };

function gridOf(harness: Harness, view: View): Grid {
  return { shape: view.shape, values: harness.values(view) };
}

interface PadCase {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly begins: readonly number[];
  readonly ends: readonly number[];
  readonly nhwc?: boolean;
}

/** Padded with 3, or with zeros. */
function padCase({ type, shape, begins, ends, nhwc = false }: PadCase, hasFill: boolean): KernelCase {
  return {
    name: `pad ${type} [${shape}] by [${begins}] [${ends}]${nhwc ? " nhwc" : ""}${hasFill ? " with 3" : ""}`,
    run(harness) {
      const order = nhwc ? channelsLastOrder(shape.length) : undefined;
      const from = harness.tensor(type, shape, { seed: 1, strides: stridesOf(shape, order) });
      const size = (axis: number) => (shape[axis] ?? 0) + (begins[axis] ?? 0) + (ends[axis] ?? 0);
      const to = harness.output(
        type,
        shape.map((_, axis) => size(axis)),
        order,
      );
      const tables = shape.map((own, axis) =>
        size(axis) === own
          ? undefined
          : Array.from({ length: size(axis) }, (_, x) => {
              const source = x - (begins[axis] ?? 0);
              return source < 0 || source >= own ? -1 : source;
            }),
      );
      const fill = hasFill ? harness.tensor(type, [], { values: [3] }) : undefined;
      emitSelect(harness.emitter, { from, to, tables, fill });
      harness.execute();
      const data = gridOf(harness, from);
      const expected = filled(to.shape, (position) => {
        const source = position.map((x, axis) => x - (begins[axis] ?? 0));
        const isInside = source.every((x, axis) => x >= 0 && x < (shape[axis] ?? 0));
        return isInside ? at(data, source) : hasFill ? 3 : 0;
      });
      harness.expectClose(to, expected, exact, "padded");
    },
  };
}

const padCases: readonly PadCase[] = [
  { type: "float32", shape: [2, 3, 5, 7], begins: [0, 0, 1, 2], ends: [0, 0, 3, 1] },
  { type: "float16", shape: [2, 64, 9, 11], begins: [0, 0, 1, 1], ends: [0, 0, 1, 1], nhwc: true },
  { type: "float16", shape: [1, 12, 5, 6], begins: [0, 0, 2, 0], ends: [0, 4, 0, 1], nhwc: true },
  { type: "uint8", shape: [3, 33, 70], begins: [1, 0, 0], ends: [0, 2, 0] },
  { type: "int64", shape: [4, 5], begins: [0, 3], ends: [1, 0] },
  { type: "bfloat16", shape: [1, 4, 30, 40], begins: [0, 4, 0, 0], ends: [0, 0, 0, 0] },
];

interface GatherCase {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly indices: readonly number[];
  readonly axis: number;
  readonly indexType?: "int32" | "int64";
}

function gatherCase({ type, shape, indices, axis, indexType = "int64" }: GatherCase): KernelCase {
  return {
    name: `gather ${type} [${shape}] axis ${axis} by ${indexType} [${indices}]`,
    run(harness) {
      const from = harness.tensor(type, shape, { seed: 2 });
      const size = shape[axis] ?? 1;
      const count = indices.reduce((total, each) => total * each, 1);
      // Every third one counts from the end.
      const values = Array.from({ length: count }, (_, i) => ((i * 7919) % size) - (i % 3 === 2 ? size : 0));
      const index = harness.tensor(indexType, indices, { values });
      const to = harness.output(type, shape.toSpliced(axis, 1, ...indices));
      const still = indices.map(() => 0);
      emitGather(harness.emitter, {
        from,
        indices: index,
        to,
        fromStrides: from.strides.toSpliced(axis, 1, ...still),
        indexStrides: from.strides.map(() => 0).toSpliced(axis, 1, ...index.strides),
        lookup: [{ size, stride: from.strides[axis] ?? 1 }],
        depthStride: 0,
      });
      harness.execute();
      const data = gridOf(harness, from);
      const places: Grid = { shape: indices, values };
      const expected = filled(to.shape, (position) => {
        const place = at(places, position.slice(axis, axis + indices.length));
        return at(data, position.toSpliced(axis, indices.length, place < 0 ? place + size : place));
      });
      harness.expectClose(to, expected, exact, "gathered");
    },
  };
}

const gatherCases: readonly GatherCase[] = [
  { type: "float16", shape: [1000, 768], indices: [2, 77], axis: 0 },
  { type: "float32", shape: [50, 6], indices: [13], axis: 0, indexType: "int32" },
  { type: "float32", shape: [3, 20, 5], indices: [4, 2], axis: 1 },
  { type: "uint8", shape: [7, 31], indices: [9], axis: 1 },
  { type: "int64", shape: [40], indices: [300], axis: 0 },
  { type: "bfloat16", shape: [5, 9, 33], indices: [], axis: 1 },
];

const coordinates: KernelCase = {
  name: "gather by two coordinates, in batches",
  run(harness) {
    const from = harness.tensor("float32", [3, 4, 5, 6], { seed: 3 });
    const index = harness.tensor("int32", [3, 7, 2], {
      values: Array.from({ length: 42 }, (_, i) => (i % 2 === 0 ? ((i * 5) % 4) - 4 : (i * 3) % 5)),
    });
    const to = harness.output("float32", [3, 7, 6]);
    const [batch = 0, first = 0, second = 0, last = 0] = from.strides;
    emitGather(harness.emitter, {
      from,
      indices: index,
      to,
      fromStrides: [batch, 0, last],
      indexStrides: [14, 2, 0],
      lookup: [
        { size: 4, stride: first },
        { size: 5, stride: second },
      ],
      depthStride: 1,
    });
    harness.execute();
    const data = gridOf(harness, from);
    const places = gridOf(harness, index);
    const expected = filled(to.shape, ([b = 0, row = 0, x = 0]) =>
      at(data, [b, at(places, [b, row, 0]) + 4, at(places, [b, row, 1]), x]),
    );
    harness.expectClose(to, expected, exact, "gathered");
  },
};

interface ScatterCase {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly updates: readonly number[];
  readonly axis: number;
  readonly reduction?: Reduction;
  /** Every index once. */
  readonly distinct?: boolean;
}

const combine: Readonly<Record<Reduction, (before: number, update: number) => number>> = {
  add: (before, update) => before + update,
  mul: (before, update) => before * update,
  min: Math.min,
  max: Math.max,
};

/** As ScatterElements. */
function scatterCase(given: ScatterCase): KernelCase {
  const { type, shape, updates: updateShape, axis, reduction, distinct = false } = given;
  return {
    name: `scatter ${reduction ?? "none"} ${type} [${updateShape}] into [${shape}] axis ${axis}${distinct ? " distinct" : ""}`,
    run(harness) {
      const size = shape[axis] ?? 1;
      const indexAt = (position: readonly number[]) => {
        const along = position[axis] ?? 0;
        if (distinct) return (along * 3 + 1) % size;
        return ((offsetIn(updateShape, position) * 31) % Math.min(size, 3)) - (along % 2 === 0 ? size : 0);
      };
      const indices = harness.tensor("int64", updateShape, { values: filled(updateShape, indexAt) });
      const updates = harness.tensor(type, updateShape, { seed: 4 });
      const to = harness.tensor(type, shape, { seed: 5 });
      const expected = Float64Array.from(harness.values(to));
      const request = {
        updates,
        indices,
        to,
        indexStrides: indices.strides,
        toStrides: to.strides.with(axis, 0),
        lookup: [{ size, stride: to.strides[axis] ?? 1 }],
        depthStride: 0,
      };
      if (reduction === undefined) emitScatter(harness.emitter, { ...request, isDistinct: distinct });
      else emitScatterReduce(harness.emitter, { ...request, reduction, along: axis });
      harness.execute();
      const data = gridOf(harness, updates);
      filled(updateShape, (position) => {
        const index = indexAt(position);
        const place = offsetIn(shape, position.with(axis, index < 0 ? index + size : index));
        const update = at(data, position);
        expected[place] = reduction === undefined ? update : combine[reduction](expected[place] ?? 0, update);
        return 0;
      });
      // The reference sums in float64.
      const tolerance = type === "float32" ? { relative: 1e-5, absolute: 1e-5 } : exact;
      harness.expectClose(to, expected, reduction === undefined ? exact : tolerance, "scattered");
    },
  };
}

const scatterCases: readonly ScatterCase[] = [
  { type: "float32", shape: [6, 40], updates: [30, 40], axis: 0 },
  { type: "float16", shape: [5, 17, 8], updates: [5, 9, 8], axis: 1 },
  { type: "float32", shape: [16, 64], updates: [5, 64], axis: 0, distinct: true },
  { type: "uint8", shape: [300], updates: [900], axis: 0 },
  { type: "float32", shape: [8, 33], updates: [100, 33], axis: 0, reduction: "add" },
  { type: "float64", shape: [3, 12], updates: [3, 20], axis: 1, reduction: "max" },
  { type: "int64", shape: [9, 5], updates: [11, 5], axis: 0, reduction: "add" },
  { type: "int32", shape: [4, 6, 7], updates: [4, 3, 7], axis: 1, reduction: "min" },
  { type: "float32", shape: [5, 5], updates: [3, 5], axis: 0, reduction: "mul" },
];

interface RowsCase {
  readonly type: StorageType;
  readonly rows: number;
  readonly places: number;
  readonly width: number;
  readonly reduction: Reduction;
}

/** Whole rows by one index each, many of them to one place: as ScatterND, and sums over a graph's edges. */
function rowsCase({ type, rows, places, width, reduction }: RowsCase): KernelCase {
  return {
    name: `scatter ${reduction} ${type} ${rows} rows of ${width} into ${places}`,
    run(harness) {
      const index = Array.from(
        { length: rows },
        (_, row) => ((row * row * 31) % places) - (row % 2) * places,
      );
      const indices = harness.tensor("int64", [rows, 1], { values: index });
      const updates = harness.tensor(type, [rows, width], { seed: 8 });
      const to = harness.tensor(type, [places, width], { seed: 9 });
      const expected = Float64Array.from(harness.values(to));
      const values = harness.values(updates);
      for (const [row, place] of index.entries()) {
        for (let x = 0; x < width; x++) {
          const target = (place < 0 ? place + places : place) * width + x;
          expected[target] = combine[reduction](expected[target] ?? 0, values[row * width + x] ?? 0);
        }
      }
      emitScatterReduce(harness.emitter, {
        updates,
        indices,
        to,
        indexStrides: [1, 0],
        toStrides: [0, 1],
        lookup: [{ size: places, stride: width }],
        depthStride: 1,
        reduction,
        along: 0,
      });
      harness.execute();
      harness.expectClose(to, expected, { relative: 2e-5, absolute: 2e-5 }, "scattered");
    },
  };
}

const rowsCases: readonly RowsCase[] = [
  { type: "float32", rows: 1000, places: 37, width: 12, reduction: "add" },
  { type: "float32", rows: 700, places: 3, width: 600, reduction: "add" },
  { type: "int32", rows: 5000, places: 2000, width: 1, reduction: "add" },
  { type: "float64", rows: 300, places: 50, width: 3, reduction: "min" },
];

/** Slices of 40 elements by rows of indices, three of which name one place. */
const slices: KernelCase = {
  name: "scatter slices, the last one wins",
  run(harness) {
    const rows = [2, 0, 2, 5, 2, 1];
    const indices = harness.tensor("int32", [6, 1], { values: rows });
    const updates = harness.tensor("float16", [6, 40], { seed: 6 });
    const to = harness.tensor("float16", [7, 40], { seed: 7 });
    const expected = Float64Array.from(harness.values(to));
    const values = harness.values(updates);
    for (const [row, place] of rows.entries()) {
      expected.set(values.subarray(row * 40, (row + 1) * 40), place * 40);
    }
    emitScatter(harness.emitter, {
      updates,
      indices,
      to,
      indexStrides: [1, 0],
      toStrides: [0, 1],
      lookup: [{ size: 7, stride: 40 }],
      depthStride: 1,
      isDistinct: false,
    });
    harness.execute();
    harness.expectClose(to, expected, exact, "scattered");
  },
};

export const cases: readonly KernelCase[] = [
  ...padCases.flatMap((each) => [padCase(each, false), padCase(each, true)]),
  ...gatherCases.map(gatherCase),
  coordinates,
  ...scatterCases.map(scatterCase),
  ...rowsCases.map(rowsCase),
  slices,
];
