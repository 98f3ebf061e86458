/** @file Values whose range says something about half precision. */
import type { BindOptions } from "../facts/bind.ts";
import { inferFacts } from "../facts/infer.ts";
import { isStored } from "../facts/stored.ts";
import type { Model } from "../ir/model.ts";

/** Names of the main graph's computed FP32 tensors, inputs included. */
export function observableValues(model: Model, settings: BindOptions): string[] {
  const { root } = inferFacts(model, settings);
  const names: string[] = [];
  for (const value of model.graph.values.values()) {
    if (isStored(value, root) || (value.producer === undefined && !value.isInput)) continue;
    const fact = root.fact(value);
    const isFloat = fact?.kind === "tensor" && fact.dtype === "float32";
    // Nothing has no largest magnitude.
    if (isFloat && fact.shape?.includes(0) !== true) names.push(value.name);
  }
  return names;
}
