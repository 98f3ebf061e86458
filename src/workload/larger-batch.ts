/** @file The same model for more samples at once: inferred again and priced as a whole, where its graph carries them. */
import type { CostModel } from "../cost/model.ts";
import { type Facts, inferFacts } from "../facts/infer.ts";
import { evaluateDim } from "../ir/dim.ts";
import { isBatchSymbol, requiredInputs } from "../ir/symbols.ts";
import type { Fact } from "../ops/op.ts";
import { flopsOf } from "../ops/work.ts";
import { priceFacts, type Workload } from "./workload.ts";

/**
 * `factor` times the samples on every input that holds them. Undefined where the graph does not carry them (a Reshape to literal
 * sizes), and where times are another account's than the cost model's.
 */
export function atLargerBatch(workload: Workload, factor: number, cost: CostModel): Workload | undefined {
  if (workload.timeline.steps.some((step) => step.factor !== undefined)) return undefined;
  const facts = largerFacts(workload, factor);
  if (facts === undefined || facts.contradictions.length > workload.facts.contradictions.length)
    return undefined;
  const after = priceFacts(facts, { target: workload.target, cost });
  // A graph that holds on to its old sizes somewhere does other work, or none that can be told.
  return worksOf(after) === factor * worksOf(workload) ? after : undefined;
}

function largerFacts({ model, facts, bindings }: Workload, factor: number): Facts | undefined {
  const symbols = [...facts.symbols, ...facts.bindings.keys()].filter((name) => isBatchSymbol(model, name));
  if (symbols.length > 0) {
    const dims = new Map(
      [...bindings].map(([name, size]) => [name, size * (symbols.includes(name) ? factor : 1)]),
    );
    return inferFacts(model, { dims });
  }
  const inputs = new Map<string, Fact>();
  for (const input of requiredInputs(model)) {
    const fact = facts.root.fact(input);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    const [first, ...rest] = fact.shape.map((dim) => evaluateDim(dim, bindings));
    if (first === undefined || rest.length === 0) continue;
    if (rest.includes(undefined)) return undefined;
    inputs.set(input.name, { ...fact, shape: [first * factor, ...fact.shape.slice(1)] });
  }
  return inputs.size === 0 ? undefined : inferFacts(model, { inputs, useDeclared: false });
}

function worksOf({ products }: Workload): number {
  return products.reduce((total, { sizes, runs }) => total + flopsOf(sizes) * runs, 0);
}
