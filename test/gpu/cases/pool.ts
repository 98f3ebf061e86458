/** @file Pools on the GPU against loops in double precision. */

import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import {
  channelsLastOrder,
  elementCount,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import { emitGlobalPool, emitPool, type PoolKind } from "../../../cuda-runtime/kernels/pool/pool.ts";
import { emitRoiPool, emitUnpool } from "../../../cuda-runtime/kernels/pool/unpool-roi.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { coordinatesOf } from "../conv-reference.ts";

type Layout = "nhwc" | "nchw" | "wide";

interface Spec {
  readonly name: string;
  readonly kind: PoolKind;
  readonly type: StorageType;
  readonly x: readonly number[];
  readonly kernel: readonly number[];
  readonly strides?: readonly number[];
  readonly dilations?: readonly number[];
  readonly padsBegin?: readonly number[];
  readonly padsEnd?: readonly number[];
  /** Positions along each axis; those of whole windows unless given. */
  readonly output?: readonly number[];
  readonly layout?: Layout;
  readonly countPads?: boolean;
  readonly indices?: "row-major" | "column-major";
  readonly power?: number;
}

const tolerances: Partial<Record<StorageType, Tolerance>> = {
  float16: { relative: 1e-3, absolute: 1e-5 },
  bfloat16: { relative: 8e-3, absolute: 1e-5 },
  float32: { relative: 2e-6, absolute: 1e-6 },
  float64: { relative: 1e-14, absolute: 1e-14 },
};
const exact: Tolerance = { relative: 0, absolute: 0 };
const wideBy = 8;

function input(harness: Harness, type: StorageType, shape: readonly number[], layout: Layout): View {
  const drawn = { seed: 1, ...(type === "int8" && { scale: 127 }), ...(type === "uint8" && { scale: 255 }) };
  if (layout === "nchw") return harness.tensor(type, [...shape], drawn);
  const order = channelsLastOrder(shape.length);
  if (layout === "nhwc")
    return harness.tensor(type, [...shape], { strides: stridesOf(shape, order), ...drawn });
  const strides = stridesOf(shape.with(1, (shape[1] ?? 1) + wideBy), order);
  return harness.tensor(type, [...shape], { strides, offset: wideBy, ...drawn });
}

function output(harness: Harness, type: StorageType, shape: readonly number[], layout: Layout): View {
  if (layout === "nchw") return harness.output(type, [...shape]);
  const order = channelsLastOrder(shape.length);
  if (layout === "nhwc") return harness.output(type, [...shape], order);
  const channels = shape[1] ?? 1;
  return sliced(harness.output(type, shape.with(1, channels + wideBy), order), 1, wideBy, channels);
}

interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
}

function windowOf({ kernel, strides, dilations, padsBegin, padsEnd }: Spec): Window {
  const filled = (values: readonly number[] | undefined, value: number) => values ?? kernel.map(() => value);
  return {
    kernel,
    strides: filled(strides, 1),
    dilations: filled(dilations, 1),
    padsBegin: filled(padsBegin, 0),
    padsEnd: filled(padsEnd, 0),
  };
}

interface Reference {
  readonly values: Float64Array;
  readonly indices: Float64Array;
}

function pooled(spec: Spec, x: ArrayLike<number>, shape: readonly number[]): Reference {
  const window = windowOf(spec);
  const values = new Float64Array(elementCount(shape));
  const indices = new Float64Array(elementCount(shape));
  const taps = elementCount(window.kernel);
  const image = elementCount(spec.x.slice(2));
  for (let index = 0; index < values.length; index++) {
    const [n = 0, c = 0, ...position] = coordinatesOf(index, shape);
    const base = (n * (spec.x[1] ?? 1) + c) * image;
    const found: { at: readonly number[]; value: number }[] = [];
    let counted = 0;
    for (let tap = 0; tap < taps; tap++) {
      const at = coordinatesOf(tap, window.kernel).map(
        (t, axis) =>
          (position[axis] ?? 0) * (window.strides[axis] ?? 1) -
          (window.padsBegin[axis] ?? 0) +
          t * (window.dilations[axis] ?? 1),
      );
      if (at.every((p, axis) => p < (spec.x[axis + 2] ?? 0) + (window.padsEnd[axis] ?? 0))) counted++;
      if (!at.every((p, axis) => p >= 0 && p < (spec.x[axis + 2] ?? 0))) continue;
      found.push({ at, value: x[base + flat(at, spec.x.slice(2))] ?? Number.NaN });
    }
    values[index] = reduced(
      spec,
      found.map(({ value }) => value),
      counted,
    );
    const first = found.find(({ value }) => value === values[index]);
    const order = spec.indices === "column-major" ? columnMajor : flat;
    indices[index] = base + (first === undefined ? 0 : order(first.at, spec.x.slice(2)));
  }
  return { values, indices };
}

