/** @file Plans of small graphs, and what tests ask of them. */

import type { Launch, Plan, Step } from "../../cuda-runtime/ir/step.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { weightsOf } from "../gpu/node-tests-data.ts";
import { floats, modelBytes, type types } from "../onnx/build.ts";

export function planOf(graph: types.IGraphProto, precision: Precision = "fp16"): Plan {
  using model = modelFromBytes(modelBytes(graph));
  return planModel({ model, precision, weights: weightsOf(model) });
}

export function launchesOf(steps: readonly Step[]): Launch[] {
  return steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
}

/** Of each launch: its family, or "chain" for generated ones. */
export function familiesOf(steps: readonly Step[]): string[] {
  return launchesOf(steps).map(({ kernel }) => (kernel.kind === "built" ? kernel.family : "chain"));
}

/** Launches whose operator, as the plan names it, is `operator`. */
export function launchesFor(steps: readonly Step[], operator: string): Launch[] {
  return launchesOf(steps.filter((step) => step.operator === operator));
}

/** A weight of small numbers; no two neighbours are alike. */
export function weight(name: string, dims: number[]): types.ITensorProto {
  const count = dims.reduce((total, size) => total * size, 1);
  return floats(
    name,
    dims,
    Array.from({ length: count }, (_, index) => ((index * 7) % 13) / 13 - 0.5),
  );
}

export function attribute(name: string, value: number): types.IAttributeProto {
  return { name, type: 2, i: value };
}

export function attributes(name: string, values: readonly number[]): types.IAttributeProto {
  return { name, type: 7, ints: [...values] };
}
