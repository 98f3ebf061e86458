/** @file What the change saves by prediction: faster convolutions, and fewer Transposes or more. */
import { evaluateDim } from "../../ir/dim.ts";
import { dtypes } from "../../ir/dtype.ts";
import type { Node, Value } from "../../ir/model.ts";
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
  if (fact?.kind !== "tensor" || fact.dtype === undefined) return 0;
  const sizes = fact.shape?.flatMap((dim) => evaluateDim(dim, pricing.bindings) ?? []);
  if (sizes?.length !== 4) return 0;
  const [batch = 1, channels = 1, height = 1, width = 1] = sizes;
  if (channels === 1 || height * width === 1) return 0;
  const rows = batch * height * width;
  const bytes = (rows * channels * dtypes[fact.dtype].bits) / 8;
  const { dtype } = fact;
  return pricing.estimate({
    kind: "traffic",
    pattern: "copy",
    rows,
    columns: channels,
    bytesRead: bytes,
    bytesWritten: bytes,
    dtype,
  });
}