function reduced(
  { kind, power = 2, countPads = false }: Spec,
  found: readonly number[],
  counted: number,
): number {
  const sum = (of: (x: number) => number) => found.reduce((total, x) => total + of(x), 0);
  if (kind === "max") return Math.max(...found);
  if (kind === "average") return sum((x) => x) / (countPads ? counted : found.length);
  return sum((x) => Math.abs(x) ** power) ** (1 / power);
}

function flat(at: readonly number[], sizes: readonly number[]): number {
  return at.reduce((total, position, axis) => total * (sizes[axis] ?? 1) + position, 0);
}

function columnMajor(at: readonly number[], sizes: readonly number[]): number {
  return flat(at.toReversed(), sizes.toReversed());
}

function outputShape(spec: Spec): number[] {
  const window = windowOf(spec);
  const whole = spec.x.slice(2).map((size, axis) => {
    const extent = ((spec.kernel[axis] ?? 1) - 1) * (window.dilations[axis] ?? 1) + 1;
    const padded = size + (window.padsBegin[axis] ?? 0) + (window.padsEnd[axis] ?? 0);
    return Math.floor((padded - extent) / (window.strides[axis] ?? 1)) + 1;
  });
  return [...spec.x.slice(0, 2), ...(spec.output ?? whole)];
}

function checkWindows(spec: Spec): KernelCase {
  return {
    name: `${spec.name}, ${spec.type}`,
    run(harness) {
      const { kind, type, layout = "nhwc", countPads = false, power = 2 } = spec;
      const shape = outputShape(spec);
      const x = input(harness, type, spec.x, layout);
      const to = output(harness, type, shape, layout);
      const indices = spec.indices && harness.output("int64", shape);
      emitPool(harness.emitter, {
        kind,
        x,
        to,
        indices,
        columnMajor: spec.indices === "column-major",
        ...windowOf(spec),
        countPads,
        power,
      });
      harness.execute();
      const reference = pooled(spec, harness.values(x), shape);
      const tolerance = kind === "max" ? exact : (tolerances[type] ?? exact);
      harness.expectClose(to, reference.values, tolerance, spec.name);
      if (indices !== undefined)
        harness.expectClose(indices, reference.indices, exact, `${spec.name}, indices`);
    },
  };
}

function checkWhole(spec: Omit<Spec, "kernel">): KernelCase {
  return {
    name: `${spec.name}, ${spec.type}`,
    run(harness) {
      const { kind, type, layout = "nhwc", power = 2 } = spec;
      const x = input(harness, type, spec.x, layout);
      const shape = spec.x.map((size, axis) => (axis < 2 ? size : 1));
      const to = output(harness, type, shape, layout);
      emitGlobalPool(harness.emitter, { kind, x, to, power });
      harness.execute();
      const reference = pooled({ ...spec, kernel: spec.x.slice(2) }, harness.values(x), shape);
      harness.expectClose(to, reference.values, tolerances[type] ?? exact, spec.name);
    },
  };
}

const halves = ["float16", "bfloat16"] as const;
const floats = [...halves, "float32"] as const;

/** Windows of one size and any, of channels that fill vectors of 16 and that do not. */
const codeSpecs: readonly Spec[] = (["int8", "uint8"] as const).flatMap((type): Spec[] => {
  const spec = { kind: "max", type } as const;
  const resnet = { kernel: [3, 3], strides: [2, 2], padsBegin: [1, 1], padsEnd: [1, 1] };
  return [
    { ...spec, ...resnet, name: "codes 3x3/2 of 64 channels", x: [2, 64, 30, 17] },
    { ...spec, ...resnet, name: "codes 3x3/2 of 24 channels", x: [2, 24, 30, 17] },
    { ...spec, name: "codes 2x2/2", x: [3, 16, 8, 10], kernel: [2, 2], strides: [2, 2] },
    { ...spec, name: "codes 5x3", x: [1, 48, 9, 11], kernel: [5, 3], padsBegin: [2, 1], padsEnd: [2, 1] },
    { ...spec, name: "codes 3x3 dilated", x: [1, 32, 9, 11], kernel: [3, 3], dilations: [2, 2] },
    { ...spec, name: "codes of volumes", x: [1, 16, 5, 6, 7], kernel: [2, 3, 2], strides: [2, 1, 2] },
    { ...spec, name: "codes along rows", x: [2, 32, 40], kernel: [4], strides: [3] },
  ];
});

