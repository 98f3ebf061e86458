/** @file Attention that the target runs as the several nodes it is written as. */
import { type DecomposedAttention, findAttention } from "../facts/attention.ts";
import type { Scope } from "../facts/scope.ts";
import { evaluateDim } from "../ir/dim.ts";
import type { Node } from "../ir/model.ts";
import { type AttentionWork, bindWork } from "../ops/work.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";

export interface WrittenAttention {
  /** The product of queries and keys. */
  readonly node: DecomposedAttention["scores"];
  readonly scope: Scope;
  readonly nodes: DecomposedAttention["nodes"];
  /** What one kernel would compute. */
  readonly work: AttentionWork<number>;
  /** Kernels that run now: its products, passes over the scores, and copies that bring heads there and back. */
  readonly steps: readonly Step[];
  /** How often it runs in one run of the model. */
  readonly runs: number;
}

/** None on a target that sees it as one piece of work itself. */
export function writtenAttention({ facts, target, timeline, bindings }: Workload): WrittenAttention[] {
  if (target.stack.fuses.attention) return [];
  return [...facts.scopes()].flatMap((scope) => {
    const runs = evaluateDim(scope.totalRepeat, bindings) ?? 1;
    return [...findAttention(scope).found.values()].flatMap((found): WrittenAttention[] => {
      const work = bindWork(found.work, bindings);
      if (work?.kind !== "attention") return [];
      const steps = stepsOf(found, (node) => timeline.stepOf(node, scope));
      return [{ node: found.scores, scope, nodes: found.nodes, work, steps, runs }];
    });
  });
}

/** A kernel that computes something else besides, as rotary embeddings with the scale of queries at their end, still runs where attention is one. */
function stepsOf(found: DecomposedAttention, stepOf: (node: Node) => Step | undefined): Step[] {
  const own = new Set([...found.nodes, ...found.around]);
  const core = [found.scores, found.softmax, found.output];
  const steps = new Set([...own].flatMap((node) => stepOf(node) ?? []));
  return [...steps].filter(
    ({ nodes }) => core.some((node) => nodes.includes(node)) || nodes.every((node) => own.has(node)),
  );
}
