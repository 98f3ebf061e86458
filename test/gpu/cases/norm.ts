/** @file Normalizations and softmax on the GPU against loops in double precision. */

import type { FloatStorage, StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, expanded, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitAxesNorm, emitLrn } from "../../../cuda-runtime/kernels/norm/axes.ts";
import { emitSoftmax, type SoftmaxMode } from "../../../cuda-runtime/kernels/softmax/softmax.ts";
import { lowerGroups } from "../../../cuda-runtime/lower/normalization-groups.ts";
import { lowerRows } from "../../../cuda-runtime/lower/normalization-rows.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

const tolerances: Readonly<Record<string, Tolerance>> = {
  float32: { relative: 1e-5, absolute: 1e-5 },
  float16: { relative: 1.5e-3, absolute: 1e-3 },
  bfloat16: { relative: 1e-2, absolute: 1e-2 },
  float64: { relative: 1e-12, absolute: 1e-12 },
};

function toleranceOf(type: StorageType): Tolerance {
  return tolerances[type] ?? { relative: 0, absolute: 0 };
}

interface RowCase {
  readonly type: FloatStorage;
  readonly to?: FloatStorage;
  readonly shape: readonly number[];
  readonly first?: number;
  /** Axes of x in memory, outermost first. */
  readonly order?: readonly number[];
  /** Elements between rows beyond the packed ones. */
  readonly pitch?: number;
  /** A skip of this shape. */
  readonly skip?: readonly number[];
  readonly isRms?: boolean;
  readonly isBare?: boolean;
  readonly hasStatistics?: boolean;
}

function rowCase(each: RowCase): KernelCase {
  const {
    type,
    to = type,
    shape,
    first = shape.length - 1,
    order,
    pitch = 0,
    skip,
    isRms = false,
    isBare,
    hasStatistics,
  } = each;
  const flags = [
    to,
    order && `order ${order}`,
    pitch && `pitch ${pitch}`,
    skip && `skip ${skip}`,
    isRms && "rms",
    isBare && "bare",
    hasStatistics && "statistics",
  ];
  return {
    name: `rows ${type} ${shape.join("x")} from ${first} ${flags.filter(Boolean).join(" ")}`,
    run(harness) {
      const padded = shape.with(-1, (shape.at(-1) ?? 1) + pitch);
      const x = harness.tensor(type, shape, { strides: stridesOf(padded, order), seed: 3, scale: 3 });
      const inner = shape.slice(first);
      const [rows, cols] = [elementCount(shape.slice(0, first)), elementCount(inner)];
      const parameter = (seed: number) =>
        isBare ? undefined : harness.tensor("float32", inner, { seed, scale: 2 });
      const [scale, bias] = [parameter(4), isRms ? undefined : parameter(5)];
      const other = skip && harness.tensor(type, skip, { seed: 6, scale: 3 });
      const outputs: View[] = [];
      const output = (wanted?: readonly number[]) => {
        const view = harness.output(to, shape, wanted);
        outputs.push(view);
        return view;
      };
      const statistics = hasStatistics
        ? [harness.output("float32", [rows]), harness.output("float32", [rows])]
        : [];
      lowerRows(harness.emitter, {
        x,
        first,
        skip: other,
        scale,
        bias,
        isRms,
        epsilon: 1e-5,
        output,
        sum: skip && output,
        mean: statistics[0],
        invStd: statistics[1],
      });
      harness.execute();
      const values = harness.values(x);
      const added = other && harness.values(other);
      const [scales, biases] = [scale && harness.values(scale), bias && harness.values(bias)];
      const sums = values.map(
        (value, index) => value + (added === undefined ? 0 : (added[index % added.length] ?? Number.NaN)),
      );
      const [expected, means, deviations] = normalized(sums, rows, cols, isRms);
      for (let index = 0; index < expected.length; index++) {
        expected[index] =
          (expected[index] ?? 0) * (scales?.[index % cols] ?? 1) + (biases?.[index % cols] ?? 0);
      }
      const [y, sum] = outputs;
      if (y !== undefined) harness.expectClose(y, expected, toleranceOf(to), "normalized");
      if (sum !== undefined) harness.expectClose(sum, sums, toleranceOf(to), "sum");
      const [mean, invStd] = statistics;
      if (mean !== undefined) harness.expectClose(mean, means, toleranceOf("float32"), "mean");
      if (invStd !== undefined)
        harness.expectClose(invStd, deviations, toleranceOf("float32"), "inverse deviation");
    },
  };
}