const windowSpecs: readonly Spec[] = floats.flatMap((type) =>
  (["max", "average", "lp"] as const).flatMap((kind): Spec[] => {
    const spec = { kind, type };
    return [
      {
        ...spec,
        name: `${kind} 3x3 of stride 2`,
        x: [2, 24, 13, 14],
        kernel: [3, 3],
        strides: [2, 2],
        padsBegin: [1, 1],
        padsEnd: [1, 1],
      },
      {
        ...spec,
        name: `${kind} 2x2, planar`,
        x: [2, 5, 9, 8],
        kernel: [2, 2],
        strides: [2, 2],
        layout: "nchw",
      },
      { ...spec, name: `${kind} 2x3 of odd channels`, x: [2, 13, 9, 8], kernel: [2, 3] },
      {
        ...spec,
        name: `${kind} of a slice, dilated, more positions than whole windows`,
        x: [1, 16, 10, 11],
        kernel: [3, 2],
        strides: [2, 3],
        dilations: [2, 3],
        padsBegin: [2, 0],
        padsEnd: [1, 1],
        output: [5, 4],
        layout: "wide",
        countPads: true,
        power: 3,
      },
      {
        ...spec,
        name: `${kind} along one axis`,
        x: [2, 8, 40],
        kernel: [5],
        strides: [3],
        padsBegin: [2],
        padsEnd: [2],
      },
      {
        ...spec,
        name: `${kind} along three axes`,
        x: [1, 8, 5, 6, 7],
        kernel: [2, 3, 2],
        strides: [2, 1, 2],
        power: 1,
      },
    ];
  }),
);

const square = { kernel: [3, 3], strides: [2, 2], padsBegin: [1, 1], padsEnd: [1, 1] } as const;
/** Windows whose loads a thread has in flight at once, and what those leave to others: of channels that fill 16 bytes, and of pairs. */
const squareSpecs: readonly Spec[] = halves.flatMap((type) =>
  (["max", "average"] as const).flatMap((kind) =>
    [8, 2].flatMap((lanes): Spec[] => {
      const of = (name: string, channels: number, spec: Omit<Spec, "name" | "kind" | "type">): Spec => {
        const [batch = 1, ...axes] = spec.x;
        const own = lanes === 8 ? channels : channels - 2;
        return { ...spec, name: `${kind} ${name}, ${own} channels`, kind, type, x: [batch, own, ...axes] };
      };
      return [
        of("3x3 of stride 2, an even image", 64, { ...square, x: [3, 16, 12] }),
        of("3x3 of stride 1", 40, { ...square, x: [1, 7, 9], strides: [1, 1] }),
        of("3x3 that counts what is padded", 24, {
          ...square,
          x: [2, 7, 9],
          strides: [1, 1],
          countPads: true,
        }),
        of("3x3 of a slice", 16, { ...square, x: [2, 9, 7], layout: "wide" }),
        of("3x3 padded at its end alone", 8, { ...square, x: [2, 8, 8], padsBegin: [0, 0] }),
        of("3x3 of one pixel", 8, { ...square, x: [2, 1, 1] }),
        of("2x2", 32, { x: [2, 10, 14], kernel: [2, 2], strides: [2, 2] }),
        of("2x2, the last windows cut", 8, {
          ...{ x: [2, 7, 9], kernel: [2, 2], strides: [2, 2], padsEnd: [1, 1], output: [4, 5] },
        }),
        of("1x2x2 of volumes", 32, { x: [2, 5, 6, 8], kernel: [1, 2, 2], strides: [1, 2, 2] }),
        of("2x2x2 of volumes", 32, { x: [2, 5, 6, 8], kernel: [2, 2, 2], strides: [2, 2, 2] }),
        of("5x5", 16, { x: [2, 9, 11], kernel: [5, 5], padsBegin: [2, 2], padsEnd: [2, 2] }),
        of("3x6, dilated", 16, {
          x: [2, 9, 21],
          kernel: [3, 6],
          dilations: [1, 3],
          padsBegin: [1, 4],
          padsEnd: [0, 5],
        }),
      ];
    }),
  ),
);

