/** @file The part of a lowering's context that every kind has: what emits kernels, with waiting products launched first. */

import type { Value } from "../../src/ir/model.ts";
import type { Emitter } from "../ir/emitter.ts";
import type { Expr } from "../ir/expr.ts";
import type { Question } from "../ir/question.ts";
import type { Launch, PlanTarget } from "../ir/step.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { CodesWanted } from "../lower/context.ts";
import { codesBehind } from "./codes-behind.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

export abstract class BaseContext implements Emitter {
  readonly target: PlanTarget;
  readonly tf32: boolean;
  protected readonly values: PlanValues;
  protected readonly frame: Frame;

  constructor(values: PlanValues, frame: Frame) {
    this.values = values;
    this.frame = frame;
    this.target = values.emitter.target;
    this.tf32 = values.emitter.tf32;
  }

  launch(launch: Launch): void {
    this.values.emitter.launch(launch);
  }

  choose<Way>(question: Question<Way>): boolean {
    return this.values.emitter.choose(question);
  }

  clear(view: View): void {
    this.values.emitter.clear(view);
  }

  temporary(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    return this.values.emitter.temporary(type, shape, order);
  }

  constant(type: StorageType, shape: readonly number[], values: readonly number[]): View {
    return this.values.emitter.constant(type, shape, values);
  }

  copy(from: View, to: View): void {
    this.values.emitter.copy(from, to);
  }

  packed(view: View, options?: { readonly order?: readonly number[]; readonly type?: StorageType }): View {
    return this.values.emitter.packed(view, options);
  }

  evaluate(expr: Expr, shape: readonly number[], type: StorageType, order?: readonly number[]): View {
    return this.values.emitter.evaluate(expr, shape, type, order);
  }

  evaluateInto(expr: Expr, to: View): void {
    this.values.emitter.evaluateInto(expr, to);
  }

  isConstant(view: View): boolean {
    return this.values.emitter.isConstant(view);
  }

  protected codesOf(value: Value): CodesWanted | undefined {
    return codesBehind(value, this.frame, this.values);
  }

  /** For an operator that is no part of a chain: whatever product the slot waits for is launched. */
  protected chainOf(slot: Slot, count: number): Expr {
    this.values.deferred.launchProduct(slot);
    return this.values.exprOf(slot, count);
  }
}
