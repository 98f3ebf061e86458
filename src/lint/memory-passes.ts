/** @file Memory-bound work over a whole value: what an operator of its own costs. */
import type { Scope } from "../facts/scope.ts";
import type { Value } from "../ir/model.ts";
import type { TrafficPattern, TrafficWork } from "../ops/work.ts";
import * as extents from "../workload/extent.ts";
import type { LintContext } from "./context.ts";

/** Reads every element of a value and writes as many; undefined where its type or size is not known. */
export function passOver(
  value: Value | undefined,
  scope: Scope,
  pattern: TrafficPattern,
  { bindings }: LintContext,
): TrafficWork<number> | undefined {
  const extent = value && extents.extentOf(scope.fact(value), bindings);
  return extent && extents.passOver(extent, pattern);
}

/** The pass that changes a value's layout; undefined where both layouts are the same bytes. */
export function conversionWork(
  value: Value,
  scope: Scope,
  { bindings }: LintContext,
): TrafficWork<number> | undefined {
  return extents.layoutPass(scope.fact(value), bindings);
}
