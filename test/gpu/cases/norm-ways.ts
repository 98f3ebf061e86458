/** @file Every way that the kernels have of normalizing the same groups or rows, whichever the plan would take. */

import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitGroupNorm } from "../../../cuda-runtime/kernels/norm/group.ts";
import { emitRowNorm } from "../../../cuda-runtime/kernels/norm/norm.ts";
import type { RowLaunch } from "../../../cuda-runtime/kernels/norm/rows.ts";
import { slabText } from "../../../cuda-runtime/kernels/norm/slabs.ts";
import { emitSoftmax } from "../../../cuda-runtime/kernels/softmax/softmax.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

const tolerances: Readonly<Record<FloatStorage, Tolerance>> = {
  float32: { relative: 1e-5, absolute: 1e-5 },
  float16: { relative: 1.5e-3, absolute: 1e-3 },
  bfloat16: { relative: 1e-2, absolute: 1e-2 },
};

type Accepts = (way: string) => boolean;

/** Takes all ways one after another, each into memory of its own. */
function inEveryWay(
  harness: Harness,
  emit: (emitter: Emitter, y: View, accepts: Accepts) => void,
  output: () => View,
  check: (y: View, way: string) => void,
): void {
  const names = new Set<string>();
  const quiet = { ...harness.emitter, launch: () => {} };
  emit(quiet, output(), (way) => names.add(way).has(way));
  if (names.size === 0) throw new Error("there is no way");
  for (const name of names) {
    const y = output();
    emit(harness.emitter, y, (way) => way === name);
    harness.execute();
    check(y, name);
  }
}

interface GroupsCase {
  readonly type: FloatStorage;
  readonly to?: FloatStorage;
  /** Samples, positions, channels. */
  readonly shape: readonly [number, number, number];
  readonly groups: number;
  readonly isSilu?: boolean;
  readonly shift?: number;
}

function groupsCase({ type, to = type, shape, groups, isSilu = false, shift = 0 }: GroupsCase): KernelCase {
  const [samples, positions, channels] = shape;
  const flags = [to, isSilu && "silu", shift && `shift ${shift}`].filter(Boolean).join(" ");
  return {
    name: `groups ${type} ${shape.join("x")} of ${groups} ${flags}`,
    run(harness) {
      const drawn = harness.values(harness.tensor("float32", shape, { seed: 21, scale: 2 }));
      const x = harness.tensor(type, shape, { values: drawn.map((value) => value + shift) });
      const [scale, bias] = [22, 23].map((seed) => harness.tensor("float32", [channels], { seed, scale: 2 }));
      const values = harness.values(x);
      const expected = new Float64Array(values.length);
      const [scales, biases] = [scale && harness.values(scale), bias && harness.values(bias)];
      const ofGroup = channels / groups;
      for (let group = 0; group < samples * groups; group++) {
        const [sample, first] = [Math.floor(group / groups), (group % groups) * ofGroup];
        const at = (i: number) =>
          (sample * positions + Math.floor(i / ofGroup)) * channels + first + (i % ofGroup);
        const count = ofGroup * positions;
        const [mean, inverse] = momentsOf(count, (i) => values[at(i)] ?? Number.NaN);
        for (let i = 0; i < count; i++) {
          const channel = first + (i % ofGroup);
          const y =
            ((values[at(i)] ?? Number.NaN) - mean) * inverse * (scales?.[channel] ?? 0) +
            (biases?.[channel] ?? 0);
          expected[at(i)] = isSilu ? y / (1 + Math.exp(-y)) : y;
        }
      }
      const order = [0, 2, 1];
      const rest = { groups, scale, bias, isParameterPerGroup: false, epsilon: 1e-5, isSilu };
      const { relative, absolute } = tolerances[to];
      inEveryWay(
        harness,
        (emitter, y, accepts) =>
          emitGroupNorm(emitter, { ...rest, x: permuted(x, order), y: permuted(y, order) }, (choice) =>
            accepts(`${choice.way} ${slabText(choice)}`),
          ),
        () => harness.output(to, shape),
        (y, way) =>
          harness.expectClose(y, expected, { relative, absolute: absolute * (1 + Math.abs(shift)) }, way),
      );
    },
  };
}

