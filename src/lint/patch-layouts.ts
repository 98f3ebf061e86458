/** @file Passes between layouts around convolutions over patches, on a stack that turns convolutions to NHWC: as they are, and as they are with products instead. */
import type { Scope } from "../facts/scope.ts";
import { push } from "../ir/group.ts";
import type { Node } from "../ir/model.ts";
import { permutationOf } from "../ops/ask.ts";
import { transposeWork } from "../ops/movement/transpose.ts";
import { bindWork, type Work } from "../ops/work.ts";
import { choosesLayout, type Turned, turnedLayout } from "../workload/turned-layout.ts";
import { sizesOf } from "../workload/values.ts";
import type { LintContext } from "./context.ts";
import type { Site } from "./rule.ts";

/** What one of them has around it, and the nodes for which that is run. */
export interface PassesAround {
  readonly before: readonly Work<number>[];
  readonly after: readonly Work<number>[];
  readonly sites: readonly Site[];
}

/** A convolution that becomes a product, and the Transposes that go with it; none are known to where its image is read as the file has it. */
export interface AsRows {
  readonly node: Node;
  readonly transposes: readonly Node[] | undefined;
}

export const noPasses: PassesAround = { before: [], after: [], sites: [] };

/** Of convolutions of one graph that become products together, by node; where several do, a pass is of the one before it. */
export function passesAround(
  all: readonly AsRows[],
  scope: Scope,
  context: LintContext,
): (node: Node) => PassesAround {
  const { stack } = context.target;
  const before = choosesLayout(stack) ? turnedLayout(scope, stack, context) : undefined;
  if (before === undefined) return () => noPasses;
  const asRows = new Map(all.map(({ node, transposes }) => [node, transposes ? "file" : "last"] as const));
  const after = turnedLayout(scope, stack, context, asRows);
  const gone = new Set(all.flatMap(({ transposes }) => transposes ?? []));
  const passesOf = (node: Node, turned: Turned | undefined) => [
    ...(turned?.conversions.get(node) ?? []),
    ...(turned?.cancelled.has(node) === true ? [] : transposeOf(node, scope, context)),
  ];
  const changed = new Map<Node, PassesAround[]>();
  let [owner] = asRows.keys();
  for (const node of scope.graph.nodes) {
    if (asRows.has(node)) owner = node;
    if (owner === undefined || gone.has(node) || !differs(node, before, after)) continue;
    push(changed, owner, {
      before: passesOf(node, before),
      after: passesOf(node, after),
      sites: [{ node, scope }],
    });
  }
  return (node) => together(changed.get(node) ?? []);
}

function differs(node: Node, before: Turned, after: Turned | undefined): boolean {
  const countOf = (turned: Turned | undefined) => turned?.conversions.get(node)?.length ?? 0;
  return (
    countOf(before) !== countOf(after) || before.cancelled.has(node) !== (after?.cancelled.has(node) === true)
  );
}

function transposeOf(node: Node, scope: Scope, context: LintContext): Work<number>[] {
  const order = permutationOf(node);
  const [image] = node.inputs;
  const fact = image === undefined ? undefined : scope.fact(image);
  const sizes = image === undefined ? undefined : sizesOf(image, scope, context);
  if (order === undefined || sizes === undefined || fact?.kind !== "tensor" || fact.dtype === undefined)
    return [];
  return transposeWork(sizes, order, fact.dtype).flatMap((work) => bindWork(work, context.bindings) ?? []);
}

function together(parts: readonly PassesAround[]): PassesAround {
  return {
    before: parts.flatMap(({ before }) => before),
    after: parts.flatMap(({ after }) => after),
    sites: parts.flatMap(({ sites }) => sites),
  };
}
