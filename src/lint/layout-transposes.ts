/** @file Transposes between products that only move the channels of a convolution's image. */

import { movesToLast, movesToSecond } from "../ops/permutations.ts";
import type { CostedProduct, LintContext, Step } from "./context.ts";
import { intsAttributeIn, isOp, ProductIndex } from "./graph.ts";
import { Neighbours } from "./neighbours.ts";
import type { Site } from "./rule.ts";

export interface LayoutTranspose extends Site {
  readonly step: Step;
  readonly perm: readonly number[];
  readonly direction: "last" | "second";
  /** Operators of the products around: the convolution whose layout it is, and what is on the other side. */
  readonly before: string;
  readonly behind: string;
}

const made = new WeakMap<LintContext, readonly LayoutTranspose[]>();

/** In graph order; looked for once, as two rules ask. */
export function layoutTransposes(context: LintContext): readonly LayoutTranspose[] {
  const known = made.get(context) ?? find(context);
  made.set(context, known);
  return known;
}

function find(context: LintContext): LayoutTranspose[] {
  const index = ProductIndex.of(context.products);
  return [...context.facts.scopes()].flatMap((scope) => {
    const neighbours = new Neighbours(scope, index);
    return scope.graph.nodes.flatMap((node): LayoutTranspose[] => {
      const perm = isOp(node, "Transpose") ? intsAttributeIn(node, "perm", scope) : undefined;
      if (perm === undefined) return [];
      const between = productsAround(perm, node, neighbours);
      const step = context.timeline.stepOf(node, scope);
      return between === undefined || step === undefined ? [] : [{ node, scope, step, perm, ...between }];
    });
  });
}

/** The convolution whose layout it is, and the product on the other side. */
function productsAround(
  perm: readonly number[],
  node: Site["node"],
  neighbours: Neighbours,
): Pick<LayoutTranspose, "direction" | "before" | "behind"> | undefined {
  const toLast = movesToLast(perm);
  const toSecond = movesToSecond(perm);
  if (!toLast && !toSecond) return undefined;
  const before = neighbours.before(node);
  const [nearBefore] = before;
  if (nearBefore === undefined) return undefined;
  const behind = neighbours.behind(node);
  const [nearBehind] = behind;
  if (nearBehind === undefined) return undefined;
  const leaves = toLast ? before.find(isChannelsSecond) : undefined;
  if (leaves !== undefined) {
    return { direction: "last", before: leaves.node.opType, behind: nearBehind.node.opType };
  }
  const enters = toSecond ? behind.find(isChannelsSecond) : undefined;
  if (enters === undefined) return undefined;
  return { direction: "second", before: nearBefore.node.opType, behind: enters.node.opType };
}

function isChannelsSecond({ sizes }: CostedProduct): boolean {
  return sizes.kind === "conv" && sizes.layout === "nchw";
}