function normalized(values: Float64Array, rows: number, cols: number, isRms: boolean, epsilon = 1e-5) {
  const out = new Float64Array(values.length);
  const means: number[] = [];
  const deviations: number[] = [];
  for (let row = 0; row < rows; row++) {
    const part = values.subarray(row * cols, (row + 1) * cols);
    const mean = isRms ? 0 : part.reduce((total, x) => total + x, 0) / cols;
    const variance = part.reduce((total, x) => total + (x - mean) ** 2, 0) / cols;
    const inverse = 1 / Math.sqrt(variance + epsilon);
    for (const [index, x] of part.entries()) out[row * cols + index] = (x - mean) * inverse;
    means.push(mean);
    deviations.push(inverse);
  }
  return [out, means, deviations] as const;
}

interface GroupCase {
  readonly type: FloatStorage;
  readonly to?: FloatStorage;
  readonly shape: readonly number[];
  readonly groups: number;
  readonly isChannelsLast?: boolean;
  readonly isSilu?: boolean;
  readonly isParameterPerGroup?: boolean;
  /** Added to all of x. */
  readonly shift?: number;
  /** Whose channels have an addend, in memory of more channels. */
  readonly addend?: "each sample" | "all samples";
}

/** [samples, channels] of wider rows. */
function channelsIn(
  harness: Harness,
  type: FloatStorage,
  [samples, channels]: readonly [number, number],
): View {
  return harness.tensor(type, [samples, channels], { seed: 10, scale: 2, strides: [channels + 24, 1] });
}

function groupCase(each: GroupCase): KernelCase {
  const {
    type,
    to = type,
    shape,
    groups,
    isChannelsLast = false,
    isSilu = false,
    isParameterPerGroup = false,
    shift = 0,
    addend,
  } = each;
  const flags = [
    to,
    isChannelsLast && "nhwc",
    isSilu && "silu",
    isParameterPerGroup && "per group",
    shift && `shift ${shift}`,
    addend && `addend of ${addend}`,
  ];
  return {
    name: `groups ${type} ${shape.join("x")} of ${groups} ${flags.filter(Boolean).join(" ")}`,
    run(harness) {
      const [samples = 1, channels = 1, ...spatial] = shape;
      const positions = elementCount(spatial);
      const axes = [...shape.keys()];
      const order = isChannelsLast ? [0, ...axes.slice(2), 1] : axes;
      const drawn = harness.values(harness.tensor("float32", shape, { seed: 7, scale: 2 }));
      const x = harness.tensor(type, shape, {
        strides: stridesOf(shape, order),
        values: drawn.map((value) => value + shift),
      });
      const added = addend && channelsIn(harness, type, [addend === "all samples" ? 1 : samples, channels]);
      const count = isParameterPerGroup ? groups : channels;
      const [scale, bias] = [8, 9].map((seed) => harness.tensor("float32", [count], { seed, scale: 2 }));
      const outputs: View[] = [];
      lowerGroups(harness.emitter, {
        x: () => x,
        sum: added && { x, addend: expanded(added, [samples, channels]) },
        groups,
        scale,
        bias,
        isParameterPerGroup,
        epsilon: 1e-5,
        isSilu,
        output: (wanted) => {
          const view = harness.output(to, shape, wanted);
          outputs.push(view);
          return view;
        },
      });
      harness.execute();
      // A group's elements follow each other in row-major order.
      const cols = (channels / groups) * positions;
      const sums = harness.values(x);
      if (added !== undefined) {
        const addends = harness.values(expanded(added, [samples, channels]));
        for (let index = 0; index < sums.length; index++)
          sums[index] = (sums[index] ?? 0) + (addends[Math.floor(index / positions)] ?? 0);
      }
      const [expected] = normalized(sums, samples * groups, cols, false);
      const [scales, biases] = [scale && harness.values(scale), bias && harness.values(bias)];
      for (let index = 0; index < expected.length; index++) {
        const channel = Math.floor(index / positions) % channels;
        const parameter = isParameterPerGroup ? Math.floor(channel / (channels / groups)) : channel;
        const y = (expected[index] ?? 0) * (scales?.[parameter] ?? 0) + (biases?.[parameter] ?? 0);
        expected[index] = isSilu ? y / (1 + Math.exp(-y)) : y;
      }
      const tolerance = toleranceOf(to);
      const [y] = outputs;
      if (y !== undefined)
        harness.expectClose(
          y,
          expected,
          { ...tolerance, absolute: tolerance.absolute * (1 + Math.abs(shift)) },
          "normalized",
        );
    },
  };
}

