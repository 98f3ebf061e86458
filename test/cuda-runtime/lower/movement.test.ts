/** @file Operators that move elements, against definitions over plain arrays, whatever order the input has in memory. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, orderOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { movementLowerings } from "../../../cuda-runtime/lower/movement.ts";
import { paddedPosition } from "../../../cuda-runtime/lower/movement-join.ts";
import { at, filled, type Grid } from "../../gpu/arrays.ts";
import { interpret } from "./movement-interpreter.ts";
import { attributesOf, Machine, MachineContext, nodeOf } from "./movement-machine.ts";

interface Given {
  readonly operator: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly opset?: number;
  readonly outputs: readonly (readonly number[])[];
  readonly type?: StorageType;
}

interface Operand extends Grid {
  readonly type?: StorageType;
  readonly order?: readonly number[];
}

function lower(given: Given, operands: readonly (Operand | undefined)[]) {
  const machine = new Machine({ run: interpret });
  const inputs = operands.map((operand) =>
    operand === undefined
      ? undefined
      : machine.tensor(operand.type ?? "float32", operand.shape, operand.values, operand.order),
  );
  const type = given.type ?? inputs[0]?.type ?? "float32";
  const context = new MachineContext(machine, {
    opset: given.opset ?? 21,
    attributes: attributesOf(given.attributes ?? {}),
    inputs,
    outputs: given.outputs.map((shape) => ({ type, shape })),
    node: nodeOf(given.operator),
  });
  movementLowerings[given.operator]?.(context);
  const views = context.results.map((view): View => {
    if (view === undefined) throw new Error("an output is missing");
    return view;
  });
  return { launches: context.launches, views, values: views.map((view) => Array.from(machine.read(view))) };
}

/** Whether places of an axis are one view of it that keeps neighbours together. */
function isPart(places: readonly number[], size: number, isInnermost: boolean): boolean {
  const steps = new Set(places.slice(1).map((place, index) => place - (places[index] ?? 0)));
  const [step = 1] = steps;
  const isEven = steps.size <= 1 && places.every((place) => place >= 0 && place < size);
  return isEven && step !== 0 && (step === 1 || !isInnermost);
}

/** Values that tell elements from their neighbours, and fit a byte. */
function counted(shape: readonly number[]): Float64Array {
  return Float64Array.from({ length: elementCount(shape) }, (_, index) => (index % 251) + 1);
}

function permutation(rank: number): fc.Arbitrary<number[]> {
  return fc.shuffledSubarray(
    Array.from({ length: rank }, (_, axis) => axis),
    { minLength: rank, maxLength: rank },
  );
}

/** A tensor of up to four axes in any memory order. */
const tensors = fc
  .array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })
  .chain((shape) =>
    permutation(shape.length).map((order): Operand => ({ shape, values: counted(shape), order })),
  );

const int64 = (values: readonly number[]): Operand => ({ shape: [values.length], values, type: "int64" });

function check(run: (operand: Operand, seed: number) => void): void {
  fc.assert(fc.property(tensors, fc.nat(1000), run), { numRuns: 150 });
}

