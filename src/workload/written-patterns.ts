/** @file Operators that an exporter wrote as several nodes, and a stack joins again. */
import type { Scope } from "../facts/scope.ts";
import type { Stack } from "../hardware/stacks.ts";
import type { Node } from "../ir/model.ts";
import type { Bound } from "./values.ts";
import { writtenGelus } from "./written-gelu.ts";
import { writtenNorms } from "./written-norm.ts";
import type { WrittenOut } from "./written-out.ts";
import { writtenSilus } from "./written-silu.ts";
import { writtenSplits } from "./written-split.ts";

/** Activations, norms and splits that exporters write out, each with what one kernel does for it. */
export function patternsOf(scope: Scope, { fuses }: Stack, bound: Bound): Map<Node, WrittenOut> {
  const patterns = new Map<Node, WrittenOut>();
  // Where a slice is a view, so is a split.
  const splits = fuses.views ? [] : writtenSplits(scope, bound);
  // Where chains are one kernel, so is this one.
  const silus = fuses.elementwise === "patterns" ? writtenSilus(scope, bound) : [];
  for (const written of [...writtenGelus(scope, bound), ...writtenNorms(scope, bound), ...silus, ...splits])
    for (const node of written.nodes) if (!patterns.has(node)) patterns.set(node, written);
  return patterns;
}
