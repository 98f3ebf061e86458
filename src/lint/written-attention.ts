/** @file Attention that the target runs as the several nodes it is written as. */
import { type DecomposedAttention, findAttention } from "../facts/attention.ts";
import { turnsRows } from "../facts/attention-operator.ts";
import type { Scope } from "../facts/scope.ts";
import type { Stack } from "../hardware/stacks.ts";
import { evaluateDim } from "../ir/dim.ts";
import type { Node } from "../ir/model.ts";
import { isTranspose } from "../ops/ask.ts";
import { type AttentionWork, bindWork, type Work } from "../ops/work.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";

export interface WrittenAttention {
  /** The product of queries and keys. */
  readonly node: DecomposedAttention["scores"];
  readonly scope: Scope;
  readonly nodes: DecomposedAttention["nodes"];
  /** What one kernel would compute. */
  readonly work: AttentionWork<number>;
  /** Kernels that run now, and not with one for all: its products, passes over the scores, and copies of heads that its operator needs no more. */
  readonly steps: readonly Step[];
  /** Of these, the copies that run all the same in another form, with rows of heads as they are. */
  readonly kept: readonly Work<number>[];
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
      const around = found.around.filter((node) => isSpared(node, scope, target.stack));
      const steps = stepsOf({ ...found, around }, (node) => timeline.stepOf(node, scope));
      const kept = target.stack.fuses.views ? [] : steps.flatMap((step) => inRows(step, work.headDim));
      return [{ node: found.scores, scope, nodes: found.nodes, work, steps, kept, runs }];
    });
  });
}

/**
 * Whether a copy of heads does not run as it is around ONNX's Attention. Where Transposes are kernels, that wants
 * [batch, heads, length, head_dim] in memory as the first product does, and gives out the same; only keys need not be turned for it.
 */
function isSpared(node: Node, scope: Scope, { fuses }: Stack): boolean {
  if (fuses.views) return !node.outputs.some((output) => output?.isOutput);
  return !isTranspose(node) || turnsRows(node, scope) !== undefined;
}

/** What is left of a copy that turns keys on their way to their heads: the way. */
function inRows({ nodes, scope, work }: Step, headDim: number): readonly Work<number>[] {
  const isLeft = nodes.length === 1 && nodes.every((node) => turnsRows(node, scope) === "with others");
  if (!isLeft || work.kind !== "traffic") return [];
  return [{ ...work, rows: (work.rows * work.columns) / headDim, columns: headDim }];
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