function momentsOf(count: number, at: (index: number) => number): readonly [mean: number, inverse: number] {
  let [sum, squares] = [0, 0];
  for (let i = 0; i < count; i++) sum += at(i);
  const mean = sum / count;
  for (let i = 0; i < count; i++) squares += (at(i) - mean) ** 2;
  return [mean, 1 / Math.sqrt(squares / count + 1e-5)];
}

function wayOf({ entry, block }: RowLaunch): string {
  return `${entry} of ${block[0] * block[1]} threads`;
}

function softmaxCase(
  type: FloatStorage,
  rows: number,
  cols: number,
  mode: "softmax" | "logSoftmax" = "softmax",
): KernelCase {
  return {
    name: `${mode} ${type} ${rows}x${cols}`,
    run(harness) {
      const x = harness.tensor(type, [rows, cols], { seed: 24, scale: 8 });
      const values = harness.values(x);
      const expected = new Float64Array(values.length);
      for (let start = 0; start < values.length; start += cols) {
        const row = values.subarray(start, start + cols);
        const maximum = row.reduce((a, b) => Math.max(a, b));
        const total = row.reduce((sum, each) => sum + Math.exp(each - maximum), 0);
        for (const [index, each] of row.entries()) {
          const log = each - maximum - Math.log(total);
          expected[start + index] = mode === "softmax" ? Math.exp(log) : log;
        }
      }
      const { relative, absolute } = tolerances[type];
      inEveryWay(
        harness,
        (emitter, y, accepts) =>
          emitSoftmax(emitter, { x, y, axis: 1, mode }, (launch) => accepts(wayOf(launch))),
        () => harness.output(type, [rows, cols]),
        (y, way) =>
          harness.expectClose(
            y,
            expected,
            { relative, absolute: mode === "softmax" ? absolute / 100 : absolute },
            way,
          ),
      );
    },
  };
}

interface RowsCase {
  readonly type: FloatStorage;
  readonly to?: FloatStorage;
  readonly rows: number;
  readonly cols: number;
  readonly isRms?: boolean;
  readonly isBare?: boolean;
}

function rowsCase({ type, to = type, rows, cols, isRms = false, isBare = false }: RowsCase): KernelCase {
  return {
    name: `rows ${type} ${rows}x${cols} ${[to, isRms && "rms", isBare && "bare"].filter(Boolean).join(" ")}`,
    run(harness) {
      const x = harness.tensor(type, [rows, cols], { seed: 25, scale: 3 });
      const parameter = (seed: number) =>
        isBare ? undefined : harness.tensor("float32", [cols], { seed, scale: 2 });
      const [scale, bias] = [parameter(26), isRms ? undefined : parameter(27)];
      const [scales, biases] = [scale && harness.values(scale), bias && harness.values(bias)];
      const values = harness.values(x);
      const [means, inverses] = [new Float64Array(rows), new Float64Array(rows)];
      const expected = new Float64Array(values.length);
      for (let row = 0; row < rows; row++) {
        const part = values.subarray(row * cols, (row + 1) * cols);
        const [mean, inverse] = isRms
          ? [0, 1 / Math.sqrt(part.reduce((sum, each) => sum + each * each, 0) / cols + 1e-5)]
          : momentsOf(cols, (i) => part[i] ?? Number.NaN);
        means[row] = mean;
        inverses[row] = inverse;
        for (const [col, each] of part.entries())
          expected[row * cols + col] = (each - mean) * inverse * (scales?.[col] ?? 1) + (biases?.[col] ?? 0);
      }
      const statistics = ["float32", "float32"].map(() => harness.output("float32", [rows]));
      const [mean, invStd] = statistics;
      inEveryWay(
        harness,
        (emitter, y, accepts) =>
          emitRowNorm(emitter, { x, y, scale, bias, mean, invStd, isRms, epsilon: 1e-5 }, (launch) =>
            accepts(wayOf(launch)),
          ),
        () => harness.output(to, [rows, cols]),
        (y, way) => {
          harness.expectClose(y, expected, tolerances[to], way);
          if (mean !== undefined) harness.expectClose(mean, means, tolerances.float32, `${way}: means`);
          if (invStd !== undefined)
            harness.expectClose(invStd, inverses, tolerances.float32, `${way}: inverse deviations`);
        },
      );
    },
  };
}