interface SoftmaxCase {
  readonly type: FloatStorage | "float64";
  readonly to?: FloatStorage;
  readonly shape: readonly number[];
  readonly axis?: number;
  readonly order?: readonly number[];
  readonly mode?: SoftmaxMode;
  readonly scale?: number;
}

function softmaxCase(each: SoftmaxCase): KernelCase {
  const { type, to = type, shape, axis = shape.length - 1, order, mode = "softmax", scale = 8 } = each;
  return {
    name: `${mode} ${type} ${shape.join("x")} over ${axis} ${order === undefined ? "" : `order ${order} `}${to}`,
    run(harness) {
      const x = harness.tensor(type, shape, { strides: stridesOf(shape, order), seed: 10, scale });
      const y = harness.output(to, shape, order);
      emitSoftmax(harness.emitter, { x, y, axis, mode });
      harness.execute();
      harness.expectClose(
        y,
        softmaxOf(harness.values(x), shape, axis, mode),
        softmaxTolerance(to, mode),
        mode,
      );
    },
  };
}

function softmaxTolerance(type: StorageType, mode: SoftmaxMode): Tolerance {
  const { relative, absolute } = toleranceOf(type);
  return mode === "softmax" ? { relative, absolute: absolute / 100 } : { relative, absolute };
}

function softmaxOf(
  values: Float64Array,
  shape: readonly number[],
  axis: number,
  mode: SoftmaxMode,
): Float64Array {
  const length = shape[axis] ?? 1;
  const stride = elementCount(shape.slice(axis + 1));
  const out = new Float64Array(values.length);
  for (let start = 0; start < values.length; start++) {
    if (Math.floor(start / stride) % length !== 0) continue;
    const row = Array.from({ length }, (_, index) => values[start + index * stride] ?? Number.NaN);
    const maximum = row.reduce((a, b) => Math.max(a, b));
    const total = row.reduce((sum, x) => sum + Math.exp(x - maximum), 0);
    const hot = row.indexOf(maximum);
    for (const [index, x] of row.entries()) {
      const soft = mode === "softmax" ? Math.exp(x - maximum) / total : x - maximum - Math.log(total);
      out[start + index * stride] = mode === "hardmax" ? Number(index === hot) : soft;
    }
  }
  return out;
}

function axesCase(
  type: FloatStorage,
  shape: readonly number[],
  axes: readonly number[],
  mode: "meanVariance" | "l1" | "l2",
): KernelCase {
  return {
    name: `${mode} ${type} ${shape.join("x")} over ${axes.join(",")}`,
    run(harness) {
      const x = harness.tensor(type, shape, { seed: 11, scale: 3 });
      const y = harness.output(type, shape);
      emitAxesNorm(harness.emitter, { x, y, axes: new Set(axes), mode });
      harness.execute();
      const values = harness.values(x);
      const strides = stridesOf(shape);
      const keyOf = (index: number) =>
        shape
          .map((size, axis) => (axes.includes(axis) ? 0 : Math.floor(index / (strides[axis] ?? 1)) % size))
          .join(",");
      const rows = new Map<string, number[]>();
      for (const [index, value] of values.entries())
        rows.set(keyOf(index), [...(rows.get(keyOf(index)) ?? []), value]);
      const expected = values.map((value, index) => {
        const row = rows.get(keyOf(index)) ?? [];
        const sum = (f: (each: number) => number) => row.reduce((total, each) => total + f(each), 0);
        if (mode === "l1") return value / sum(Math.abs);
        if (mode === "l2") return value / Math.sqrt(sum((each) => each * each));
        const mean = sum((each) => each) / row.length;
        return (value - mean) / (Math.sqrt(sum((each) => (each - mean) ** 2) / row.length) + 1e-9);
      });
      harness.expectClose(y, expected, toleranceOf(type), mode);
    },
  };
}

