/** @file Operators that move elements and keep the shape. */
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";

/** TensorScatter writes new entries into a copy of a cache; ReverseSequence turns parts of an axis round. */
export const sameShapeOps: readonly OpDefinition[] = ["ReverseSequence", "TensorScatter"].map((type) =>
  defineOp({
    domain: "",
    type,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [tensor(dtype, shape)];
    },
  }),
);
