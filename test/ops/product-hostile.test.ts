/** @file Products, quantization and com.microsoft under drawn nonsense: a ShapeError or facts, never another error. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Dim, symbol, unknownDim } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { microsoftOps } from "../../src/ops/microsoft/index.ts";
import { type Fact, type OpDefinition, ShapeError } from "../../src/ops/op.ts";
import { productOps } from "../../src/ops/product/index.ts";
import { quantizationOps } from "../../src/ops/quantization/index.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, opContext } from "./context.ts";

const dim: fc.Arbitrary<Dim> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 2, 3, 4, 8, 16) },
  fc.constantFrom("N", "S").map(symbol),
  fc.constant(undefined).map(() => unknownDim()),
);
const dtype = fc.constantFrom<DType | undefined>(
  "float32",
  "float32",
  "float16",
  "uint8",
  "int32",
  "int4",
  undefined,
);

const fact: fc.Arbitrary<Fact | undefined> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(dtype, fc.option(fc.array(dim, { maxLength: 5 })))
      .map(([type, shape]) => tensor(type, shape ?? undefined)),
  },
  fc.array(dim, { maxLength: 4 }).map((elements) => tensor("int64", [elements.length], elements)),
  fc.constant(undefined),
  fc.constant<Fact>({ kind: "sequence", element: undefined }),
);

const integer = fc.constantFrom(-2, -1, 0, 1, 2, 4, 8);
const integers = fc.array(integer, { maxLength: 4 });
const optional = { requiredKeys: [] as [] };

/** Every attribute that these operators read. */
const attributes: fc.Arbitrary<ContextOptions["attributes"] & object> = fc.record(
  {
    ...Object.fromEntries(
      [
        "group",
        "axis",
        "transA",
        "transB",
        "transBatchA",
        "K",
        "N",
        "Nq",
        "Nkv",
        "bits",
        "num_heads",
        "kv_num_heads",
        "q_num_heads",
        "hidden_size",
        "layout",
        "k",
        "keepdims",
        "channels_last",
        "ceil_mode",
        "state_window",
        "ndim",
        "dilation",
        "size",
        "step",
        "dim",
        "output_dtype",
        "v_head_size",
        "gather_axis",
        "is_causal",
        "swiglu_fusion",
      ].map((name) => [name, integer]),
    ),
    ...Object.fromEntries(
      [
        "strides",
        "dilations",
        "pads",
        "kernel_shape",
        "output_shape",
        "output_padding",
        "axes",
        "qkv_hidden_sizes",
        "border",
        "scale",
      ].map((name) => [name, integers]),
    ),
    auto_pad: fc.constantFrom("NOTSET", "SAME_UPPER", "VALID", "odd"),
    direction: fc.constantFrom("forward", "bidirectional", "odd"),
    update_rule: fc.constantFrom("linear", "delta", "odd"),
    equation: fc.constantFrom("ij,jk->ik", "...ij,...jk", "ii", "a,b,c->cab", "->", "ij,", "i..j", ""),
  },
  optional,
);

const definitions = [...productOps, ...quantizationOps, ...microsoftOps];

it.each(definitions.map((definition) => [`${definition.domain}::${definition.type}`, definition] as const))(
  "%s",
  (_name, definition) => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 10 }), attributes, (inputs, drawn) =>
        tryBoth(definition, inputs, drawn),
      ),
      { numRuns: 300, seed: 20261121 },
    );
  },
);

function tryBoth(
  definition: OpDefinition,
  inputs: readonly (Fact | undefined)[],
  drawn: ContextOptions["attributes"] & object,
) {
  const { domain, type } = definition;
  const context = opContext({ domain, type, inputs, attributes: drawn });
  try {
    const outputs = definition.infer(context);
    for (const output of outputs) expectIntegers(output?.kind === "tensor" ? (output.shape ?? []) : []);
    for (const work of definition.work?.({ ...context, outputs }) ?? []) {
      // Of weights in few bits, with the scales of their blocks: a mean.
      const { weightBits, ...sizes } = { weightBits: undefined, ...work };
      expect(weightBits === undefined || (weightBits > 0 && Number.isFinite(weightBits))).toBe(true);
      expectIntegers(
        Object.values(sizes)
          .flat()
          .filter((field) => typeof field === "number"),
      );
    }
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
  }
}

function expectIntegers(dims: readonly Dim[]): void {
  expect(dims.filter((size) => typeof size === "number" && !Number.isSafeInteger(size))).toEqual([]);
}
