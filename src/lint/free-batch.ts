/** @file Whether a model leaves room for a larger batch: its inputs say so. */
import type { Facts } from "../facts/infer.ts";
import { evaluateDim } from "../ir/dim.ts";
import type { Value } from "../ir/model.ts";
import { samplesOf } from "../ir/symbols.ts";
import type { LintContext } from "./context.ts";

/**
 * The batch of the model's largest input, as the file declares it: its size, or "open" where the file leaves it to the caller;
 * undefined where no input has one.
 */
export function batchOf(facts: Facts, bindings: ReadonlyMap<string, number>): number | "open" | undefined {
  let largest = 0;
  let batch: number | "open" | undefined;
  for (const input of facts.model.graph.inputs) {
    const shape = declaredShape(input);
    // A vector's one axis may be anything.
    if (shape === undefined || shape.length < 2) continue;
    const sizes = shape.map((dim) => evaluateDim(dim, bindings) ?? 1);
    const elements = sizes.reduce((total, size) => total * size, 1);
    if (elements <= largest) continue;
    largest = elements;
    const [first] = shape;
    batch = typeof first === "number" ? first : "open";
  }
  return batch;
}

/** Samples of one run, where the inputs say how many there are. */
export function samplesIn({ model, facts, bindings }: LintContext): number | undefined {
  const samples = samplesOf(model, bindings) ?? batchOf(facts, bindings);
  return typeof samples === "number" ? samples : undefined;
}

function declaredShape({ declared, initializer }: Value) {
  return declared?.kind === "tensor" && initializer === undefined ? declared.shape : undefined;
}
