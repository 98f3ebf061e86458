/** @file What kernels and lowerings emit their launches into. */
import type { Expr } from "./expr.ts";
import type { Question } from "./question.ts";
import type { Launch, PlanTarget } from "./step.ts";
import type { StorageType } from "./storage.ts";
import type { View } from "./view.ts";

/** What emits kernels, whatever operator they are for. */
export interface Emitter {
  readonly target: PlanTarget;
  /** Products of float32 may round their operands to TF32. */
  readonly tf32: boolean;
  launch(launch: Launch): void;
  /** Emits one of several ways to compute the same. False where there is none. */
  choose<Way>(question: Question<Way>): boolean;
  /** Zeroes a packed view at this point of every run. */
  clear(view: View): void;
  /** Memory for the time it is used; row-major unless an order of axes (outermost first) is given. */
  temporary(type: StorageType, shape: readonly number[], order?: readonly number[]): View;
  /** A constant from numbers, uploaded once; row-major. */
  constant(type: StorageType, shape: readonly number[], values: readonly number[]): View;
  /** Writes `from` into `to`, elementwise: other strides, other type (float to float, or integers), broadcasting. */
  copy(from: View, to: View): void;
  /** The view itself where its elements are packed in `order` (row-major unless given) and of `type`, else a copy. */
  packed(view: View, options?: { readonly order?: readonly number[]; readonly type?: StorageType }): View;
  /** Evaluates an expression into memory: `to`, or new memory of its shape (row-major unless `order` is given). */
  evaluate(expr: Expr, shape: readonly number[], type: StorageType, order?: readonly number[]): View;
  evaluateInto(expr: Expr, to: View): void;
  /** Whether nothing but constants and weights goes into it: steps on such views run once, before the first run. */
  isConstant(view: View): boolean;
}
