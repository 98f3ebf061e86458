/** @file Whatever a model says, an operator answers or names a contradiction. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { addDims, type Dim, symbol, unknownDim } from "../../src/ir/dim.ts";
import { movementOps } from "../../src/ops/movement/index.ts";
import { type Fact, ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { sequenceOps } from "../../src/ops/sequence/index.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, opContext } from "./context.ts";

const dim: fc.Arbitrary<Dim> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 5 }) },
  fc.constantFrom<Dim>(symbol("N"), addDims(symbol("N"), 1), 2 ** 40, 2 ** 53),
  fc.constant(0).map(unknownDim),
);
const element: fc.Arbitrary<Dim> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -3, max: 5 }) },
  dim,
  fc.constantFrom(2 ** 63, -(2 ** 63), 0.5, Number.NaN, Number.POSITIVE_INFINITY),
);
const dtype = fc.constantFrom("float32", "int64", "bool", "string", undefined);

const folded: fc.Arbitrary<TensorFact> = fc
  .tuple(dtype, fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }), fc.boolean())
  .chain(([type, shape]) => {
    const length = shape.reduce((product, size) => product * size, 1);
    return fc
      .array(element, { minLength: length, maxLength: length })
      .map((elements) => tensor(type, shape, elements));
  });
const shaped = fc.tuple(dtype, fc.option(fc.array(dim, { maxLength: 5 }), { nil: undefined }));
const tensorFact = fc.oneof(
  folded,
  shaped.map(([type, shape]) => tensor(type, shape)),
);
const fact: fc.Arbitrary<Fact | undefined> = fc.oneof(
  { weight: 8, arbitrary: tensorFact },
  fc.constant(undefined),
  fc
    .tuple(tensorFact, fc.option(dim, { nil: undefined }))
    .map(([item, length]): Fact => ({ kind: "sequence", element: item, length })),
  tensorFact.map((item): Fact => ({ kind: "optional", element: item })),
);

const anInt = fc.oneof(fc.integer({ min: -4, max: 6 }), fc.constantFrom(2 ** 40, -(2 ** 63)));
const someInts = fc.array(anInt, { maxLength: 5 });
const attributes = fc.record(
  {
    axis: anInt,
    start: anInt,
    end: anInt,
    blocksize: anInt,
    batch_dims: anInt,
    num_outputs: anInt,
    allowzero: fc.constantFrom(0, 1),
    keepdims: fc.constantFrom(0, 1),
    new_axis: fc.constantFrom(0, 1),
    axes: someInts,
    perm: someInts,
    split: someInts,
    pads: someInts,
    starts: someInts,
    ends: someInts,
    scales: fc.array(fc.double(), { maxLength: 5 }),
    mode: fc.constantFrom("constant", "reflect", "linear"),
    reduction: fc.constantFrom("none", "add", "mul", "max", "min", "other"),
    keep_aspect_ratio_policy: fc.constantFrom("stretch", "not_larger", "not_smaller"),
    value: tensorFact,
    dtype: anInt,
  },
  { requiredKeys: [] },
);

test.each([...movementOps, ...sequenceOps].map((op) => [op.type, op] as const))("%s", (type, op) => {
  let answered = 0;
  fc.assert(
    fc.property(
      fc.array(fact, { maxLength: 5 }),
      attributes,
      fc.integer({ min: 7, max: 28 }),
      fc.integer({ min: 1, max: 3 }),
      (inputs, given, opset, outputCount) => {
        const options: ContextOptions = { type, inputs, attributes: given, opset, outputCount };
        try {
          for (const output of op.infer(opContext(options))) {
            if (output?.kind !== "tensor" || output.elements === undefined) continue;
            const sizes = (output.shape ?? []).filter((size) => typeof size === "number");
            expect(sizes).toHaveLength(output.shape?.length ?? -1);
            expect(output.elements).toHaveLength(sizes.reduce((product, size) => product * size, 1));
          }
          answered++;
        } catch (error) {
          if (!(error instanceof ShapeError)) throw error;
        }
      },
    ),
    { numRuns: 1000 },
  );
  // SequenceMap needs a body, which no attribute here is.
  expect(answered > 0).toBe(type !== "SequenceMap");
});
