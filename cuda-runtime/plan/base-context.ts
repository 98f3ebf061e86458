/** @file The part of a lowering's context that every kind has: what emits kernels, with waiting products launched first. */

import type { Emitter } from "../ir/emitter.ts";
import type { Expr } from "../ir/expr.ts";
import type { Launch, PlanTarget } from "../ir/step.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { Frame, Planner } from "./planner.ts";
import type { Slot } from "./slots.ts";

export abstract class BaseContext implements Emitter {
  readonly target: PlanTarget;
  readonly tf32: boolean;
  protected readonly planner: Planner;
  protected readonly frame: Frame;

  constructor(planner: Planner, frame: Frame) {
    this.planner = planner;
    this.frame = frame;
    this.target = planner.emitter.target;
    this.tf32 = planner.emitter.tf32;
  }

  launch(launch: Launch): void {
    this.planner.emitter.launch(launch);
  }

  clear(view: View): void {
    this.planner.emitter.clear(view);
  }

  temporary(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    return this.planner.emitter.temporary(type, shape, order);
  }

  constant(type: StorageType, shape: readonly number[], values: readonly number[]): View {
    return this.planner.emitter.constant(type, shape, values);
  }

  copy(from: View, to: View): void {
    this.planner.emitter.copy(from, to);
  }

  packed(view: View, options?: { readonly order?: readonly number[]; readonly type?: StorageType }): View {
    return this.planner.emitter.packed(view, options);
  }

  evaluate(expr: Expr, shape: readonly number[], type: StorageType, order?: readonly number[]): View {
    return this.planner.emitter.evaluate(expr, shape, type, order);
  }

  evaluateInto(expr: Expr, to: View): void {
    this.planner.emitter.evaluateInto(expr, to);
  }

  isConstant(view: View): boolean {
    return this.planner.emitter.isConstant(view);
  }

  /** For an operator that is no part of a chain: whatever product the slot waits for is launched. */
  protected chainOf(slot: Slot, count: number): Expr {
    this.planner.deferred.launchProduct(slot);
    return this.planner.exprOf(slot, count);
  }
}