describe("views", () => {
  test("Transpose needs no kernel", () => {
    check((operand, seed) => {
      const { shape } = operand;
      const perm = shape.map((_, axis) => (axis + seed) % shape.length);
      const output = perm.map((axis) => shape[axis] ?? 1);
      const { values, launches } = lower({ operator: "Transpose", attributes: { perm }, outputs: [output] }, [
        operand,
      ]);
      expect(launches).toEqual([]);
      const expected = filled(output, (position) => {
        const source = shape.map((_, axis) => position[perm.indexOf(axis)] ?? 0);
        return at(operand, source);
      });
      expect(values[0]).toEqual(Array.from(expected));
    });
  });

  test("Slice takes any bounds and steps", () => {
    const bound = fc.integer({ min: -9, max: 9 });
    const step = fc.constantFrom(-3, -2, -1, 1, 2, 3);
    fc.assert(
      fc.property(tensors, bound, bound, step, fc.nat(3), (operand, start, end, stepping, seed) => {
        const axis = seed % operand.shape.length;
        const size = operand.shape[axis] ?? 1;
        const picked = pythonSlice(size, start, end, stepping);
        const output = operand.shape.with(axis, picked.length);
        const { values } = lower({ operator: "Slice", outputs: [output] }, [
          operand,
          int64([start]),
          int64([end]),
          int64([axis - operand.shape.length]),
          int64([stepping]),
        ]);
        const expected = filled(output, (position) =>
          at(operand, position.with(axis, picked[position[axis] ?? 0] ?? 0)),
        );
        expect(values[0]).toEqual(Array.from(expected));
      }),
    );
  });

  test("Reshape keeps the row-major order of the elements", () => {
    check((operand, seed) => {
      const sizes = operand.shape.flatMap((size) => (size === 4 && seed % 2 === 0 ? [2, 2] : [size]));
      const split = seed % 5;
      const output = [elementCount(sizes.slice(0, split)), 1, ...sizes.slice(split)];
      const { values } = lower({ operator: "Reshape", outputs: [output] }, [operand, int64(output)]);
      expect(values[0]).toEqual(Array.from(operand.values));
    });
  });

  test("Split cuts, Concat joins again", () => {
    check((operand, seed) => {
      const axis = seed % operand.shape.length;
      const size = operand.shape[axis] ?? 1;
      const parts = [Math.floor(size / 2), size - Math.floor(size / 2)];
      const shapes = parts.map((part) => operand.shape.with(axis, part));
      const cut = lower({ operator: "Split", attributes: { axis }, outputs: shapes }, [
        operand,
        int64(parts),
      ]);
      const joined = lower(
        { operator: "Concat", attributes: { axis }, outputs: [operand.shape] },
        cut.values.map((values, part) => ({ shape: shapes[part] ?? [], values, order: operand.order ?? [] })),
      );
      expect(cut.launches).toEqual([]);
      expect(joined.values[0]).toEqual(Array.from(operand.values));
    });
  });

  test("Split without sizes makes equal parts, the last smaller", () => {
    const operand = { shape: [7], values: counted([7]) };
    const { values } = lower(
      { operator: "Split", attributes: { num_outputs: 3 }, outputs: [[3], [3], [1]] },
      [operand],
    );
    expect(values).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  test("DepthToSpace and SpaceToDepth undo each other and keep the memory order", () => {
    const shape = [2, 12, 3, 5];
    for (const order of [
      [0, 1, 2, 3],
      [0, 2, 3, 1],
    ]) {
      const deep = { shape, values: counted(shape), order };
      const wide = lower(
        { operator: "DepthToSpace", attributes: { blocksize: 2 }, outputs: [[2, 3, 6, 10]] },
        [deep],
      );
      expect(wide.views.map(orderOf)).toEqual([order]);
      const image = { shape: [2, 3, 6, 10], values: wide.values[0] ?? [], order };
      // Depth first: the block is the slowest part of the channels.
      expect(at(image, [1, 2, 5, 7])).toBe(at(deep, [1, (1 * 2 + 1) * 3 + 2, 2, 3]));
      const back = lower({ operator: "SpaceToDepth", attributes: { blocksize: 2 }, outputs: [shape] }, [
        image,
      ]);
      expect(back.values[0]).toEqual(Array.from(deep.values));
    }
  });

  test("Tile and Expand repeat", () => {
    check((operand, seed) => {
      const repeats = operand.shape.map((_, axis) => 1 + ((seed >> axis) & 1));
      const output = operand.shape.map((size, axis) => size * (repeats[axis] ?? 1));
      const { values } = lower({ operator: "Tile", outputs: [output] }, [operand, int64(repeats)]);
      const expected = filled(output, (position) =>
        at(
          operand,
          position.map((index, axis) => index % (operand.shape[axis] ?? 1)),
        ),
      );
      expect(values[0]).toEqual(Array.from(expected));
    });
  });

  test("UnfoldTensor shows windows that overlap", () => {
    const operand = { shape: [2, 7], values: counted([2, 7]) };
    const { values, launches } = lower(
      {
        operator: "com.microsoft::UnfoldTensor",
        attributes: { dim: -1, size: 3, step: 2 },
        outputs: [[2, 3, 3]],
      },
      [operand],
    );
    expect(launches).toEqual([]);
    const expected = filled([2, 3, 3], ([row = 0, window = 0, x = 0]) => at(operand, [row, 2 * window + x]));
    expect(values[0]).toEqual(Array.from(expected));
  });
});

/** Positions that x[start:end:step] picks in Python. */
function pythonSlice(size: number, start: number, end: number, step: number): number[] {
  const clamp = (bound: number, low: number, high: number) =>
    Math.min(high, Math.max(low, bound < 0 ? bound + size : bound));
  const [from, to] =
    step > 0
      ? [clamp(start, 0, size), clamp(end, 0, size)]
      : [clamp(start, 0, size - 1), clamp(end, -1, size - 1)];
  const picked: number[] = [];
  for (let index = from; step > 0 ? index < to : index > to; index += step) picked.push(index);
  return picked;
}

describe("kernels", () => {
  test("Pad in every mode, cutting where pads are negative", () => {
    const amounts = fc.array(fc.integer({ min: -1, max: 4 }), { minLength: 8, maxLength: 8 });
    const modes = fc.constantFrom("constant", "edge", "reflect", "wrap");
    const types = fc.constantFrom<StorageType>("float32", "float16", "uint8", "int64");
    fc.assert(
      fc.property(tensors, amounts, modes, types, (operand, given, mode, type) => {
        const rank = operand.shape.length;
        const begins = given.slice(0, rank).map((pad, axis) => Math.max(pad, 1 - (operand.shape[axis] ?? 1)));
        const ends = given
          .slice(4, 4 + rank)
          .map((pad, axis) => Math.max(pad, begins[axis] === -1 ? 0 : pad));
        const left = operand.shape.map(
          (size, axis) => size - Math.max(0, -(begins[axis] ?? 0)) - Math.max(0, -(ends[axis] ?? 0)),
        );
        if (left.some((size) => size < 1)) return;
        const output = operand.shape.map((size, axis) => size + (begins[axis] ?? 0) + (ends[axis] ?? 0));
        const { values } = lower({ operator: "Pad", attributes: { mode }, outputs: [output] }, [
          { ...operand, type },
          int64([...begins, ...ends]),
          { shape: [], values: [7], type },
        ]);
        const cut = begins.map((begin) => Math.max(0, -begin));
        const expected = filled(output, (position) => {
          const source = position.map((index, axis) => {
            const from = index - Math.max(0, begins[axis] ?? 0);
            return naivePad(from, left[axis] ?? 1, mode);
          });
          if (source.includes(-1)) return 7;
          return at(
            operand,
            source.map((index, axis) => index + (cut[axis] ?? 0)),
          );
        });
        expect(values[0]).toEqual(Array.from(expected));
      }),
      { numRuns: 300 },
    );
  });

  test("Gather keeps the memory order and takes channels together", () => {
    const shape = [3, 16, 4, 5];
    const operand: Operand = { shape, values: counted(shape), order: [0, 2, 3, 1] };
    const { values, views, launches } = lower(
      { operator: "Gather", attributes: { axis: 2 }, outputs: [[3, 16, 3, 5]] },
      [operand, int64([-1, 1, 2])],
    );
    expect(views.map(orderOf)).toEqual([[0, 2, 3, 1]]);
    expect(launches.map(({ kernel }) => kernel.entry)).toEqual(["gather_w16"]);
    const rows = [3, 1, 2];
    const expected = filled([3, 16, 3, 5], (position) =>
      at(operand, position.with(2, rows[position[2] ?? 0] ?? 0)),
    );
    expect(values[0]).toEqual(Array.from(expected));
  });

  test("Gather of known indices that are evenly apart is a view where neighbours stay together", () => {
    const even = fc.record({
      first: fc.nat(6),
      step: fc.integer({ min: -3, max: 3 }),
      count: fc.nat(4),
      axis: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(even, fc.boolean(), fc.boolean(), ({ first, step, count, axis }, isNegative, isOutside) => {
        const size = 7;
        const places = Array.from({ length: count + 1 }, (_, index) => first + index * step);
        const given = places.map((place) =>
          isNegative && place >= 0 && place < size ? place - size : place,
        );
        const listed = isOutside ? [...given, size] : given;
        const shape = [2, size, size];
        const operand: Operand = { shape, values: counted(shape) };
        const output = shape.with(axis, listed.length);
        const { values, launches } = lower({ operator: "Gather", attributes: { axis }, outputs: [output] }, [
          operand,
          int64(listed),
        ]);
        const meant = listed.map((place) => (place < 0 ? place + size : place));
        expect(launches.length).toBe(isPart(meant, size, axis === 2) ? 0 : 1);
        // Kernels keep what is outside inside.
        const inside = (place: number) => Math.min(size - 1, Math.max(0, place < 0 ? place + size : place));
        const expected = filled(output, (position) =>
          at(operand, position.with(axis, inside(listed[position[axis] ?? 0] ?? 0))),
        );
        expect(values[0]).toEqual(Array.from(expected));
      }),
    );
  });

  test("Gather of one known index leaves the axis out", () => {
    const operand: Operand = { shape: [2, 7, 3], values: counted([2, 7, 3]) };
    const index: Operand = { shape: [], values: Float64Array.of(-2), type: "int64" };
    const { values, launches } = lower({ operator: "Gather", attributes: { axis: 1 }, outputs: [[2, 3]] }, [
      operand,
      index,
    ]);
    expect(launches).toEqual([]);
    const expected = filled([2, 3], ([batch = 0, column = 0]) => at(operand, [batch, 5, column]));
    expect(values[0]).toEqual(Array.from(expected));
  });

  test("ScatterElements: the last of several updates of a place wins", () => {
    check((operand, seed) => {
      const axis = seed % operand.shape.length;
      const size = operand.shape[axis] ?? 1;
      const updates = operand.shape.with(axis, size + 2);
      const index = filled(updates, (position) => ((position[axis] ?? 0) * 7 + seed) % size);
      const { values } = lower(
        { operator: "ScatterElements", attributes: { axis }, outputs: [operand.shape] },
        [
          operand,
          { shape: updates, values: index, type: "int64" },
          { shape: updates, values: counted(updates).map((value) => -value) },
        ],
      );
      const expected = scattered(
        operand,
        { shape: updates, values: index },
        axis,
        (_before, update) => update,
      );
      expect(values[0]).toEqual(expected);
    });
  });

  test("ScatterElements adds in order", () => {
    check((operand, seed) => {
      const axis = seed % operand.shape.length;
      const size = operand.shape[axis] ?? 1;
      const index = filled(operand.shape, (position) => ((position[axis] ?? 0) + seed) % Math.min(2, size));
      const attributes = { axis, reduction: "add" };
      const { values } = lower({ operator: "ScatterElements", attributes, outputs: [operand.shape] }, [
        operand,
        { shape: operand.shape, values: index, type: "int32" },
        { shape: operand.shape, values: counted(operand.shape).map((value) => -value) },
      ]);
      const places = { shape: operand.shape, values: index };
      expect(values[0]).toEqual(scattered(operand, places, axis, (before, update) => before + update));
    });
  });

  test("TensorScatter starts over at the end of a circular cache", () => {
    const shape = [2, 4, 3];
    const operand = { shape, values: counted(shape) };
    const update = { shape: [2, 2, 3], values: counted([2, 2, 3]).map((value) => -value) };
    const { values } = lower(
      { operator: "TensorScatter", attributes: { mode: "circular" }, outputs: [shape] },
      [operand, update, int64([3, 1])],
    );
    const expected = Array.from(operand.values);
    const starts = [3, 1];
    filled(update.shape, ([batch = 0, step = 0, x = 0]) => {
      expected[(batch * 4 + (((starts[batch] ?? 0) + step) % 4)) * 3 + x] = at(update, [batch, step, x]);
      return 0;
    });
    expect(values[0]).toEqual(expected);
  });

  test("ReverseSequence turns the front of each sequence", () => {
    const shape = [4, 3];
    const operand = { shape, values: counted(shape) };
    const lengths = [1, 2, 4];
    const { values } = lower({ operator: "ReverseSequence", outputs: [shape] }, [operand, int64(lengths)]);
    const expected = filled(shape, ([time = 0, batch = 0]) => {
      const length = lengths[batch] ?? 0;
      return at(operand, [time < length ? length - 1 - time : time, batch]);
    });
    expect(values[0]).toEqual(Array.from(expected));
  });
});

function naivePad(index: number, size: number, mode: string): number {
  if (index >= 0 && index < size) return index;
  if (mode === "constant") return -1;
  if (mode === "edge") return index < 0 ? 0 : size - 1;
  if (mode === "wrap") return naivePad(index + (index < 0 ? size : -size), size, mode);
  if (size === 1) return 0;
  return naivePad(index < 0 ? -index : 2 * (size - 1) - index, size, mode);
}

function scattered(
  data: Grid,
  places: Grid,
  axis: number,
  reduce: (before: number, update: number) => number,
): number[] {
  const result = Array.from(data.values);
  let next = 0;
  filled(places.shape, (position) => {
    const target = position.with(axis, at(places, position));
    const place = target.reduce((offset, index, each) => offset * (data.shape[each] ?? 1) + index, 0);
    result[place] = reduce(result[place] ?? 0, -(counted(places.shape)[next++] ?? 0));
    return 0;
  });
  return result;
}

test("padding reflects as often as it takes", () => {
  expect([-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map((index) => paddedPosition(index, 3, "reflect"))).toEqual([
    1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1,
  ]);
});
