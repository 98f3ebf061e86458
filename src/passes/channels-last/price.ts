/** @file What the change saves by prediction: faster convolutions, and fewer Transposes or more. */
import type { Node, Value } from "../../ir/model.ts";
import { layoutPass } from "../../workload/extent.ts";
import type { PassContext } from "../pass.ts";

/** Microseconds that NHWC takes off a convolution; 0 for one whose sizes are not known. */
export function gainOf(node: Node, { products, pricing }: PassContext): number {
  let gain = 0;
  for (const { node: owner, scope, sizes, runs } of products) {
    if (owner !== node || !scope.isMain || sizes.kind !== "conv") continue;
    gain += runs * (pricing.estimate(sizes) - pricing.estimate({ ...sizes, layout: "nhwc" }));
  }
  return gain;
}

/** Microseconds of the Transpose that turns a value; 0 where both layouts are the same bytes, or sizes are not known. */
export function transposeCost(value: Value, { facts, pricing }: PassContext): number {
  const fact = facts.root.fact(value);
  if (fact?.kind !== "tensor" || fact.shape?.length !== 4) return 0;
  const copy = layoutPass(fact, pricing.bindings);
  return copy === undefined ? 0 : pricing.estimate(copy);
}
