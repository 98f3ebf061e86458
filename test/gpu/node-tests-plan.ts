/** @file A test's model as a plan: elements of inputs are told to the planner only where it does not work without. */

import { type Plan, PlanError, type PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import type { Fact } from "../../src/ops/op.ts";
import type { Tensor } from "../../src/verify/tensor.ts";
import { factOf, type TestSet, weightsOf } from "./node-tests-data.ts";

export interface PlannedTest {
  readonly plan: Plan;
  /** Names of the inputs whose elements the plan holds for. */
  readonly known: readonly string[];
}

export interface PlanTestOptions {
  readonly precision: Precision;
  readonly target?: PlanTarget | undefined;
}

/** Throws PlanError for what the runtime does not do. */
export function planTest(model: OpenModel, { inputs }: TestSet, options: PlanTestOptions): PlannedTest {
  const names = [...inputs.keys()];
  const shapes = new Map([...inputs].map(([name, { dims }]) => [name, dims]));
  const attempts = [
    [],
    // Sizes, axes, repeats: short, and behind the data.
    names.slice(1).filter((name) => (inputs.get(name)?.dims.length ?? 2) < 2),
    names,
  ];
  let last: unknown;
  for (const known of attempts) {
    if (known.length === 0 && last !== undefined) continue;
    try {
      const facts = factsOf(known, inputs);
      const plan = planModel({
        model,
        precision: options.precision,
        shapes,
        known: facts,
        weights: weightsOf(model),
        target: options.target,
      });
      return { plan, known: [...facts.keys()] };
    } catch (error) {
      if (!(error instanceof PlanError)) throw error;
      last = error;
    }
  }
  throw last;
}

function factsOf(names: readonly string[], inputs: ReadonlyMap<string, Tensor>): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  for (const name of names) {
    const tensor = inputs.get(name);
    const fact = tensor === undefined ? undefined : factOf(tensor);
    if (fact !== undefined) facts.set(name, fact);
  }
  return facts;
}
