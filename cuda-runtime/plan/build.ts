/** @file A model and its sizes to a plan. No GPU is needed: what is to run on one can be printed anywhere. */

import { alwaysPlanned, expandedNodes, maxPlannedPerNode, writtenNodes } from "../../src/facts/expansion.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { isConstant } from "../../src/facts/scope.ts";
import type { Model, Value } from "../../src/ir/model.ts";
import type { Fact } from "../../src/ops/op.ts";
import { type Plan, PlanError } from "../ir/step.ts";
import { refuseSkipped } from "./control-body.ts";
import { type Computed, Program } from "./program.ts";
import { planSegment, type SegmentOptions } from "./segment.ts";

export interface PlanOptions extends SegmentOptions {
  /** Sizes of symbolic dims, and of inputs by name. */
  readonly dims?: ReadonlyMap<string, number> | undefined;
  readonly shapes?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Inputs whose elements are known: sizes, axes. The plan then holds for these elements alone. */
  readonly known?: ReadonlyMap<string, Fact> | undefined;
}

/** Throws PlanError for what the runtime cannot do, InputError for sizes that contradict the model. */
export function planModel(options: PlanOptions): Plan {
  const { model } = options;
  refuseExpansion(model);
  const facts = inferFacts(model, { dims: options.dims, shapes: options.shapes, inputs: options.known });
  refuseSkipped(facts.root);
  const { inputs, outputs } = model.graph;
  const given = new Map(
    inputs.filter((value) => !isConstant(value, model)).map((value) => [value, undefined]),
  );
  const isPort = () => true;
  const request = { scope: facts.root, inferBody: facts.inferBody, given, wanted: outputs, isPort };
  return planSegment(request, options).plan;
}

/**
 * The same as stages, for a model that data decides about. Throws as
 * `planModel`; stages are planned when they are asked for, and throw then.
 */
export function programOf(options: PlanOptions): Program {
  const { model, dims, shapes, known } = options;
  refuseExpansion(model);
  const { inputs, outputs } = model.graph;
  const infer = (computed: ReadonlyMap<Value, Fact>) =>
    inferFacts(model, { dims, shapes, inputs: known, computed });
  const { root } = infer(new Map());
  const entering = new Map<Value, Computed>();
  for (const value of inputs) {
    const fact = root.fact(value);
    if (fact?.kind === "tensor" && !isConstant(value, model)) entering.set(value, { type: undefined, fact });
  }
  return new Program({ infer, outputs }, options, entering);
}

/**
 * Every call is lowered anew, which costs what the body does: a model whose functions call each other twice over would
 * become more than its size is a reason for.
 */
function refuseExpansion(model: Model): void {
  const nodes = expandedNodes(model);
  if (nodes <= alwaysPlanned) return;
  const most = Math.max(alwaysPlanned, maxPlannedPerNode * writtenNodes(model));
  if (nodes <= most) return;
  const [found, limit] = [nodes, most].map(countText);
  throw new PlanError(
    "functions",
    `the model's functions expand to ${found} nodes, more than a plan of a model of its size holds (${limit})`,
  );
}

function countText(count: number): string {
  return count < 1e15 ? count.toLocaleString("en-US") : count.toExponential(1);
}
