/** @file Optional values: a tensor or sequence that may be absent. */
import { defineOp, type Fact, type OpContext, type OpDefinition } from "../op.ts";
import { tensor } from "../shape.ts";
import { computes, noHalf } from "../traits.ts";

const inferences: Readonly<Record<string, (context: OpContext) => Fact | undefined>> = {
  Optional: ({ inputs }) => ({ kind: "optional", element: inputs[0] }),
  // Since opset 18 the input may also be the element itself.
  OptionalGetElement: ({ inputs: [fact] }) => (fact?.kind === "optional" ? fact.element : fact),
  OptionalHasElement({ inputs: [fact] }) {
    if (fact === undefined) return tensor("bool", [], [0]);
    return tensor("bool", [], fact.kind === "optional" ? undefined : [1]);
  },
};

const ofOptional = computes(noHalf({ isMixed: true }));

export const optionalOps: readonly OpDefinition[] = Object.entries(inferences).map(([type, infer]) =>
  defineOp({ domain: "", type, traits: ofOptional, traffic: "none", infer: (context) => [infer(context)] }),
);
