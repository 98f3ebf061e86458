/** @file A model in which every FP32 value is off by what rounding it to half may do to it: what a half form of it may give. */
import { inferFacts } from "../../src/facts/infer.ts";
import type { Model, Value } from "../../src/ir/model.ts";
import { FreshNames } from "../../src/ir/names.ts";
import { type NodeSpec, Patch } from "../../src/ir/patch.ts";
import { openModel } from "../../src/onnx/open.ts";
import { patchedInMemory } from "../../src/onnx/patched-in-memory.ts";
import { readingRounded } from "../../src/verify/rounded.ts";

/** The file of a model with such noise. */
export function noisyBytes(path: string, unit: number, seed: number): Uint8Array {
  using model = openModel(path);
  const patch = withHalfNoise(model, unit, seed);
  return patchedInMemory(model, patch).bytes;
}

/** Each value times its own factors, drawn by ONNX Runtime from 1 - `unit` to 1 + `unit`; 0, Inf and NaN stay. */
export function withHalfNoise(model: Model, unit: number, seed: number): Patch {
  const patch = new Patch();
  const graph = patch.of(model.graph);
  const names = new FreshNames(model);
  const { root } = inferFacts(model);
  const replaced = new Map<Value, string>();
  for (const value of model.graph.values.values()) {
    const fact = root.fact(value);
    if (fact?.kind !== "tensor" || fact.dtype !== "float32") continue;
    if (value.isOutput || value.name === "mask") continue;
    const { nodes, result } = noiseOn(value, unit, seed + replaced.size, names);
    replaced.set(value, result);
    if (value.producer === undefined) graph.first.push(...nodes);
    else {
      const after = graph.nodes.get(value.producer) ?? [{ base: value.producer }];
      graph.nodes.set(value.producer, [...after, ...nodes]);
    }
  }
  for (const node of model.graph.nodes) {
    const spec = readingRounded(node, replaced);
    if (spec !== undefined) graph.nodes.set(node, [spec, ...(graph.nodes.get(node)?.slice(1) ?? [])]);
  }
  return patch;
}

function noiseOn(value: Value, unit: number, seed: number, names: FreshNames) {
  const [factor, result] = [names.make(`${value.name}_factor`), names.make(`${value.name}_noisy`)];
  const attributes = new Map(
    Object.entries({ low: 1 - unit, high: 1 + unit, seed }).map(
      ([name, number]) => [name, { type: "float", value: number }] as const,
    ),
  );
  const nodes: NodeSpec[] = [
    { opType: "RandomUniformLike", inputs: [value.name], outputs: [factor], attributes },
    { opType: "Mul", inputs: [value.name, factor], outputs: [result], attributes: new Map() },
  ];
  return { nodes, result };
}
