/** @file Parameters against the structs of the kernels, walks, and tables of taps. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { stridesOf } from "../../../cuda-runtime/ir/view.ts";
import { emitGather } from "../../../cuda-runtime/kernels/movement/gather.ts";
import { emitScatter, emitScatterReduce } from "../../../cuda-runtime/kernels/movement/scatter.ts";
import { emitSelect } from "../../../cuda-runtime/kernels/movement/select.ts";
import {
  collapsed,
  divisorOf,
  type WalkAxis,
  walkOver,
} from "../../../cuda-runtime/kernels/movement/walk.ts";
import { emitRecurrent } from "../../../cuda-runtime/kernels/recurrent/recurrent.ts";
import { emitCol2Im } from "../../../cuda-runtime/kernels/resize/col2im.ts";
import { emitGridSample } from "../../../cuda-runtime/kernels/resize/grid-sample.ts";
import { emitResize } from "../../../cuda-runtime/kernels/resize/resize.ts";
import { type Filter, nearestTable, tapTable } from "../../../cuda-runtime/kernels/resize/taps.ts";
import { attributesOf, Machine, MachineContext, nodeOf } from "../lower/movement-machine.ts";

function recorder(): MachineContext {
  const machine = new Machine({ run: () => undefined });
  return new MachineContext(machine, {
    ...{ opset: 21, inputs: [], outputs: [] },
    attributes: attributesOf({}),
    node: nodeOf("Test"),
  });
}

/** Sizes of parameter structs by name, as the compiler asserts them. */
function structSizes(family: string): Map<string, number> {
  const source = readFileSync(
    new URL(`../../../cuda-runtime/kernels/${family}/params.generated.cuh`, import.meta.url),
    "utf8",
  );
  const asserted = source.matchAll(/static_assert\(sizeof\((\w+)\) == (\d+)/g);
  return new Map([...asserted].map(([, name = "", size]) => [name, Number(size)]));
}

/** Entries that a family has: written out, or by its macros. */
function hasEntry({ kernel }: Launch): boolean {
  if (kernel.kind !== "built") return false;
  const source = readFileSync(
    new URL(`../../../cuda-runtime/kernels/${kernel.family}/${kernel.family}.cu`, import.meta.url),
    "utf8",
  );
  return kernel.entry.split("_").every((part) => source.includes(part.replace(/\d+$/, "")));
}

describe("parameters have the size of the kernels' structs", () => {
  const movement = structSizes("movement");
  const resize = structSizes("resize");

  const rows: readonly [name: string, size: number | undefined, emit: (context: MachineContext) => void][] = [
    [
      "SelectParams",
      movement.get("SelectParams"),
      (context) => {
        const from = context.temporary("float32", [2, 3]);
        const to = context.temporary("float32", [2, 4]);
        emitSelect(context, { from, to, tables: [undefined, [0, 1, 2, -1]], fill: undefined });
      },
    ],
    [
      "GatherParams",
      movement.get("GatherParams"),
      (context) => {
        const from = context.temporary("float16", [5, 8]);
        const to = context.temporary("float16", [3, 8]);
        const indices = context.constant("int64", [3], [0, 4, -1]);
        const lookup = [{ size: 5, stride: 8 }];
        const request = { from, to, indices, lookup, depthStride: 0 };
        emitGather(context, { ...request, fromStrides: [0, 1], indexStrides: [1, 0] });
      },
    ],
    [
      "ScatterParams",
      movement.get("ScatterParams"),
      (context) => emitScatter(context, { ...scatterRequest(context), isDistinct: false }),
    ],
    [
      "ScatterReduceParams",
      movement.get("ScatterReduceParams"),
      (context) => emitScatterReduce(context, { ...scatterRequest(context), reduction: "add", along: 0 }),
    ],
    [
      "ScatterRowsParams",
      movement.get("ScatterRowsParams"),
      (context) => {
        const request = scatterRequest(context);
        const updates = context.temporary("int64", [100, 8]);
        emitScatterReduce(context, { ...request, updates, reduction: "max", along: 0 });
      },
    ],
    [
      "TapsParams",
      resize.get("TapsParams"),
      (context) => {
        const from = context.temporary("float16", [1, 8, 4]);
        const to = context.temporary("float16", [1, 8, 9]);
        const axis = { size: 4, outputSize: 9, scale: 9 / 4, region: [0, 1] } as const;
        emitResize(context, {
          from,
          to,
          tables: [undefined, undefined, tapTable(axis, plain)],
          extrapolation: 0,
        });
      },
    ],
    [
      "GridSampleParams",
      resize.get("GridSampleParams"),
      (context) =>
        emitGridSample(context, {
          x: context.temporary("float32", [1, 2, 4, 5]),
          grid: context.temporary("float32", [1, 3, 3, 2]),
          y: context.temporary("float32", [1, 2, 3, 3]),
          ...{ mode: "linear", padding: "zeros", alignCorners: false },
        }),
    ],
    [
      "Col2ImParams",
      resize.get("Col2ImParams"),
      (context) =>
        emitCol2Im(context, {
          columns: context.temporary("float32", [1, 4, 4]),
          image: context.temporary("float32", [1, 1, 3, 3]),
          ...{ block: [2, 2], dilations: [1, 1], begins: [0, 0], strides: [1, 1], windows: [2, 2] },
        }),
    ],
    [
      "RecurrentParams",
      structSizes("recurrent").get("RecurrentParams"),
      (context) => {
        recurrence(context, "float16", 20);
        recurrence(context, "float16", 600);
      },
    ],
  ];

  test.each(rows)("%s", (_name, size, emit) => {
    const context = recorder();
    emit(context);
    expect(context.launches.length).toBeGreaterThan(0);
    for (const launch of context.launches) {
      expect(launch.params.bytes.length).toBe(size);
      expect(hasEntry(launch)).toBe(true);
    }
  });
});

function scatterRequest(context: MachineContext) {
  const updates = context.temporary("float32", [3, 8]);
  const to = context.temporary("float32", [5, 8]);
  const indices = context.constant("int32", [3, 1], [0, 4, 4]);
  return {
    ...{ updates, to, indices, indexStrides: [1, 0], toStrides: [0, 1], depthStride: 1 },
    lookup: [{ size: 5, stride: 8 }],
  };
}

function recurrence(context: MachineContext, type: FloatStorage, hidden: number): void {
  const state = () => context.temporary("float32", [1, 2, hidden]);
  emitRecurrent(context, {
    ...{ cell: "gruReset", steps: 3, batch: 2, hidden, reversed: [false], clip: 1, inputForget: false },
    r: context.temporary(type, [1, 3 * hidden, hidden]),
    x: context.temporary("float32", [1, 3, 2, 3 * hidden]),
    ...{ rBias: undefined, peepholes: undefined, lengths: undefined, h: state(), c: undefined },
    y: context.temporary(type, [1, 3, 2, hidden]),
    functions: [[{ kind: "Sigmoid", alpha: 0, beta: 0 }]],
  });
}

test("a recurrence without Tensor Cores is one launch where it is small, else one or two a step", () => {
  const counts = [8, 600].map((hidden) => {
    const context = recorder();
    recurrence(context, "float32", hidden);
    return context.launches.map(({ kernel }) => kernel.entry);
  });
  expect(counts[0]).toEqual(["gru_reset_sequence_float32_b4"]);
  const step = ["gru_gates_step_float32_b4", "gru_candidate_step_float32_b4"];
  expect(counts[1]).toEqual([...step, ...step, ...step]);
});

describe("walks", () => {
  test("a divisor divides", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.integer({ min: 0, max: 2 ** 31 - 1 }),
        (size, n) => {
          const { multiplier, shift } = divisorOf(size);
          const high = (BigInt(n) * BigInt.asUintN(32, BigInt(multiplier))) >> 32n;
          const sum = high + BigInt(n);
          expect(sum).toBeLessThan(1n << 32n);
          expect(Number(sum >> BigInt(shift))).toBe(Math.floor(n / size));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("neighbours in memory become one axis, in any order of axes", () => {
    const [shape, order] = [
      [2, 8, 5, 6],
      [0, 2, 3, 1],
    ];
    const strides = stridesOf(shape, order);
    const axes = shape.map((size, axis): WalkAxis => ({ size, strides: [strides[axis] ?? 0] }));
    expect(collapsed(axes, 0)).toEqual([{ size: 480, strides: [1] }]);
    const fixed = axes.map((axis, at) => ({ ...axis, isFixed: at === 2 }));
    expect(collapsed(fixed, 0).map(({ size }) => size)).toEqual([2, 5, 48]);
  });

  test("elements are taken together only where every address allows it", () => {
    const context = recorder();
    const view = context.temporary("float16", [4, 24]);
    const widthAt = (offset: number, row: number) =>
      walkOver(
        [
          { size: 4, strides: [row, 24] },
          { size: 24, strides: [1, 1] },
        ],
        1,
        [
          { view: { ...view, offset }, operand: 0, more: [] },
          { view, operand: 1, more: [] },
        ],
      ).width;
    expect(widthAt(0, 40)).toBe(16);
    expect(widthAt(4, 40)).toBe(8);
    expect(widthAt(0, 42)).toBe(4);
    expect(widthAt(1, 40)).toBe(2);
  });
});

const plain: Filter = {
  mode: "linear",
  coordinates: "half_pixel",
  antialias: false,
  excludeOutside: false,
  cubicA: -0.75,
};

describe("taps", () => {
  test("weights of every output add up to one", () => {
    const axes = fc.record({
      size: fc.integer({ min: 1, max: 40 }),
      outputSize: fc.integer({ min: 1, max: 60 }),
    });
    const filters = fc.record({
      mode: fc.constantFrom("linear" as const, "cubic" as const),
      antialias: fc.boolean(),
      excludeOutside: fc.boolean(),
    });
    fc.assert(
      fc.property(axes, filters, (axis, filter) => {
        const full = { ...axis, scale: axis.outputSize / axis.size, region: [0, 1] } as const;
        const { taps, indices, weights } = tapTable(full, { ...plain, ...filter });
        expect(indices.length).toBe(axis.outputSize * taps);
        for (let x = 0; x < axis.outputSize; x++) {
          const sum = weights.slice(x * taps, (x + 1) * taps).reduce((total, weight) => total + weight, 0);
          expect(sum).toBeCloseTo(1, 6);
        }
        expect(indices.every((index) => index >= 0 && index < axis.size)).toBe(true);
      }),
    );
  });

  test("an axis of the same size is left as it is", () => {
    const axis = { size: 7, outputSize: 7, scale: 1, region: [0, 1] } as const;
    for (const mode of ["linear", "cubic"] as const) {
      const { taps, indices, weights } = tapTable(axis, { ...plain, mode });
      for (let x = 0; x < 7; x++) {
        const used = indices
          .slice(x * taps, (x + 1) * taps)
          .filter((_, tap) => weights[x * taps + tap] !== 0);
        expect(used).toEqual([x]);
      }
    }
    expect(nearestTable(axis, "half_pixel", "round_prefer_floor")).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test("positions outside of the region are marked", () => {
    const axis = { size: 4, outputSize: 3, scale: 0.75, region: [0.5, 1.5] } as const;
    expect(nearestTable(axis, "tf_crop_and_resize", "floor")).toEqual([1, 3, -1]);
    const { indices } = tapTable(axis, { ...plain, coordinates: "tf_crop_and_resize" });
    expect(indices.slice(4)).toEqual([-1, -1]);
  });
});
