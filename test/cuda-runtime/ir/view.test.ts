/** @file Views: every one that is made of another names the elements that index arithmetic names. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  alignmentOf,
  channelsLastOrder,
  type DeviceBuffer,
  describeView,
  elementCount,
  expanded,
  isPacked,
  isSamePlace,
  orderOf,
  orderToReshape,
  permuted,
  reshaped,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";

const buffer: DeviceBuffer = { id: 0, kind: "temporary", bytes: 1 << 20, name: "b" };

function viewOf(shape: readonly number[], strides: readonly number[] = stridesOf(shape), offset = 0): View {
  return { buffer, type: "float16", shape, strides, offset };
}

/** Where the elements lie, in row-major order of the view. */
function placesOf({ shape, strides, offset }: View): number[] {
  let places = [offset];
  for (const [axis, size] of shape.entries()) {
    const stride = strides[axis] ?? Number.NaN;
    places = places.flatMap((place) => Array.from({ length: size }, (_, index) => place + index * stride));
  }
  return places;
}

const sizes = fc.array(fc.constantFrom(1, 2, 3, 4, 6), { minLength: 1, maxLength: 4 });

function orders(rank: number): fc.Arbitrary<number[]> {
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return fc.shuffledSubarray(axes, { minLength: rank, maxLength: rank });
}

/** Packed in any order, then perhaps a part of each axis, every other element, or backwards. */
const views: fc.Arbitrary<View> = sizes
  .chain((shape) =>
    fc.tuple(
      fc.constant(shape),
      orders(shape.length),
      fc.array(fc.constantFrom("all", "part", "skip", "back", "same"), { minLength: 4, maxLength: 4 }),
    ),
  )
  .map(([shape, order, cuts]) => {
    let view = viewOf(shape, stridesOf(shape, order));
    for (const [axis, size] of shape.entries()) view = cut(view, axis, size, cuts[axis] ?? "all");
    return view;
  });

function cut(view: View, axis: number, size: number, how: string): View {
  if (how === "part") return sliced(view, axis, size - 1, 1);
  if (how === "skip") return sliced(view, axis, 0, Math.ceil(size / 2), 2);
  if (how === "back") return sliced(view, axis, size - 1, size, -1);
  return how === "same" ? { ...view, strides: view.strides.with(axis, 0) } : view;
}

/** Shapes of `count` elements, axes of one element among them. */
function shapesOf(count: number): fc.Arbitrary<number[]> {
  return fc.array(fc.constantFrom(1, 2, 3, 4), { maxLength: 4 }).map((wanted) => {
    const shape: number[] = [];
    let rest = count;
    for (const size of wanted) {
      if (rest % size !== 0) continue;
      shape.push(size);
      rest /= size;
    }
    return [...shape, rest];
  });
}

