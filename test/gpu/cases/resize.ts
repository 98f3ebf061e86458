/** @file Images resized, sampled at grids, and put together from columns. */

import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitCol2Im } from "../../../cuda-runtime/kernels/resize/col2im.ts";
import { emitGridSample, type GridSampleRequest } from "../../../cuda-runtime/kernels/resize/grid-sample.ts";
import { emitResize } from "../../../cuda-runtime/kernels/resize/resize.ts";
import { type Filter, type TapTable, tapTable } from "../../../cuda-runtime/kernels/resize/taps.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { at, filled, type Grid } from "../arrays.ts";

const tolerances: Readonly<Partial<Record<StorageType, { relative: number; absolute: number }>>> = {
  float16: { relative: 1e-3, absolute: 1e-3 },
  bfloat16: { relative: 8e-3, absolute: 8e-3 },
};

function toleranceOf(type: StorageType): { relative: number; absolute: number } {
  return tolerances[type] ?? { relative: 1e-5, absolute: 1e-5 };
}

interface ResizeCase {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly outputs: readonly number[];
  readonly filter?: Partial<Filter>;
  readonly nhwc?: boolean;
}

const bilinear: Filter = {
  mode: "linear",
  coordinates: "half_pixel",
  antialias: false,
  excludeOutside: false,
  cubicA: -0.75,
};

/** Axis by axis in float64, by the tables whose making is tested against ONNX's own tests. */
function resized(data: Grid, tables: readonly (TapTable | undefined)[]): Grid {
  return tables.reduce((grid: Grid, table, axis): Grid => {
    if (table === undefined) return grid;
    const shape = grid.shape.with(axis, table.indices.length / table.taps);
    const values = filled(shape, (position) => {
      const first = (position[axis] ?? 0) * table.taps;
      let sum = 0;
      for (let tap = first; tap < first + table.taps; tap++) {
        sum += (table.weights[tap] ?? 0) * at(grid, position.with(axis, table.indices[tap] ?? 0));
      }
      return sum;
    });
    return { shape, values };
  }, data);
}

function resizeCase({ type, shape, outputs, filter = {}, nhwc = false }: ResizeCase): KernelCase {
  return {
    name: `resize ${type} [${shape}] to [${outputs}] ${JSON.stringify(filter)}${nhwc ? " nhwc" : ""}`,
    run(harness) {
      const order = nhwc ? channelsLastOrder(shape.length) : undefined;
      const from = harness.tensor(type, shape, { seed: 1, strides: stridesOf(shape, order) });
      const to = harness.output(type, outputs, order);
      const tables = shape.map((size, axis) => {
        const outputSize = outputs[axis] ?? size;
        if (outputSize === size) return undefined;
        const scale = outputSize / size;
        return tapTable({ size, outputSize, scale, region: [0, 1] }, { ...bilinear, ...filter });
      });
      emitResize(harness.emitter, { from, to, tables, extrapolation: 0 });
      harness.execute();
      const expected = resized({ shape, values: harness.values(from) }, tables).values;
      harness.expectClose(to, expected, toleranceOf(type), "resized");
    },
  };
}

const resizeCases: readonly ResizeCase[] = [
  { type: "float16", shape: [2, 64, 9, 11], outputs: [2, 64, 18, 22], nhwc: true },
  { type: "bfloat16", shape: [1, 16, 8, 8], outputs: [1, 16, 5, 19], nhwc: true },
  { type: "float32", shape: [2, 3, 7, 9], outputs: [2, 3, 15, 4] },
  { type: "float32", shape: [1, 8, 6, 6], outputs: [1, 8, 12, 12], filter: { mode: "cubic" }, nhwc: true },
  { type: "float16", shape: [1, 5, 6, 7], outputs: [1, 5, 9, 3], filter: { mode: "cubic" } },
  {
    type: "float32",
    shape: [1, 4, 64, 48],
    outputs: [1, 4, 7, 9],
    filter: { mode: "cubic", antialias: true },
  },
  { type: "float16", shape: [1, 8, 40, 40], outputs: [1, 8, 5, 5], filter: { antialias: true }, nhwc: true },
  { type: "float32", shape: [1, 2, 4, 5, 6], outputs: [1, 2, 7, 9, 5] },
  { type: "float32", shape: [2, 5, 30], outputs: [2, 5, 61], filter: { coordinates: "align_corners" } },
  { type: "float64", shape: [1, 2, 5, 5], outputs: [1, 2, 8, 3] },
  { type: "float32", shape: [3, 4, 5, 6], outputs: [5, 6, 7, 8] },
];

type GridRequest = Pick<GridSampleRequest, "mode" | "padding" | "alignCorners">;

interface GridCase extends GridRequest {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly places: readonly number[];
  readonly nhwc?: boolean;
}

/** One axis of GridSample: elements (undefined for a zero) with weights, from the definition. */
function tapsOf(normalized: number, size: number, { mode, padding, alignCorners }: GridRequest) {
  const edge = alignCorners ? 0 : 0.5;
  const [low, high] = [-edge, size - 1 + edge];
  const plain = alignCorners ? ((normalized + 1) / 2) * (size - 1) : ((normalized + 1) * size - 1) / 2;
  const place = mode === "nearest" ? nearestEven(plain) : plain;
  const isOutside = place < low || place > high;
  const x =
    !isOutside || padding === "zeros"
      ? place
      : padding === "border"
        ? clamp(place, size)
        : reflect(place, low, high);
  const elementAt = (position: number) => {
    if (padding === "zeros") return position < 0 || position >= size ? undefined : position;
    return padding === "border"
      ? clamp(position, size)
      : clamp(Math.trunc(reflect(position, low, high)), size);
  };
  if (mode === "nearest") return [{ element: elementAt(nearestEven(x)), weight: 1 }];
  const reach = mode === "linear" ? [0, 1] : [-1, 0, 1, 2];
  const weightOf = mode === "linear" ? (d: number) => 1 - Math.abs(d) : cubic;
  return reach.map((step) => {
    const position = Math.floor(x) + step;
    return { element: elementAt(position), weight: weightOf(x - position) };
  });
}

function nearestEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

function clamp(position: number, size: number): number {
  return Math.min(size - 1, Math.max(0, position));
}

function reflect(x: number, low: number, high: number): number {
  if (high <= low) return low;
  let place = x;
  while (place < low || place > high) place = place < low ? 2 * low - place : 2 * high - place;
  return place;
}

function cubic(signed: number): number {
  const x = Math.abs(signed);
  const a = -0.75;
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

function sampled(data: Grid, grid: Grid, shape: readonly number[], request: GridRequest): Float64Array {
  const spatial = shape.length - 2;
  return filled(shape, ([batch = 0, channel = 0, ...place]) => {
    const axes = Array.from({ length: spatial }, (_, axis) =>
      tapsOf(at(grid, [batch, ...place, spatial - 1 - axis]), data.shape[axis + 2] ?? 1, request),
    );
    const sum = (axis: number, position: readonly number[]): number => {
      const taps = axes[axis];
      if (taps === undefined) return at(data, [batch, channel, ...position]);
      return taps.reduce(
        (total, { element, weight }) =>
          total + (element === undefined ? 0 : weight * sum(axis + 1, [...position, element])),
        0,
      );
    };
    return sum(0, []);
  });
}

function gridCase({ type, shape, places, nhwc = false, ...request }: GridCase): KernelCase {
  const { mode, padding, alignCorners } = request;
  return {
    name: `grid sample ${type} [${shape}] at [${places}] ${mode} ${padding} align ${alignCorners}${nhwc ? " nhwc" : ""}`,
    run(harness) {
      const [batch = 1, channels = 1] = shape;
      const order = nhwc ? channelsLastOrder(shape.length) : undefined;
      const x = harness.tensor(type, shape, { seed: 1, strides: stridesOf(shape, order) });
      const grid = harness.tensor("float32", [batch, ...places, shape.length - 2], { seed: 2, scale: 1.7 });
      const y = harness.output(type, [batch, channels, ...places], order);
      emitGridSample(harness.emitter, { x, grid, y, ...request });
      harness.execute();
      const [data, coordinates]: Grid[] = [x, grid].map((view: View) => ({
        shape: view.shape,
        values: harness.values(view),
      }));
      if (data === undefined || coordinates === undefined) throw new Error("no operands");
      const expected = sampled(data, coordinates, y.shape, request);
      const { relative, absolute } = toleranceOf(type);
      harness.expectClose(y, expected, { relative: 10 * relative, absolute: 10 * absolute }, "sampled");
    },
  };
}

const gridModes = ["nearest", "linear", "cubic"] as const;
const gridPaddings = ["zeros", "border", "reflection"] as const;

const gridCases: readonly GridCase[] = [
  ...gridModes.flatMap((mode) =>
    gridPaddings.flatMap((padding) =>
      [false, true].map((alignCorners): GridCase => {
        return { type: "float32", shape: [2, 3, 6, 5], places: [7, 4], mode, padding, alignCorners };
      }),
    ),
  ),
  {
    type: "float16",
    shape: [1, 16, 9, 9],
    places: [8, 8],
    mode: "linear",
    padding: "zeros",
    alignCorners: false,
    nhwc: true,
  },
  {
    type: "float32",
    shape: [1, 2, 4, 5, 6],
    places: [3, 4, 5],
    mode: "linear",
    padding: "border",
    alignCorners: true,
  },
  {
    type: "float32",
    shape: [1, 2, 4, 5, 6],
    places: [3, 2, 5],
    mode: "cubic",
    padding: "zeros",
    alignCorners: false,
  },
];

const columns: KernelCase = {
  name: "col2im with strides, dilations and pads",
  run(harness: Harness) {
    const [batch, channels, block, windows] = [2, 3, [2, 3], [4, 3]] as const;
    const [dilations, strides, begins, sizes] = [
      [2, 1],
      [1, 2],
      [1, 1],
      [4, 5],
    ] as const;
    const columns = harness.tensor("float32", [batch, channels * 6, 12], { seed: 1 });
    const image = harness.output("float32", [batch, channels, ...sizes]);
    emitCol2Im(harness.emitter, { columns, image, block, dilations, begins, strides, windows });
    harness.execute();
    const data: Grid = { shape: columns.shape, values: harness.values(columns) };
    const expected = filled(image.shape, ([n = 0, c = 0, y = 0, x = 0]) => {
      let sum = 0;
      filled([...block, ...windows], ([i = 0, j = 0, u = 0, v = 0]) => {
        const row = u * strides[0] + i * dilations[0] - begins[0];
        const column = v * strides[1] + j * dilations[1] - begins[1];
        if (row === y && column === x) sum += at(data, [n, c * 6 + i * 3 + j, u * 3 + v]);
        return 0;
      });
      return sum;
    });
    harness.expectClose(image, expected, toleranceOf("float32"), "image");
  },
};

export const cases: readonly KernelCase[] = [
  ...resizeCases.map(resizeCase),
  ...gridCases.map(gridCase),
  columns,
];
