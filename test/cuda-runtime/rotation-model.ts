/** @file Graphs that write a rotary embedding out, in the ways that exporters do. */
import fc from "fast-check";
import { info, integers, modelBytes, node, type types } from "../onnx/build.ts";
import { attribute, attributes } from "./small-plan.ts";

export type Shape = readonly number[];

/** What may be written in more than one way, and where it goes wrong. */
export interface Form {
  /** Of x: [..., an even size, ...]. */
  readonly sizes: Shape;
  readonly axis: number;
  readonly cos: Shape;
  readonly sin: Shape;
  readonly halves: "slices" | "split" | "old slices";
  readonly swaps: readonly [boolean, boolean, boolean];
  readonly isAxisNegative: boolean;
  /** x is a Transpose of the input, its first two axes swapped. */
  readonly isTransposed: boolean;
  /** The result is put behind the input `past`, along axis 0. */
  readonly isJoined: boolean;
}

export const plain: Form = {
  ...{ sizes: [2, 3, 5, 8], axis: 3, cos: [5, 8], sin: [1, 1, 5, 8], halves: "slices" },
  ...{ swaps: [false, false, false], isAxisNegative: false, isTransposed: false, isJoined: false },
};

export type Rewrite = (nodes: types.INodeProto[]) => types.INodeProto[];

export function bytesOf(
  form: Form,
  rewrite: Rewrite = (nodes) => nodes,
  outputs: readonly string[] = [],
): Uint8Array {
  const { sizes, axis, halves, swaps, isTransposed, isJoined } = form;
  const half = (sizes[axis] ?? 0) / 2;
  const swapped = (a: string, b: string, at: number) => (swaps[at] === true ? [b, a] : [a, b]);
  const named = form.isAxisNegative ? axis - sizes.length : axis;
  const order = [1, 0, ...sizes.keys()].slice(0, sizes.length).map((_, at) => [1, 0][at] ?? at);
  const slice = (start: string, end: string, to: string, from: number) =>
    halves === "old slices"
      ? node("Slice", ["x"], [to], {
          attribute: [
            attributes("starts", [from]),
            attributes("ends", [from + half]),
            attributes("axes", [axis]),
          ],
        })
      : node("Slice", ["x", start, end, "axes"], [to]);
  const nodes = [
    isTransposed
      ? node("Transpose", ["given"], ["x"], { attribute: [attributes("perm", order)] })
      : node("Identity", ["given"], ["x"]),
    ...(halves === "split"
      ? [node("Split", ["x"], ["first", "second"], { attribute: [attribute("axis", named)] })]
      : [slice("zero", "half", "first", 0), slice("half", "end", "second", half)]),
    node("Neg", ["second"], ["negative"]),
    node("Concat", ["negative", "first"], ["rotated"], { attribute: [attribute("axis", named)] }),
    node("Mul", swapped("x", "cos", 0), ["a"]),
    node("Mul", swapped("rotated", "sin", 1), ["b"]),
    node("Add", swapped("a", "b", 2), ["y"]),
    ...(isJoined ? [node("Concat", ["past", "y"], ["all"], { attribute: [attribute("axis", 0)] })] : []),
  ];
  const given = isTransposed ? order.map((at) => sizes[at] ?? 1) : sizes;
  const graph = {
    node: rewrite(nodes),
    input: [
      info("given", given),
      info("cos", form.cos),
      info("sin", form.sin),
      ...(isJoined ? [info("past", sizes)] : []),
    ],
    output: [info(isJoined ? "all" : "y"), ...outputs.map((name) => info(name))],
    initializer:
      halves === "old slices"
        ? []
        : [
            integers("zero", [1], [0]),
            integers("half", [1], [half]),
            integers("end", [1], [2 ** 53 - 1]),
            integers("axes", [1], [named]),
          ],
  };
  const version = halves === "old slices" ? 9 : 17;
  return modelBytes(graph, { opsetImport: [{ domain: "", version }] });
}

/** Of x, with some axes of one element and some in front left out. */
function factorShape(sizes: Shape): fc.Arbitrary<Shape> {
  const draw = fc.record({
    from: fc.nat(sizes.length - 1),
    ones: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  });
  return draw.map(({ from, ones }) =>
    sizes.map((size, axis) => (ones[axis] === true ? 1 : size)).slice(from),
  );
}

export const forms: fc.Arbitrary<Form> = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 4 }),
    at: fc.nat(3),
  })
  .chain(({ sizes, at }) => {
    const axis = at % sizes.length;
    const even = sizes.with(axis, 2 * (sizes[axis] ?? 1));
    return fc.record({
      ...{
        sizes: fc.constant(even),
        axis: fc.constant(axis),
        cos: factorShape(even),
        sin: factorShape(even),
      },
      halves: fc.constantFrom("slices", "split", "old slices"),
      swaps: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
      ...{ isAxisNegative: fc.boolean(), isTransposed: fc.boolean(), isJoined: fc.boolean() },
    });
  })
  // Old opsets count axes from the front alone.
  .map((form): Form => ({ ...form, isAxisNegative: form.isAxisNegative && form.halves !== "old slices" }));