describe("a reshaped view", () => {
  const cases = views.chain((view) => fc.tuple(fc.constant(view), shapesOf(elementCount(view.shape))));

  test("holds the same elements in the same order, where there is one", () => {
    let made = 0;
    fc.assert(
      fc.property(cases, ([view, shape]) => {
        const result = reshaped(view, shape);
        if (result === undefined) return;
        made++;
        expect(result.shape).toEqual(shape);
        expect(placesOf(result)).toEqual(placesOf(view));
      }),
      { numRuns: 2000, seed: 1 },
    );
    expect(made).toBeGreaterThan(500);
  });

  test("is there whenever strides can say it", () => {
    let refused = 0;
    fc.assert(
      fc.property(cases, ([view, shape]) => {
        if (reshaped(view, shape) !== undefined) return;
        refused++;
        const places = placesOf(view);
        // The strides that it would have to have: from one element to the next along each axis.
        const steps = stridesOf(shape).map((step, axis) =>
          shape[axis] === 1 ? 0 : (places[step] ?? 0) - (places[0] ?? 0),
        );
        expect(placesOf(viewOf(shape, steps, places[0]))).not.toEqual(places);
      }),
      { numRuns: 2000, seed: 2 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  test("of nothing has any shape of nothing", () => {
    expect(reshaped(viewOf([0, 3]), [2, 0])?.shape).toEqual([2, 0]);
  });
});

describe("a view of a view", () => {
  test("permuted: the element at the permuted index", () => {
    const cases = views.chain((view) => fc.tuple(fc.constant(view), orders(view.shape.length)));
    fc.assert(
      fc.property(cases, ([view, order]) => {
        const result = permuted(view, order);
        const back = permuted(
          result,
          order.map((_, axis) => order.indexOf(axis)),
        );
        expect(back).toEqual(view);
        const byIndex = new Map(indexed(view).map(([index, place]) => [index.join(), place]));
        for (const [index, place] of indexed(result)) {
          const original = view.shape.map((_, axis) => index[order.indexOf(axis)]);
          expect(place).toBe(byIndex.get(original.join()));
        }
      }),
    );
  });

  test("sliced: every step-th element from the start", () => {
    const view = viewOf([2, 7]);
    expect(placesOf(sliced(view, 1, 1, 3, 2))).toEqual([1, 3, 5, 8, 10, 12]);
    expect(placesOf(sliced(view, 1, 6, 3, -3))).toEqual([6, 3, 0, 13, 10, 7]);
    expect(placesOf(sliced(view, 0, 2, 0))).toEqual([]);
    expect(sliced(view, 1, 7, 0).offset).toBe(0);
  });

  test("expanded: axes of one element, and missing ones, repeat", () => {
    expect(placesOf(expanded(viewOf([2, 1]), [3, 2, 2]))).toEqual([0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
    expect(placesOf(expanded(viewOf([]), [2]))).toEqual([0, 0]);
  });
});

function indexed(view: View): [readonly number[], number][] {
  const places = placesOf(view);
  const steps = stridesOf(view.shape);
  return places.map((place, flat) => [
    view.shape.map((size, axis) => Math.floor(flat / (steps[axis] ?? 1)) % size),
    place,
  ]);
}

test("two views are the same place whatever the stride of an axis of one element", () => {
  const view = viewOf([4, 1, 8]);
  expect(isSamePlace(view, { ...view, strides: view.strides.with(1, 3) })).toBe(true);
  expect(isSamePlace(view, { ...view, strides: view.strides.with(0, 3) })).toBe(false);
  expect(isSamePlace(view, { ...view, offset: 1 })).toBe(false);
});

describe("the order of a view's axes", () => {
  test("is the one that it was packed in", () => {
    const cases = sizes.chain((shape) => fc.tuple(fc.constant(shape), orders(shape.length)));
    fc.assert(
      fc.property(cases, ([shape, order]) => {
        const view = viewOf(shape, stridesOf(shape, order));
        expect(isPacked(view, order)).toBe(true);
        expect(isPacked(view, orderOf(view))).toBe(true);
        expect([...orderOf(view)].sort()).toEqual(shape.map((_, axis) => axis).sort());
      }),
    );
  });

  test("puts channels last, and is printed where it is not row-major", () => {
    expect(channelsLastOrder(4)).toEqual([0, 2, 3, 1]);
    expect(channelsLastOrder(2)).toEqual([0, 1]);
    expect(describeView(viewOf([1, 8, 5, 5], stridesOf([1, 8, 5, 5], [0, 2, 3, 1])))).toBe(
      "float16[1,8,5,5]{0,2,3,1}",
    );
    expect(describeView(viewOf([1, 8, 5, 5]))).toBe("float16[1,8,5,5]");
  });
});

test("alignment counts the first element and all strides but the unit axis'", () => {
  expect(alignmentOf(viewOf([4, 64]))).toBe(16);
  expect(alignmentOf(viewOf([4, 64], [68, 1]))).toBe(8);
  expect(alignmentOf(viewOf([4, 67]))).toBe(2);
  expect(alignmentOf(viewOf([1, 67]))).toBe(16);
  expect(alignmentOf(viewOf([4, 64], [64, 1], 2))).toBe(4);
  expect(alignmentOf(viewOf([64, 4], [1, 64]), 0)).toBe(16);
});

describe("the order of a copy that is to be reshaped", () => {
  /** A view of packed memory in any order, and a shape of as many elements. */
  const requests = sizes
    .chain((shape) => fc.tuple(fc.constant(shape), orders(shape.length), fc.nat(999)))
    .map(([shape, order, seed]) => {
      const view = viewOf(shape, stridesOf(shape, order));
      // Neighbours become one, by the seed.
      const target: number[] = [];
      for (const [axis, size] of shape.entries()) {
        const last = ((seed >> axis) & 1) === 1 ? target.pop() : undefined;
        target.push((last ?? 1) * size);
      }
      return { view, target };
    });

  test("is one that can be seen in that shape", () => {
    fc.assert(
      fc.property(requests, ({ view, target }) => {
        const strides = stridesOf(view.shape, orderToReshape(view, target));
        const seen = reshaped({ ...view, strides }, target);
        expect(seen).toBeDefined();
        expect(seen && placesOf(seen)).toEqual(placesOf({ ...view, strides }));
      }),
      { numRuns: 500 },
    );
  });

  test("leaves channels innermost that are shuffled there, and is row-major where axes lie between", () => {
    const image = viewOf([2, 8, 3, 5], stridesOf([2, 8, 3, 5], channelsLastOrder(4)));
    const groups = reshaped(image, [2, 2, 4, 3, 5]);
    const shuffled = groups && permuted(groups, [0, 2, 1, 3, 4]);
    expect(shuffled && orderToReshape(shuffled, [2, 8, 3, 5])).toEqual([0, 3, 4, 1, 2]);
    const heads = permuted(viewOf([2, 4, 7, 8]), [0, 2, 1, 3]);
    expect(orderToReshape(heads, [2, 7, 32])).toEqual([0, 1, 2, 3]);
  });
});
