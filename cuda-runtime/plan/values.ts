/** @file What lowerings, fusions and control flow ask the planner for: the values of an instance of a graph. */
import type { Facts } from "../../src/facts/infer.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Value } from "../../src/ir/model.ts";
import type { Expr } from "../ir/expr.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { Deferred } from "./deferred.ts";
import type { PlanEmitter } from "./emitter.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { UnrolledNodes } from "./unrolled.ts";

export interface PlanValues {
  readonly emitter: PlanEmitter;
  readonly deferred: Deferred;
  /** The slot of a value as seen from a graph: its own, or one around it. */
  slotOf(value: Value, frame: Frame): Slot;
  /** The slot's value in memory, of its storage type. */
  viewOf(slot: Slot): View;
  /** The same, of the type it happens to have. */
  rawViewOf(slot: Slot): View;
  /** The type that `viewOf` has. */
  typeOf(slot: Slot): StorageType;
  /** The memory order that the slot has, or would take by itself. */
  orderOf(slot: Slot): readonly number[] | undefined;
  /** The slot's value as part of an expression. `count`: elements of what it becomes part of. */
  exprOf(slot: Slot, count: number): Expr;
  /** Makes the value of a node lazy, or stores it where its readers want it in memory. */
  setExpr(value: Value, expr: Expr, frame: Frame): void;
  /** For views handed on: a float may stay what it is. */
  setView(value: Value, view: View, frame: Frame): void;
  /** Writes the slot's value into `part`: computes it there where that is possible, else copies it. */
  place(slot: Slot, part: View): void;
  /** Whether a lazy slot that is `value` in the frame need not be stored before its readers there are lowered. */
  mayWait(slot: Slot, value: Value, frame: Frame): boolean;
}

/** What nodes with a graph inside ask for besides: that graph, lowered where they stand. */
export interface GraphLowering {
  readonly values: PlanValues;
  readonly unrolled: UnrolledNodes;
  /** As `Facts.inferBody`. */
  readonly inferBody: Facts["inferBody"];
  /** An instance of a graph, nothing of it lowered. `wanted`: the outputs that somebody reads, all unless given. */
  frameOf(scope: Scope, parent: Frame | undefined, wanted?: readonly Value[]): Frame;
  /** Lowers an instance of a graph whose inputs have slots already. */
  lowerGraph(frame: Frame): void;
}
