/** @file Random tensors: sizes are given, elements never known. */
import { type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAttribute } from "../elementwise/cast.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { checkedSize } from "../size.ts";
import { computes, noHalf } from "../traits.ts";

/** The type an attribute names, or a default where it is absent; a type newer than tc-lint stays unknown. */
export function dtypeOr(context: OpContext, name: string, fallback: DType | undefined): DType | undefined {
  return context.has(name) ? dtypeAttribute(context, name) : fallback;
}

function generator(
  type: string,
  result: (context: OpContext) => readonly [DType | undefined, Shape | undefined],
) {
  return defineOp({
    domain: "",
    type,
    traits: computes(noHalf({ isMixed: true })),
    random: "always",
    infer: (context) => [tensor(...result(context))],
    traffic: "elementwise",
  });
}

const byAttribute = ["RandomNormal", "RandomUniform"].map((type) =>
  generator(type, (context) => [
    dtypeOr(context, "dtype", "float32"),
    context.ints("shape")?.map((size) => checkedSize(size, "shape")),
  ]),
);

/** Of an input's shape, and of its type unless one is named. */
const byInput = ["RandomNormalLike", "RandomUniformLike", "Bernoulli"].map((type) =>
  generator(type, (context) => {
    const { dtype, shape } = tensorAt(context, 0);
    return [dtypeOr(context, "dtype", dtype), shape];
  }),
);

/** Probabilities [N, classes] to samples [N, sample_size]. */
const multinomial = generator("Multinomial", (context) => [
  dtypeOr(context, "dtype", "int32"),
  [
    tensorAt(context, 0).shape?.[0] ?? unknownDim(),
    checkedSize(context.int("sample_size") ?? 1, "sample_size"),
  ],
]);

export const randomOps: readonly OpDefinition[] = [...byAttribute, ...byInput, multinomial];
