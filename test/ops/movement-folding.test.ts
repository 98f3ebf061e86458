/** @file Folding, against arrays of arrays. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ShapeError } from "../../src/ops/op.ts";
import { numbersOf, tensor } from "../../src/ops/shape.ts";
import { at, counting, flatten, nest, positions, take } from "./arrays.ts";
import { type ContextOptions, infer, inferTensor } from "./context.ts";
import { ints } from "./tensors.ts";

const count = (shape: readonly number[]) => shape.reduce((total, size) => total * size, 1);
const rankOf = (min: number, max: number) => fc.integer({ min, max });
const shapeOf = (rank: number, max = 4) =>
  fc.array(fc.integer({ min: 1, max }), { minLength: rank, maxLength: rank });

/** What the operator folds, and the same for an array of arrays of that shape. */
function expectFolded(options: ContextOptions, shape: readonly number[], elements: readonly number[]): void {
  const result = inferTensor(options);
  expect(result.shape).toEqual(shape);
  expect(result.elements).toEqual(elements);
}

describe("folding agrees with arrays of arrays", () => {
  /** The indices a slice visits, by walking the axis as the definition of Slice says. */
  function visited(size: number, start: number, end: number, step: number): number[] {
    const counted = start < 0 ? start + size : start;
    // Unlike in Python, a start before the first element is the first element, going backwards too.
    const from = Math.max(counted, 0);
    const to = end < 0 ? end + size : end;
    const indices: number[] = [];
    const ascending = [...Array(size).keys()];
    const walk = step > 0 ? ascending : ascending.reverse();
    for (const index of walk) {
      const isPast = step > 0 ? index >= to : index <= to;
      const isBefore = step > 0 ? index < from : index > from;
      if (!isPast && !isBefore) indices.push(index);
    }
    return indices.filter((_, at) => at % Math.abs(step) === 0);
  }

  const huge = [2 ** 63, -(2 ** 63), 2 ** 31 - 1, -(2 ** 31)];
  const bound = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: -7, max: 7 }) }, fc.constantFrom(...huge));
  const step = fc.integer({ min: -3, max: 3 }).filter((value) => value !== 0);
  const sliced = fc.record({
    size: fc.integer({ min: 0, max: 5 }),
    start: bound,
    end: bound,
    step,
    isSliced: fc.boolean(),
  });

  test("Slice", () => {
    fc.assert(
      fc.property(fc.array(sliced, { minLength: 1, maxLength: 3 }), fc.boolean(), (axes, fromEnd) => {
        const shape = axes.map(({ size }) => size);
        const chosen = [...axes.keys()].filter((axis) => axes[axis]?.isSliced).toReversed();
        const data = counting(shape);
        const list = (key: "start" | "end" | "step") => ints(...chosen.map((axis) => axes[axis]?.[key] ?? 0));
        const named = ints(...chosen.map((axis) => (fromEnd ? axis - shape.length : axis)));
        let expected = nest(shape, numbersOf(data.elements) ?? []);
        const expectedShape = [...shape];
        for (const axis of chosen) {
          const { size, start, end, step } = axes[axis] ?? { size: 0, start: 0, end: 0, step: 1 };
          const indices = visited(size, start, end, step);
          expectedShape[axis] = indices.length;
          if (count(shape) > 0) expected = take(expected, axis, indices);
        }
        expectFolded(
          { type: "Slice", inputs: [data, list("start"), list("end"), named, list("step")] },
          expectedShape,
          flatten(expected),
        );
      }),
      { numRuns: 600 },
    );
  });

  const arrayAndOrder = rankOf(1, 4).chain((rank) =>
    fc.tuple(shapeOf(rank), fc.shuffledSubarray([...Array(rank).keys()], { minLength: rank })),
  );

  test("Transpose", () => {
    fc.assert(
      fc.property(arrayAndOrder, ([shape, perm]) => {
        const data = counting(shape);
        const source = nest(shape, numbersOf(data.elements) ?? []);
        const expectedShape = perm.map((axis) => shape[axis] ?? 0);
        const elements = positions(expectedShape).map((position) =>
          at(
            source,
            shape.map((_, axis) => position[perm.indexOf(axis)] ?? 0),
          ),
        );
        expectFolded({ type: "Transpose", inputs: [data], attributes: { perm } }, expectedShape, elements);
      }),
    );
  });

  const gathered = rankOf(1, 3).chain((rank) =>
    fc.tuple(
      shapeOf(rank),
      fc.integer({ min: 0, max: rank - 1 }),
      fc.array(fc.nat(100), { maxLength: 4 }),
      fc.boolean(),
    ),
  );

  test("Gather", () => {
    fc.assert(
      fc.property(gathered, ([shape, axis, picks, fromEnd]) => {
        const data = counting(shape);
        const size = shape[axis] ?? 1;
        const indices = picks.map((pick) => pick % size);
        const given = indices.map((index) => (fromEnd ? index - size : index));
        const expected = take(nest(shape, numbersOf(data.elements) ?? []), axis, indices);
        expectFolded(
          { type: "Gather", inputs: [data, ints(...given)], attributes: { axis } },
          shape.with(axis, indices.length),
          flatten(expected),
        );
      }),
    );
  });

  const parted = rankOf(1, 3).chain((rank) =>
    fc.tuple(
      shapeOf(rank),
      fc.integer({ min: 0, max: rank - 1 }),
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
    ),
  );

  test("Split cuts, and Concat joins what it cut", () => {
    fc.assert(
      fc.property(parted, ([shape, axis, sizes]) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const data = counting(shape.with(axis, total));
        const parts = infer({
          type: "Split",
          inputs: [data, ints(...sizes)],
          attributes: { axis },
          outputCount: sizes.length,
        });
        expect(parts.map((part) => part?.kind === "tensor" && part.shape?.[axis])).toEqual(sizes);
        const joined = inferTensor({ type: "Concat", inputs: parts, attributes: { axis } });
        expect(joined).toEqual(data);
      }),
    );
  });

  test("Expand repeats axes of size 1 and adds axes in front", () => {
    const expanded = fc
      .tuple(shapeOf(3), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), fc.nat(2))
      .map(([full, single, dropped]) => ({
        full,
        own: full.map((size, axis) => (single[axis] ? 1 : size)).slice(dropped),
      }));
    fc.assert(
      fc.property(expanded, ({ full, own }) => {
        const data = counting(own);
        const source = nest(own, numbersOf(data.elements) ?? []);
        const elements = positions(full).map((position) =>
          at(
            source,
            own.map((size, axis) => (size === 1 ? 0 : (position[axis + full.length - own.length] ?? 0))),
          ),
        );
        expectFolded({ type: "Expand", inputs: [data, ints(...full)] }, full, elements);
      }),
    );
  });

  test("Tile is a Concat of copies", () => {
    fc.assert(
      fc.property(shapeOf(2, 3), fc.integer({ min: 1, max: 3 }), (shape, copies) => {
        const data = counting(shape);
        const joined = inferTensor({
          type: "Concat",
          inputs: Array.from({ length: copies }, () => data),
          attributes: { axis: 1 },
        });
        expect(inferTensor({ type: "Tile", inputs: [data, ints(1, copies)] })).toEqual(joined);
      }),
    );
  });

  test("a Slice takes out what Pad put around", () => {
    const ends = fc.array(fc.nat(3), { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(shapeOf(2), ends, ends, fc.integer(), (shape, begins, after, value) => {
        const data = counting(shape);
        const filler = tensor("int64", [], [value]);
        const padded = inferTensor({ type: "Pad", inputs: [data, ints(...begins, ...after), filler] });
        expect(padded.elements?.filter((element) => element === value)).toHaveLength(
          (padded.elements?.length ?? 0) - count(shape) + (value >= 0 && value < count(shape) ? 1 : 0),
        );
        const limits = shape.map((size, axis) => size + (begins[axis] ?? 0));
        expect(inferTensor({ type: "Slice", inputs: [padded, ints(...begins), ints(...limits)] })).toEqual(
          data,
        );
      }),
    );
  });

  test("GatherElements undoes ScatterElements", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4]), (places) => {
        const updates = ints(...places.map((place) => 100 + place));
        const data = counting([5]);
        const written = inferTensor({ type: "ScatterElements", inputs: [data, ints(...places), updates] });
        expect(inferTensor({ type: "GatherElements", inputs: [written, ints(...places)] })).toEqual(updates);
        const rows = tensor("int64", [places.length, 1], places);
        expect(inferTensor({ type: "ScatterND", inputs: [data, rows, updates] })).toEqual(written);
        expect(inferTensor({ type: "GatherND", inputs: [written, rows] })).toEqual(updates);
      }),
    );
  });
});

describe("Reshape", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

  test("-1 and 0 stand for what the target had there", () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), (target, hole, copy) => {
        const open = hole % target.length;
        const kept = copy % target.length;
        // The copied axis must have the same size on both sides; the others are shuffled into one.
        const input = target.map((size, axis) => (axis === kept ? size : 1));
        const rest = count(target) / (target[kept] ?? 1);
        const shape = kept === 0 ? [...input, rest] : input.with(0, rest);
        const given = target.map((size, axis) => (axis === open ? -1 : axis === kept ? 0 : size));
        const result = inferTensor({ type: "Reshape", inputs: [counting(shape), ints(...given)] });
        expect(result.shape).toEqual(target);
        expect(result.elements).toEqual(counting(target).elements);
      }),
    );
  });

  test("throws exactly where the elements do not fit", () => {
    fc.assert(
      fc.property(sizes, sizes, (from, to) => {
        const run = () => inferTensor({ type: "Reshape", inputs: [counting(from), ints(...to)] });
        if (count(from) === count(to)) expect(run().shape).toEqual(to);
        else expect(run).toThrow(ShapeError);
      }),
    );
  });
});
