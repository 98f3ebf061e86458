/** @file A workload's kernels where its stack turns convolutions to NHWC, and did not before: fewer Transposes, other passes. */
import type { CostModel } from "../cost/model.ts";
import { isNhwcCall } from "../facts/nhwc-body.ts";
import type { Scope } from "../facts/scope.ts";
import type { Target } from "../hardware/target.ts";
import { evaluateDim } from "../ir/dim.ts";
import type { Node } from "../ir/model.ts";
import type { Work } from "../ops/work.ts";
import { type Step, stepOf } from "./timeline.ts";
import { type Turned, turnedLayout } from "./turned-layout.ts";
import type { Workload } from "./workload.ts";

/** Whether a file spells NHWC itself, by functions that are undone otherwise on either stack. */
export function spellsNhwc({ facts }: Workload): boolean {
  return facts.root.graph.nodes.some(isNhwcCall);
}

/** Undefined where the stack of `target` converts nothing. Kernels of the workload stay as they are priced. */
export function turnedSteps(
  { facts, bindings, timeline }: Workload,
  target: Target,
  cost: CostModel,
): readonly Step[] | undefined {
  const turnedBy = new Map<Scope, Turned>();
  for (const scope of facts.scopes()) {
    const turned = turnedLayout(scope, target.stack, { bindings });
    if (turned !== undefined) turnedBy.set(scope, turned);
  }
  if (turnedBy.size === 0) return undefined;
  const conversions = new Conversions(turnedBy, bindings, { target, cost });
  const kept = timeline.steps.flatMap((step) => {
    const { scope, nodes } = step;
    const cancelled = turnedBy.get(scope)?.cancelled;
    if (cancelled !== undefined && nodes.every((node) => cancelled.has(node))) return [];
    return [...nodes.flatMap((node) => conversions.take(scope, node)), step];
  });
  return [...kept, ...conversions.left()];
}

class Conversions {
  readonly #left: Map<Scope, Map<Node, readonly Work<number>[]>>;
  readonly #bindings: ReadonlyMap<string, number>;
  readonly #priced: { readonly target: Target; readonly cost: CostModel };

  constructor(
    turnedBy: ReadonlyMap<Scope, Turned>,
    bindings: ReadonlyMap<string, number>,
    priced: { readonly target: Target; readonly cost: CostModel },
  ) {
    this.#left = new Map([...turnedBy].map(([scope, { conversions }]) => [scope, new Map(conversions)]));
    this.#bindings = bindings;
    this.#priced = priced;
  }

  /** Of one node, once. */
  take(scope: Scope, node: Node): Step[] {
    const ofScope = this.#left.get(scope);
    const works = ofScope?.get(node) ?? [];
    ofScope?.delete(node);
    return works.map((work) => this.#step(scope, node, work));
  }

  /** Of nodes that have no kernel. */
  left(): Step[] {
    return [...this.#left].flatMap(([scope, ofScope]) =>
      [...ofScope].flatMap(([node, works]) => works.map((work) => this.#step(scope, node, work))),
    );
  }

  #step(scope: Scope, node: Node, work: Work<number>): Step {
    const runs = evaluateDim(scope.totalRepeat, this.#bindings) ?? 1;
    const kernel = { nodes: [node], work, product: undefined, part: "conversion" } as const;
    return stepOf(kernel, { scope, runs }, this.#priced);
  }
}
