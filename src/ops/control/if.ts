/** @file If: one branch where the condition is a constant, what both have in common otherwise. */
import { textOf } from "../../ir/message.ts";
import { defineOp, ShapeError } from "../op.ts";
import { numbersAt } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { Join } from "./join.ts";

export const ifOp = defineOp({
  domain: "",
  type: "If",
  traits: {
    elements: "computed",
    half: noHalf({ isMixed: true }),
    layout: "fixed",
    sameSince: 7,
    uses: { 0: { kind: "mask" } },
    keepsDigits: true,
  },
  traffic: "none",
  infer(context) {
    const thenBranch = context.graph("then_branch");
    const elseBranch = context.graph("else_branch");
    if (thenBranch === undefined || elseBranch === undefined) {
      throw new ShapeError("If needs a then_branch and an else_branch");
    }
    const condition = numbersAt(context, 0)?.[0];
    if (condition !== undefined) return context.inferGraph(condition === 0 ? elseBranch : thenBranch, []);
    const onTrue = context.inferGraph(thenBranch, []);
    const onFalse = context.inferGraph(elseBranch, []);
    if (onTrue.length !== onFalse.length) {
      throw new ShapeError(textOf`the branches have ${onTrue.length} and ${onFalse.length} outputs`);
    }
    const join = new Join();
    return onTrue.map((fact, index) => join.facts(fact, onFalse[index]));
  },
});
