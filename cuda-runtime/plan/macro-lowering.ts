/** @file Several nodes that are one piece of work, as their lowering sees them. */
import type { Value } from "../../src/ir/model.ts";
import { elementsOfFact } from "../graph/known.ts";
import type { Expr } from "../ir/expr.ts";
import type { StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import type { Macro, MacroContext } from "../patterns/macro.ts";
import { BaseContext } from "./base-context.ts";
import type { Frame, Planner } from "./planner.ts";

export class MacroLowering extends BaseContext implements MacroContext {
  readonly #macro: Macro;

  constructor(planner: Planner, macro: Macro, frame: Frame) {
    super(planner, frame);
    this.#macro = macro;
  }

  view(value: Value): View {
    return this.planner.viewOf(this.planner.slotOf(value, this.frame));
  }

  expr(value: Value): Expr {
    return this.chainOf(this.planner.slotOf(value, this.frame), elementCount(this.outputShape()));
  }

  shape(value: Value): readonly number[] {
    return this.planner.slotOf(value, this.frame).shape;
  }

  type(value: Value): StorageType {
    return this.planner.typeOf(this.planner.slotOf(value, this.frame));
  }

  elements(value: Value): readonly number[] | undefined {
    return elementsOfFact(this.frame.scope.fact(value));
  }

  output(order?: readonly number[]): View {
    const view = this.temporary(this.outputType(), this.outputShape(), order);
    this.setOutput(view);
    return view;
  }

  setOutput(view: View): void {
    this.planner.setView(this.#macro.output, view, this.frame);
  }

  setExpr(expr: Expr): void {
    this.planner.setExpr(this.#macro.output, expr, this.frame);
  }

  outputShape(): readonly number[] {
    return this.planner.slotOf(this.#macro.output, this.frame).shape;
  }

  outputType(): StorageType {
    return this.planner.slotOf(this.#macro.output, this.frame).type;
  }
}