function lrnCase(type: FloatStorage, size: number, order: readonly number[]): KernelCase {
  const shape = [2, 7, 15];
  const [alpha, beta, bias] = [0.3, 0.75, 1.5];
  return {
    name: `lrn ${type} window ${size} order ${order}`,
    run(harness) {
      const x = harness.tensor(type, shape, { strides: stridesOf(shape, order), seed: 12, scale: 3 });
      const y = harness.output(type, shape, order);
      emitLrn(harness.emitter, { x, y, size, alpha, beta, bias });
      harness.execute();
      const values = harness.values(x);
      const expected = values.map((value, index) => {
        const channel = Math.floor(index / 15) % 7;
        let squares = 0;
        for (let c = channel - Math.floor((size - 1) / 2); c <= channel + Math.ceil((size - 1) / 2); c++) {
          if (c >= 0 && c < 7) squares += (values[index + (c - channel) * 15] ?? 0) ** 2;
        }
        return value / (bias + (alpha / size) * squares) ** beta;
      });
      harness.expectClose(y, expected, toleranceOf(type), "normalized");
    },
  };
}

const halves = ["float16", "bfloat16", "float32"] as const;

function emptyCase(): KernelCase {
  return {
    name: "nothing to normalize",
    run(harness: Harness) {
      const x = harness.tensor("float32", [0, 8]);
      const y = harness.output("float32", [0, 8]);
      emitSoftmax(harness.emitter, { x, y, axis: 1, mode: "softmax" });
      harness.execute();
      if (harness.read(y).length !== 0) throw new Error("an empty tensor has elements");
    },
  };
}

