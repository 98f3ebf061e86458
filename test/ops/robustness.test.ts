import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Dim, symbol, unknownDim } from "../../src/ir/dim.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import { type Fact, type OpDefinition, ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { allOps } from "../../src/ops/registry.ts";
import { tensor } from "../../src/ops/shape.ts";
import { checkedOutputs } from "../../src/ops/size.ts";
import { opContext } from "./context.ts";

// A model may say anything: whatever the inputs and attributes, an operator answers or names a contradiction.

const size: fc.Arbitrary<Dim> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 2, arbitrary: fc.constantFrom("N", "M").map(symbol) },
  { weight: 1, arbitrary: fc.constant(0).map(unknownDim) },
);
const whole: fc.Arbitrary<Dim> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 9 }) },
  { weight: 2, arbitrary: size },
  { weight: 1, arbitrary: fc.constantFrom(2 ** 63, -(2 ** 63)) },
);
const real: fc.Arbitrary<Dim> = fc.oneof(whole, fc.constantFrom(0.5, -0, Number.NaN, Infinity, -Infinity));
const dtype = fc.option(fc.constantFrom(...(Object.keys(dtypes) as DType[])), { nil: undefined });
const anyTensor: fc.Arbitrary<TensorFact> = fc
  .tuple(dtype, fc.option(fc.array(size, { maxLength: 5 }), { nil: undefined }))
  .map(([type, shape]) => tensor(type, shape));
/** A vector, or a scalar. */
const constant: fc.Arbitrary<TensorFact> = fc
  .tuple(fc.constantFrom<DType>("int64", "int64", "int32", "uint8", "bool", "float32"), fc.boolean())
  .chain(([type, scalar]) =>
    fc
      .array(type === "float32" ? real : whole, { minLength: Number(scalar), maxLength: scalar ? 1 : 5 })
      .map((elements) => tensor(type, scalar ? [] : [elements.length], elements)),
  );
const fact: fc.Arbitrary<Fact | undefined> = fc.oneof(
  { weight: 4, arbitrary: anyTensor },
  { weight: 4, arbitrary: constant },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Fact | undefined>(
      undefined,
      { kind: "map" },
      { kind: "sequence", element: undefined },
      { kind: "optional", element: tensor("float32", [2]) },
    ),
  },
);

const integer = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constantFrom(16, 2 ** 31, -(2 ** 53)));
/** Attributes by the names that operators read, of mostly the right kind. */
const attributes = fc.record(
  {
    ...Object.fromEntries(
      [
        ..."axis keepdims ceil_mode num_groups k to dtype stash_type size sample_size onesided inverse group".split(
          " ",
        ),
        ..."output_height output_width batch_axis num_outputs hidden_size blocksize saturate block_size start end".split(
          " ",
        ),
        ..."q_num_heads kv_num_heads num_heads noop_with_empty_axes allowzero spatial fmod exclusive reverse".split(
          " ",
        ),
      ].map((name) => [name, integer] as const),
    ),
    ...Object.fromEntries(
      [
        ..."kernel_shape strides dilations pads axes shape pooled_shape output_shape output_padding perm split".split(
          " ",
        ),
        ..."ngram_indexes classlabels_ints inputdimensions cats_int64s starts ends repeats value_ints".split(
          " ",
        ),
      ].map((name) => [name, fc.array(integer, { maxLength: 6 })] as const),
    ),
    auto_pad: fc.constantFrom("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "?"),
    reduction: fc.constantFrom("none", "mean", "sum"),
    equation: fc.constantFrom("ij,jk->ik", "...i,i", "ii", "i->", "", ",,->", "a b"),
    direction: fc.constantFrom("LEFT", "forward", "bidirectional"),
    mode: fc.constantFrom("DCR", "linear", "CRD"),
    value: constant,
  },
  { requiredKeys: [] },
);
const scenario = fc.record({
  opset: fc.integer({ min: 7, max: 28 }),
  inputs: fc.array(fact, { maxLength: 6 }),
  attributes,
  outputCount: fc.integer({ min: 1, max: 4 }),
});

describe.each([...allOps()].map((op) => [`${op.domain}::${op.type}`, op] as const))(
  "%s",
  (_, op: OpDefinition) => {
    test("answers, or names a contradiction", () => {
      fc.assert(
        fc.property(scenario, (options) => {
          const context = opContext({ type: op.type, domain: op.domain, ...options });
          try {
            const outputs = checkedOutputs(op.infer(context));
            for (const output of outputs) expectSound(output);
            for (const work of op.work?.({ ...context, outputs }) ?? [])
              expect(work.kind).toBeTypeOf("string");
          } catch (error) {
            if (!(error instanceof ShapeError)) throw error;
          }
        }),
        { numRuns: 300 },
      );
    });
  },
);

function expectSound(output: Fact | undefined): void {
  if (output?.kind !== "tensor") return;
  if (output.elements === undefined) return;
  // Elements come with a shape of plain numbers, one for each.
  const count = (output.shape ?? [symbol("?")]).reduce<Dim>(
    (total, dim) => (typeof total === "number" && typeof dim === "number" ? total * dim : symbol("?")),
    1,
  );
  expect(count === output.elements.length, `${output.elements.length} elements of ${count}`).toBe(true);
}
