/** @file Operators that build, change and read sequences. Elements are referred to, not copied. */
import { addDims, type Dim, subDims } from "../../ir/dim.ts";
import { dtypeOfCode } from "../../ir/dtype.ts";
import { defineOp, type Fact, type OpContext, type OpDefinition } from "../op.ts";
import { tensor } from "../shape.ts";
import { computes, noHalf } from "../traits.ts";
import { joinAll, joinElement, oneElement, sequence, sequenceAt } from "./facts.ts";

/** Wire code of float32, what SequenceEmpty holds where it does not say. */
const defaultTypeCode = 1;

type Infer = (context: OpContext) => Fact | undefined;

const inferences: Readonly<Record<string, Infer>> = {
  SequenceConstruct: ({ inputs }) => sequence(joinAll(inputs), inputs.length),
  SequenceEmpty: (context) =>
    sequence(tensor(dtypeOfCode(context.int("dtype") ?? defaultTypeCode), undefined), 0),
  SequenceInsert(context) {
    const before = sequenceAt(context, 0);
    return sequence(joinElement(before, context.inputs[1]), changed(before.length, 1));
  },
  SequenceErase(context) {
    const before = sequenceAt(context, 0);
    return sequence(before.element, changed(before.length, -1));
  },
  SequenceAt: (context) => oneElement(sequenceAt(context, 0)),
  SequenceLength(context) {
    const { length } = sequenceAt(context, 0);
    return tensor("int64", [], length === undefined ? undefined : [length]);
  },
};

function changed(length: Dim | undefined, by: 1 | -1): Dim | undefined {
  if (length === undefined) return undefined;
  return by === 1 ? addDims(length, 1) : subDims(length, 1);
}

/** Their elements have types of their own. */
const ofSequences = computes(noHalf({ isMixed: true }));

export const basicSequenceOps: readonly OpDefinition[] = Object.entries(inferences).map(([type, infer]) =>
  defineOp({ domain: "", type, traits: ofSequences, traffic: "none", infer: (context) => [infer(context)] }),
);
