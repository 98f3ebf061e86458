/** @file Memory-bound work over a whole value: what an operator of its own costs. */
import type { Scope } from "../facts/scope.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Value } from "../ir/model.ts";
import type { TrafficPattern, TrafficWork } from "../ops/work.ts";
import type { LintContext } from "./context.ts";
import { dtypeOf, sizesOf } from "./graph.ts";

/** Reads every element of a value and writes as many; undefined where its type or size is not known. */
export function passOver(
  value: Value | undefined,
  scope: Scope,
  pattern: TrafficPattern,
  context: LintContext,
): TrafficWork<number> | undefined {
  const sizes = value && sizesOf(value, scope, context);
  const dtype = dtypeOf(value, scope);
  if (sizes === undefined || dtype === undefined) return undefined;
  const columns = sizes.at(-1) ?? 1;
  const elements = sizes.reduce((total, size) => total * size, 1);
  const bytes = (elements * dtypes[dtype].bits) / 8;
  const rows = elements / Math.max(columns, 1);
  return { kind: "traffic", pattern, rows, columns, bytesRead: bytes, bytesWritten: bytes, dtype };
}