export const cases: readonly KernelCase[] = [
  // Every form of the row kernels, both widths, all types: few rows and many.
  ...halves.flatMap((type) =>
    [8, 7, 64, 97, 197, 200, 256, 300, 301, 384, 768, 1000, 1001, 1024, 1536, 3000, 8200].flatMap((cols) => [
      rowCase({ type, shape: [5, cols] }),
      ...(cols <= 1536 ? [rowCase({ type, shape: [1103, cols], isRms: cols % 3 === 0 })] : []),
    ]),
  ),
  ...[13000, 16384, 20001].map((cols) => rowCase({ type: "float16", shape: [3, cols], hasStatistics: true })),
  rowCase({ type: "float32", shape: [2, 600, 4096] }),
  rowCase({ type: "float16", shape: [2, 3, 5, 64], first: 2, hasStatistics: true }),
  rowCase({ type: "float16", shape: [2, 6, 5, 64], order: [1, 0, 2, 3] }),
  rowCase({ type: "float16", shape: [2, 48, 5, 6], first: 2, order: [0, 2, 3, 1] }),
  rowCase({ type: "float16", shape: [40, 96], pitch: 8 }),
  rowCase({ type: "float16", shape: [40, 96], pitch: 3 }),
  rowCase({ type: "float16", to: "float32", shape: [40, 96] }),
  rowCase({ type: "float32", to: "bfloat16", shape: [40, 97] }),
  rowCase({ type: "bfloat16", shape: [2, 20, 96], skip: [2, 20, 96] }),
  rowCase({ type: "float16", shape: [3, 20, 96], skip: [1, 20, 96] }),
  rowCase({ type: "float16", shape: [3, 20, 97], skip: [20, 97], isRms: true }),
  rowCase({ type: "float16", shape: [3, 20, 97], skip: [3, 20, 97] }),
  rowCase({ type: "bfloat16", shape: [4, 9001], skip: [4, 9001] }),
  rowCase({ type: "float32", shape: [3, 7], isBare: true, isRms: true }),
  ...halves.flatMap((type) =>
    [false, true].flatMap((isChannelsLast) => [
      groupCase({ type, shape: [2, 32, 8, 8], groups: 4, isChannelsLast, isSilu: true }),
      groupCase({ type, shape: [2, 40, 7, 5], groups: 4, isChannelsLast }),
      groupCase({ type, shape: [3, 9, 11], groups: 3, isChannelsLast }),
      groupCase({ type, shape: [1, 64, 48, 48], groups: 2, isChannelsLast, isSilu: true }),
      groupCase({ type, shape: [2, 6, 33, 31], groups: 6, isChannelsLast }),
      groupCase({ type, shape: [1, 20, 61, 67], groups: 2, isChannelsLast }),
    ]),
  ),
  // Slabs of innermost channels: groups of every size against runs of eight, of one block and of several.
  ...[1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 20, 36, 40].flatMap((size) =>
    [37, 700].map((positions) =>
      groupCase({
        ...({ type: halves[size % halves.length] ?? "float16", shape: [2, 8 * size, positions] } as const),
        ...{ groups: 8, isChannelsLast: true, isSilu: size % 2 === 0 },
      }),
    ),
  ),
  groupCase({ type: "float16", shape: [1, 2560, 50], groups: 1, isChannelsLast: true }),
  // Whole, in clusters, twice; of two groups a run and of up to eight.
  ...(["each sample", "all samples"] as const).flatMap((addend) =>
    (
      [
        ["float16", [2, 384, 8, 8], 32],
        ["float16", [2, 192, 16, 16], 32],
        ["float16", [3, 320, 64, 64], 32],
        ["bfloat16", [2, 48, 64, 64], 16],
        ["float32", [2, 96, 32, 32], 32],
        ["float16", [2, 64, 128, 128], 32],
      ] as const
    ).map(([type, shape, groups]) =>
      groupCase({ type, shape, groups, isChannelsLast: true, isSilu: true, addend }),
    ),
  ),
  groupCase({
    type: "float16",
    shape: [3, 72, 30],
    groups: 6,
    isParameterPerGroup: true,
    isChannelsLast: true,
  }),
  groupCase({ type: "float16", to: "float32", shape: [2, 48, 900], groups: 4, isChannelsLast: true }),
  groupCase({ type: "float32", shape: [2, 24, 5000], groups: 3, shift: 1000, isChannelsLast: true }),
  groupCase({ type: "float16", shape: [2, 12, 9], groups: 3, isParameterPerGroup: true }),
  groupCase({ type: "float16", to: "float32", shape: [2, 12, 9], groups: 3, isChannelsLast: true }),
  groupCase({ type: "float32", shape: [2, 12, 40, 40], groups: 3, shift: 1000 }),
  groupCase({ type: "float32", shape: [2, 12], groups: 3 }),
  groupCase({ type: "float32", shape: [1, 1, 9], groups: 1, isChannelsLast: true }),
  ...halves.flatMap((type) =>
    [7, 64, 97, 100, 197, 256, 301, 500, 512, 1001, 1024, 2048, 5000, 20_003].flatMap((cols) => [
      softmaxCase({ type, shape: [6, cols] }),
      ...(cols <= 1024 ? [softmaxCase({ type, shape: [1103, cols] })] : []),
    ]),
  ),
  softmaxCase({ type: "float16", shape: [3, 33_001] }),
  softmaxCase({ type: "bfloat16", shape: [3, 70_001], mode: "logSoftmax" }),
  softmaxCase({ type: "float16", shape: [5, 20_001], mode: "hardmax", scale: 1 }),
  softmaxCase({ type: "float16", shape: [50, 99], mode: "hardmax", scale: 1 }),
  softmaxCase({ type: "float32", shape: [2, 30522], mode: "logSoftmax" }),
  softmaxCase({ type: "float32", shape: [3, 17000], mode: "hardmax", scale: 1 }),
  ...(["softmax", "logSoftmax", "hardmax"] as const).flatMap((mode) => [
    softmaxCase({ type: "float32", shape: [4, 5, 6], axis: 1, mode }),
    softmaxCase({ type: "float16", shape: [4, 5, 6], axis: 0, mode }),
    softmaxCase({ type: "float64", shape: [4, 5, 6], axis: 2, mode }),
    softmaxCase({ type: "float16", shape: [9, 40], mode, scale: 1 }),
  ]),
  softmaxCase({ type: "float16", shape: [2, 21, 9, 9], axis: 1, order: [0, 2, 3, 1] }),
  softmaxCase({ type: "float16", shape: [2, 21, 9, 9], axis: 1 }),
  softmaxCase({ type: "float16", to: "float32", shape: [9, 40] }),
  axesCase("float32", [3, 4, 5, 2], [0, 2, 3], "meanVariance"),
  axesCase("float16", [3, 4, 5], [1], "meanVariance"),
  axesCase("float32", [3, 4, 5], [1], "l1"),
  axesCase("bfloat16", [3, 400], [1], "l2"),
  lrnCase("float32", 3, [0, 1, 2]),
  lrnCase("float16", 4, [0, 2, 1]),
  emptyCase(),
];
