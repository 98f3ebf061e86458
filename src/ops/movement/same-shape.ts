/** @file Operators that move elements and keep the shape. */
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half, type Traits } from "../traits.ts";

/** TensorScatter writes new entries into a copy of a cache; ReverseSequence turns parts of an axis round. */
const traits: Readonly<Record<string, Traits>> = {
  ReverseSequence: { elements: "permuted", half: half(10, undefined), layout: "fixed", sameSince: 10 },
  TensorScatter: { elements: "moved", half: half(24, 24), layout: "fixed" },
};

export const sameShapeOps: readonly OpDefinition[] = Object.entries(traits).map(([type, each]) =>
  defineOp({
    domain: "",
    type,
    traits: each,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [tensor(dtype, shape)];
    },
  }),
);
