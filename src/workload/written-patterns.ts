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
import { writtenSums } from "./written-sum.ts";

/** Activations, norms and splits that exporters write out, each with what one kernel does for it. */
export function patternsOf(scope: Scope, { fuses }: Stack, bound: Bound): Map<Node, WrittenOut> {
  const patterns = new Map<Node, WrittenOut>();
  // Where a slice is a view, so is a split.
  const splits = fuses.views ? [] : writtenSplits(scope, bound);
  // Where chains are one kernel, so are these.
  const isJoining = fuses.elementwise === "patterns";
  const norms = writtenNorms(scope, bound);
  const joined = isJoining ? [...writtenSums(scope, norms, bound), ...writtenSilus(scope, bound)] : [];
  // A norm with the sum before it goes before the norm alone.
  for (const written of [...joined, ...writtenGelus(scope, bound), ...norms, ...splits]) {
    if (written.nodes.some((node) => patterns.has(node))) continue;
    for (const node of written.nodes) patterns.set(node, written);
  }
  return patterns;
}
