/** @file Several nodes that are one piece of work, as their lowering sees them. */
import type { Value } from "../../src/ir/model.ts";
import { elementsOfFact, storageOfFact } from "../graph/known.ts";
import type { Expr } from "../ir/expr.ts";
import type { StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";
import type { CodesWanted } from "../lower/context.ts";
import type { Macro, MacroContext } from "../patterns/macro.ts";
import { BaseContext } from "./base-context.ts";
import { homeInConcat } from "./concat-in-place.ts";
import type { Frame } from "./frame.ts";
import type { PlanValues } from "./values.ts";

export class MacroLowering extends BaseContext implements MacroContext {
  readonly #macro: Macro;

  constructor(values: PlanValues, macro: Macro, frame: Frame) {
    super(values, frame);
    this.#macro = macro;
  }

  view(value: Value): View {
    return this.values.viewOf(this.values.slotOf(value, this.frame));
  }

  expr(value: Value): Expr {
    return this.chainOf(this.values.slotOf(value, this.frame), elementCount(this.outputShape()));
  }

  shape(value: Value): readonly number[] {
    return this.values.slotOf(value, this.frame).shape;
  }

  type(value: Value): StorageType {
    return this.values.typeOf(this.values.slotOf(value, this.frame));
  }

  modelType(value: Value): StorageType | undefined {
    return storageOfFact(this.frame.scope.fact(value));
  }

  elements(value: Value): readonly number[] | undefined {
    return elementsOfFact(this.frame.scope.fact(value));
  }

  output(order?: readonly number[]): View {
    const view = this.temporary(this.outputType(), this.outputShape(), order);
    this.setOutput(view);
    return view;
  }

  home(order?: readonly number[]): View | undefined {
    const { output } = this.#macro;
    const slot = this.values.slotOf(output, this.frame);
    return this.frame.homes.get(output) ?? homeInConcat(output, slot, order, this.frame, this.values);
  }

  codesBehind(): CodesWanted | undefined {
    return this.codesOf(this.#macro.output);
  }

  setOutput(view: View): void {
    this.values.setView(this.#macro.output, view, this.frame);
  }

  setExpr(expr: Expr): void {
    this.values.setExpr(this.#macro.output, expr, this.frame);
  }

  outputShape(): readonly number[] {
    return this.values.slotOf(this.#macro.output, this.frame).shape;
  }

  outputCodes(): CodeNumbers | undefined {
    return this.values.slotOf(this.#macro.output, this.frame).codes;
  }

  outputType(): StorageType {
    return this.values.slotOf(this.#macro.output, this.frame).type;
  }
}
