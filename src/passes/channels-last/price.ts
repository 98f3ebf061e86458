/** @file What the change saves by prediction: faster convolutions, and fewer Transposes or more. */
import type { Node, Value } from "../../ir/model.ts";
import type { ConvWork } from "../../ops/work.ts";
import { layoutPass } from "../../workload/extent.ts";
import type { PassContext } from "../pass.ts";

/** Microseconds that NHWC takes off a convolution; 0 for one whose sizes are not known. */
export function gainOf(node: Node, context: PassContext): number {
  const known = gains.get(context) ?? gainsOf(context);
  gains.set(context, known);
  return known.get(node) ?? 0;
}

const gains = new WeakMap<PassContext, ReadonlyMap<Node, number>>();

/** Of every convolution of the main graph; many have the same sizes. */
function gainsOf({ products, pricing }: PassContext): Map<Node, number> {
  const bySizes = new Map<ConvWork<number>, number>();
  const byNode = new Map<Node, number>();
  for (const { node, scope, sizes, runs } of products) {
    if (!scope.isMain || sizes.kind !== "conv") continue;
    const once =
      bySizes.get(sizes) ?? pricing.estimate(sizes) - pricing.estimate({ ...sizes, layout: "nhwc" });
    bySizes.set(sizes, once);
    byNode.set(node, (byNode.get(node) ?? 0) + runs * once);
  }
  return byNode;
}

/** Microseconds of the Transpose that turns a value; 0 where both layouts are the same bytes, or sizes are not known. */
export function transposeCost(value: Value, { facts, pricing }: PassContext): number {
  const fact = facts.root.fact(value);
  if (fact?.kind !== "tensor" || fact.shape?.length !== 4) return 0;
  const copy = layoutPass(fact, pricing.bindings);
  return copy === undefined ? 0 : pricing.estimate(copy);
}