const types = ["float16", "bfloat16", "float32"] as const;

export const cases: readonly KernelCase[] = [
  // Groups of every size against runs of eight; positions that blocks of a cluster do not share evenly, or some have none of.
  ...[1, 2, 3, 4, 5, 7, 10, 12, 20, 40].flatMap((size, index) =>
    [259, 1031, 4099].map((positions, other) =>
      groupsCase({
        type: types[(index + other) % types.length] ?? "float16",
        shape: [2, positions, 8 * size],
        groups: 8,
        isSilu: (index + other) % 2 === 0,
      }),
    ),
  ),
  ...types.map((type) => groupsCase({ type, shape: [3, 1500, 320], groups: 32, isSilu: true })),
  groupsCase({ type: "float16", shape: [1, 16_387, 64], groups: 32, isSilu: true }),
  groupsCase({ type: "bfloat16", shape: [1, 16_387, 128], groups: 32 }),
  groupsCase({ type: "float16", to: "float32", shape: [2, 2001, 48], groups: 4 }),
  groupsCase({ type: "float32", to: "bfloat16", shape: [2, 700, 48], groups: 4, isSilu: true }),
  groupsCase({ type: "float32", shape: [2, 5000, 24], groups: 3, shift: 1000 }),
  groupsCase({ type: "float16", shape: [5, 64, 1280], groups: 32, isSilu: true }),
  // Rows packed in shared memory: lengths up to a form's and one more, rows that are no multiple of a block's.
  ...types.flatMap((type) =>
    [3, 9, 49, 64, 65, 96, 128, 129, 197, 224, 225, 256, 257, 511, 512].map((cols) =>
      softmaxCase(type, 1 + ((37 * cols) % 91), cols, cols % 2 === 0 ? "softmax" : "logSoftmax"),
    ),
  ),
  ...types.map((type) => softmaxCase(type, 1103, 197)),
  ...types.map((type) => softmaxCase(type, 803, 49)),
  // Long rows kept there.
  ...types.flatMap((type) => [
    softmaxCase(type, 3, 8200),
    softmaxCase(type, 3, 16_008),
    softmaxCase(type, 5, 4104, "logSoftmax"),
  ]),
  softmaxCase("float16", 3, 50_257),
  softmaxCase("bfloat16", 3, 36_864, "logSoftmax"),
  // Blocks that stay: lengths that fill threads and that do not, rows that blocks do not share evenly.
  ...types.flatMap((type) => [
    rowsCase({ type, rows: 3001, cols: 1024 }),
    rowsCase({ type, rows: 2203, cols: 1000, isRms: true }),
    rowsCase({ type, rows: 551, cols: 4096 }),
  ]),
  rowsCase({ type: "float16", rows: 601, cols: 5000, isBare: true }),
  rowsCase({ type: "bfloat16", rows: 307, cols: 8192 }),
  rowsCase({ type: "float16", rows: 301, cols: 12_288 }),
  rowsCase({ type: "bfloat16", rows: 290, cols: 16_000, isRms: true }),
  rowsCase({ type: "float16", to: "float32", rows: 601, cols: 2056 }),
  rowsCase({ type: "float32", to: "float16", rows: 601, cols: 2056 }),
  rowsCase({ type: "float16", rows: 5000, cols: 96 }),
];