const otherSpecs: readonly Spec[] = [
  ...(["int8", "uint8", "float64"] as const).map(
    (type): Spec => ({
      name: "max",
      kind: "max",
      type,
      x: [2, 7, 9, 8],
      kernel: [3, 3],
      padsBegin: [1, 1],
      padsEnd: [1, 1],
      layout: type === "uint8" ? "nhwc" : "nchw",
    }),
  ),
  { name: "average", kind: "average", type: "float64", x: [2, 7, 9, 8], kernel: [3, 3], layout: "nchw" },
  ...(["row-major", "column-major"] as const).flatMap((indices): Spec[] => [
    {
      name: `max with ${indices} indices`,
      kind: "max",
      type: "float32",
      x: [2, 3, 8, 9],
      kernel: [3, 3],
      strides: [2, 2],
      padsBegin: [1, 1],
      padsEnd: [1, 1],
      layout: "nchw",
      indices,
    },
    {
      name: `max with ${indices} indices, NHWC`,
      kind: "max",
      type: "float16",
      x: [1, 8, 4, 5, 6],
      kernel: [2, 2, 2],
      indices,
    },
  ]),
];

const wholeSpecs: readonly Omit<Spec, "kernel">[] = floats.flatMap((type) =>
  (["max", "average", "lp"] as const).flatMap((kind) => [
    { name: `${kind} of whole images`, kind, type, x: [3, 72, 7, 9] },
    { name: `${kind} of whole images, many channels`, kind, type, x: [2, 520, 3, 3] },
    { name: `${kind} of whole images, odd channels`, kind, type, x: [2, 37, 20, 21] },
    { name: `${kind} of whole images, planar`, kind, type, x: [2, 5, 30, 31], layout: "nchw" as const },
    { name: `${kind} of whole volumes`, kind, type, x: [1, 16, 4, 5, 6], layout: "wide" as const },
  ]),
);

const unpool: KernelCase = {
  name: "unpooling into a larger tensor",
  run(harness) {
    const x = harness.tensor("float16", [2, 3, 2, 2], { seed: 1 });
    const counted = [2, 3, 4, 4];
    // The position within each 2x2 window goes around.
    const at = Array.from({ length: 24 }, (_, index) => {
      const [n = 0, c = 0, h = 0, w = 0] = coordinatesOf(index, [2, 3, 2, 2]);
      return ((n * 3 + c) * 4 + 2 * h + (index % 2)) * 4 + 2 * w + (Math.floor(index / 2) % 2);
    });
    const indices = harness.tensor("int64", [2, 3, 2, 2], { values: at });
    const to = harness.output("float16", [2, 3, 5, 6]);
    emitUnpool(harness.emitter, { x, indices, to, counted });
    harness.execute();
    const expected = new Float64Array(2 * 3 * 5 * 6);
    for (const [index, position] of at.entries()) {
      const place = coordinatesOf(position, counted);
      expected[flat(place, [2, 3, 5, 6])] = harness.values(x)[index] ?? Number.NaN;
    }
    harness.expectClose(to, expected, exact, "unpooled");
  },
};

function bilinear(
  x: ArrayLike<number>,
  plane: number,
  [height, width]: readonly [number, number],
  y: number,
  at: number,
) {
  if (y < -1 || y > height || at < -1 || at > width) return [0, 0, 0, 0];
  const corner = (p: number, size: number) => {
    const low = Math.min(Math.floor(Math.max(p, 0)), size - 1);
    return { low, high: Math.min(low + 1, size - 1), part: low >= size - 1 ? 0 : Math.max(p, 0) - low };
  };
  const v = corner(y, height);
  const h = corner(at, width);
  const load = (row: number, column: number) => x[plane + row * width + column] ?? Number.NaN;
  return [
    (1 - v.part) * (1 - h.part) * load(v.low, h.low),
    (1 - v.part) * h.part * load(v.low, h.high),
    v.part * (1 - h.part) * load(v.high, h.low),
    v.part * h.part * load(v.high, h.high),
  ];
}

interface RoiSpec {
  readonly isMax: boolean;
  readonly sampling: number;
  readonly shift: number;
  readonly layout: Layout;
}

