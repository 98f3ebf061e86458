/** @file Operators of the host beside ONNX Runtime, on drawn inputs with many ties. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostOperators } from "../../../cuda-runtime/host/index.ts";
import type { HostTensor } from "../../../cuda-runtime/host/operator.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { openSession } from "../../../src/verify/ort.ts";
import { arrays, numbersOf, type Tensors, tensorOf } from "../../../src/verify/tensor.ts";
import { info, int64, modelBytes, node, type types } from "../../onnx/build.ts";

const codes: Partial<Record<StorageType, number>> = { float32: 1, int32: 6, int64, bool: 9 };

/** The operator by both: `inputs` by position, an omitted one undefined. */
async function byBoth(
  type: string,
  inputs: readonly (HostTensor | undefined)[],
  attributes: Readonly<Record<string, number>>,
  outputs: readonly string[],
) {
  const graph: types.IGraphProto = {
    node: [
      node(
        type,
        inputs.map((input, index) => (input === undefined ? "" : `x${index}`)),
        [...outputs],
        { attribute: Object.entries(attributes).map(([name, i]) => ({ name, type: 2, i })) },
      ),
    ],
    input: inputs.flatMap((input, index) =>
      input === undefined ? [] : [info(`x${index}`, input.shape, codes[input.type])],
    ),
    output: outputs.map((name, index) => info(name, undefined, index === 0 ? undefined : int64)),
  };
  const operator = hostOperators[type];
  if (operator === undefined) throw new Error(`the host has no ${type}`);
  const own = operator.run(inputs, { int: (name) => attributes[name] });
  for (const [index, output] of own.entries())
    if (outputs[index] !== undefined)
      graph.output?.splice(
        index,
        1,
        info(
          outputs[index] ?? "",
          own[index]?.shape.map(() => undefined),
          codes[output.type],
        ),
      );
  const given: Tensors = new Map(
    inputs.flatMap((input, index) =>
      input === undefined || !(input.type in arrays)
        ? []
        : [[`x${index}`, tensorOf(input.type, input.shape, input.values)]],
    ),
  );
  await using session = await openSession(
    { path: "host.onnx", bytes: modelBytes(graph), folder: "." },
    { optimization: "all", threads: 1 },
  );
  const theirs = await session.run(given);
  return {
    own: own
      .slice(0, outputs.length)
      .map(({ shape, values }) => ({ shape: [...shape], values: Array.from(values) })),
    theirs: outputs.map((name) => {
      const tensor = theirs.get(name);
      if (tensor === undefined) throw new Error(`ONNX Runtime gives no ${name}`);
      return { shape: [...tensor.dims], values: Array.from(numbersOf(tensor)) };
    }),
  };
}

const runs = { numRuns: 60 };
const tensor = (type: StorageType, shape: readonly number[], values: readonly number[]): HostTensor => ({
  type,
  shape,
  values: type === "float32" ? Float32Array.from(values) : values,
});
const listOf = (of: fc.Arbitrary<number>, length: number) =>
  fc.array(of, { minLength: length, maxLength: length });

describe("NonMaxSuppression", () => {
  /** Few numbers: boxes that coincide, overlaps at the threshold itself, scores that tie. */
  const coordinate = fc.oneof(fc.integer({ min: -3, max: 8 }), fc.float({ min: -2, max: 8, noNaN: true }));
  const score = fc.oneof(fc.constantFrom(0, 0.25, 0.5, 0.75, 1), fc.float({ min: 0, max: 1, noNaN: true }));
  const drawn = fc
    .record({
      batches: fc.integer({ min: 1, max: 2 }),
      classes: fc.integer({ min: 1, max: 3 }),
      boxes: fc.integer({ min: 1, max: 12 }),
    })
    .chain(({ batches, classes, boxes }) =>
      fc.record({
        boxes: listOf(coordinate, batches * boxes * 4).map((values) =>
          tensor("float32", [batches, boxes, 4], values),
        ),
        scores: listOf(score, batches * classes * boxes).map((values) =>
          tensor("float32", [batches, classes, boxes], values),
        ),
        most: fc.option(fc.constantFrom(0, 1, 3, 100), { nil: undefined }),
        overlap: fc.option(fc.constantFrom(0, 0.25, Math.fround(1 / 3), 0.5, 1), { nil: undefined }),
        threshold: fc.option(fc.constantFrom(0, 0.25, 0.5), { nil: undefined }),
        isCentered: fc.boolean(),
      }),
    );

  test("keeps the boxes that ONNX Runtime keeps, in its order", async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async ({ boxes, scores, most, overlap, threshold, isCentered }) => {
        const one = (type: StorageType, value: number | undefined) =>
          value === undefined ? undefined : tensor(type, [1], [value]);
        const inputs = [
          boxes,
          scores,
          one("int64", most),
          one("float32", overlap),
          one("float32", threshold),
        ];
        const { own, theirs } = await byBoth(
          "NonMaxSuppression",
          inputs,
          { center_point_box: isCentered ? 1 : 0 },
          ["y"],
        );
        expect(own).toEqual(theirs);
      }),
      runs,
    );
  });
});

test("NonZero finds what ONNX Runtime finds", async () => {
  const drawn = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }).chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      type: fc.constantFrom("float32", "int64", "bool" as const),
      values: listOf(
        fc.constantFrom(0, 0, 1),
        shape.reduce((a, b) => a * b, 1),
      ),
    }),
  );
  await fc.assert(
    fc.asyncProperty(drawn, async ({ shape, type, values }) => {
      const { own, theirs } = await byBoth("NonZero", [tensor(type, shape, values)], {}, ["y"]);
      expect(own).toEqual(theirs);
    }),
    runs,
  );
});

test("Unique gives what ONNX Runtime gives", async () => {
  const drawn = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }).chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      type: fc.constantFrom("float32", "int64" as const),
      values: listOf(
        fc.constantFrom(-1, 0, 1, 2),
        shape.reduce((a, b) => a * b, 1),
      ),
      axis: fc.option(fc.integer({ min: -shape.length, max: shape.length - 1 }), { nil: undefined }),
      sorted: fc.constantFrom(0, 1),
    }),
  );
  await fc.assert(
    fc.asyncProperty(drawn, async ({ shape, type, values, axis, sorted }) => {
      const attributes = axis === undefined ? { sorted } : { sorted, axis };
      const outputs = ["y", "first", "inverse", "counts"];
      const { own, theirs } = await byBoth("Unique", [tensor(type, shape, values)], attributes, outputs);
      expect(own).toEqual(theirs);
    }),
    runs,
  );
});

test("The host says what contradicts an operator", () => {
  const run = (boxes: number[], scores: number[], overlap: number) =>
    hostOperators["NonMaxSuppression"]?.run(
      [
        tensor("float32", boxes, []),
        tensor("float32", scores, []),
        undefined,
        tensor("float32", [], [overlap]),
      ],
      { int: () => undefined },
    );
  expect(() => run([1, 3, 4], [1, 1, 2], 0.5)).toThrow(
    "boxes are [1,3,4] and scores [1,1,2], expected [batches, boxes, 4] and [batches, classes, boxes]",
  );
  expect(() => run([1, 2, 4], [1, 1, 2], 2)).toThrow("iou_threshold is 2, expected 0 to 1");
});

test("Integers that doubles do not hold are not compared", () => {
  const big = { type: "int64", shape: [1], values: [2 ** 53] } as const;
  expect(() => hostOperators["Unique"]?.run([big], { int: () => undefined })).toThrow("more than 53 bits");
});
