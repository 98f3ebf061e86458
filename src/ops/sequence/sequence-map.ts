import { unknownDim } from "../../ir/dim.ts";
import { defineOp, ShapeError } from "../op.ts";
import { noHalf } from "../traits.ts";
import { oneElement, sequence, sequenceAt } from "./facts.ts";

/** The body run once an element of input 0; further inputs are sequences walked alongside, or tensors kept whole. */
export const sequenceMap = defineOp({
  domain: "",
  type: "SequenceMap",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  traffic: "none",
  infer(context) {
    const body = context.graph("body");
    if (body === undefined) throw new ShapeError("SequenceMap has no body");
    const { length } = sequenceAt(context, 0);
    const inputs = context.inputs.map((fact, index) =>
      index === 0 || fact?.kind === "sequence" ? oneElement(sequenceAt(context, index)) : fact,
    );
    const outputs = context.inferGraph(body, inputs, () => length ?? unknownDim());
    return outputs.map((element) => sequence(element, length));
  },
});