function roiAlign({ isMax, sampling, shift, layout }: RoiSpec): KernelCase {
  const name = `RoiAlign, ${isMax ? "max" : "average"} of ${sampling} points, shift ${shift}, ${layout}`;
  const regions = [1.5, 2, 9, 8.25, -2, -1, 4, 3, 6, 6, 6.2, 6.1, 0, 0, 13, 12];
  const batches = [0, 1, 1, 0];
  const [channels, height, width, rows, columns] = [6, 10, 11, 3, 2] as const;
  const scale = 0.75;
  return {
    name,
    run(harness) {
      const x = input(harness, "float32", [2, channels, height, width], layout);
      const to = output(harness, "float32", [4, channels, rows, columns], layout);
      emitRoiPool(harness.emitter, {
        entry: "pool_roi_align",
        x,
        regions: harness.tensor("float32", [4, 4], { values: regions }),
        batches: harness.tensor("int64", [4], { values: batches }),
        to,
        isMax,
        sampling,
        scale,
        shift,
        minOne: shift === 0,
      });
      harness.execute();
      const values = harness.values(x);
      const expected = Float64Array.from({ length: 4 * channels * rows * columns }, (_, index) => {
        const [region = 0, c = 0, row = 0, column = 0] = coordinatesOf(index, [4, channels, rows, columns]);
        const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = regions
          .slice(4 * region, 4 * region + 4)
          .map((v) => v * scale - shift);
        const least = shift === 0 ? 1 : Number.NEGATIVE_INFINITY;
        const [binHeight, binWidth] = [Math.max(y2 - y1, least) / rows, Math.max(x2 - x1, least) / columns];
        const [down, across] =
          sampling > 0 ? [sampling, sampling] : [Math.ceil(binHeight), Math.ceil(binWidth)];
        const plane = ((batches[region] ?? 0) * channels + c) * height * width;
        const points: number[][] = [];
        for (let i = 0; i < down; i++) {
          for (let j = 0; j < across; j++) {
            const y = y1 + row * binHeight + ((i + 0.5) * binHeight) / down;
            points.push(
              bilinear(
                values,
                plane,
                [height, width],
                y,
                x1 + column * binWidth + ((j + 0.5) * binWidth) / across,
              ),
            );
          }
        }
        if (isMax) return Math.max(...points.flat());
        return points.flat().reduce((total, each) => total + each, 0) / points.length;
      });
      harness.expectClose(to, expected, { relative: 1e-5, absolute: 1e-5 }, name);
    },
  };
}

const maxRoiPool: KernelCase = {
  name: "MaxRoiPool",
  run(harness) {
    const x = input(harness, "float16", [2, 5, 9, 10], "nchw");
    const regions = [0, 1, 2, 7, 6, 1, 0, 0, 9, 8, 1, 5, 5, 5, 5];
    const to = output(harness, "float16", [3, 5, 2, 3], "nchw");
    emitRoiPool(harness.emitter, {
      entry: "pool_max_roi",
      x,
      regions: harness.tensor("float32", [3, 5], { values: regions }),
      batches: undefined,
      to,
      isMax: true,
      sampling: 0,
      scale: 1,
      shift: 0,
      minOne: false,
    });
    harness.execute();
    const values = harness.values(x);
    const expected = Float64Array.from({ length: 3 * 5 * 2 * 3 }, (_, index) => {
      const [region = 0, c = 0, row = 0, column = 0] = coordinatesOf(index, [3, 5, 2, 3]);
      const [n = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0] = regions.slice(5 * region, 5 * region + 5);
      const range = (at: number, first: number, last: number, bins: number, size: number) => {
        const bin = Math.max(last - first + 1, 1) / bins;
        const limit = (p: number) => Math.min(Math.max(p + first, 0), size);
        return [limit(Math.floor(at * bin)), limit(Math.ceil((at + 1) * bin))] as const;
      };
      const [top, bottom] = range(row, y1, y2, 2, 9);
      const [left, right] = range(column, x1, x2, 3, 10);
      const found: number[] = [];
      for (let h = top; h < bottom; h++)
        for (let w = left; w < right; w++) found.push(values[((n * 5 + c) * 9 + h) * 10 + w] ?? Number.NaN);
      return found.length === 0 ? 0 : Math.max(...found);
    });
    harness.expectClose(to, expected, exact, "MaxRoiPool");
  },
};

export const cases: readonly KernelCase[] = [
  ...windowSpecs.map(checkWindows),
  ...codeSpecs.map(checkWindows),
  ...squareSpecs.map(checkWindows),
  ...otherSpecs.map(checkWindows),
  ...wholeSpecs.map(checkWhole),
  unpool,
  roiAlign({ isMax: false, sampling: 2, shift: 0.5, layout: "nchw" }),
  roiAlign({ isMax: false, sampling: 0, shift: 0, layout: "nhwc" }),
  roiAlign({ isMax: true, sampling: 2, shift: 0.5, layout: "nhwc" }),
  maxRoiPool,
];
