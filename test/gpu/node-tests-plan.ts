/** @file A test's model as a plan: elements of inputs are told to the planner only where it does not work without. */

import { DataError, type Plan, PlanError, type PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { planModel, programOf } from "../../cuda-runtime/plan/build.ts";
import { foresee } from "../../cuda-runtime/plan/foresee.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { Program } from "../../cuda-runtime/plan/program.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import type { Fact } from "../../src/ops/op.ts";
import type { Tensor } from "../../src/verify/tensor.ts";
import { factOf, type TestSet, weightsOf } from "./node-tests-data.ts";

export interface PlannedTest {
  /** One graph; where data decides, a program. */
  readonly plan: Plan | undefined;
  readonly program: Program | undefined;
  /** Names of the inputs whose elements the plan holds for. */
  readonly known: readonly string[];
}

export interface PlanTestOptions {
  readonly precision: Precision;
  readonly target?: PlanTarget | undefined;
  /** In stages, whether or not one graph would do. */
  readonly staged?: boolean | undefined;
}

/** Throws PlanError for what the runtime does not do. */
export function planTest(model: OpenModel, { inputs }: TestSet, options: PlanTestOptions): PlannedTest {
  const names = [...inputs.keys()];
  const shapes = new Map([...inputs].map(([name, { dims }]) => [name, dims]));
  const { precision, target } = options;
  const own = { model, precision, target, shapes, weights: weightsOf(model) };
  const planned = (known: readonly string[]): PlannedTest => {
    const facts = factsOf(known, inputs);
    return { plan: planModel({ ...own, known: facts }), program: undefined, known: [...facts.keys()] };
  };
  const staged = (): PlannedTest => {
    const program = programOf(own);
    const open = foresee(program).find((part) => part.kind === "open");
    // What elements of inputs decide can be told here, and then is.
    if (open?.kind === "open" && options.staged !== true) throw new DataError(open.node.opType, open.reason);
    return { plan: undefined, program, known: [] };
  };
  if (options.staged === true) return staged();
  // Sizes, axes, repeats: short, and behind the data.
  const short = names.slice(1).filter((name) => (inputs.get(name)?.dims.length ?? 2) < 2);
  const attempts = [
    () => planned([]),
    ...(short.length > 0 ? [() => planned(short)] : []),
    staged,
    ...(names.length > 0 ? [() => planned(names)] : []),
  ];
  let last: unknown;
  for (const attempt of attempts) {
    try {
      return attempt();
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
