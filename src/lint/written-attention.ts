/** @file Attention that the target runs as the several nodes it is written as. */
import { type DecomposedAttention, findAttention } from "../facts/attention.ts";
import type { Scope } from "../facts/scope.ts";
import { evaluateDim } from "../ir/dim.ts";
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
      const steps = [...found.nodes, ...found.around].flatMap((node) => timeline.stepOf(node, scope) ?? []);
      return [{ node: found.scores, scope, nodes: found.nodes, work, steps: [...new Set(steps)], runs }];
    });
  });
}
