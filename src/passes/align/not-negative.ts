/** @file Whether a value can be below zero, followed from node to node. */
import { NodeContext } from "../../facts/context.ts";
import type { Scope } from "../../facts/scope.ts";
import type { Node, Value } from "../../ir/model.ts";
import { isKnownNotNegative, isNotNegativeOutput, type SignContext } from "../../ops/not-negative.ts";
import { findOp } from "../../ops/registry.ts";

/** Positions travel through few nodes; what is further away, or has more origins, counts as not known. */
const maxSteps = 16;
const maxValues = 256;

/** Whether no element of `value` can be below zero, whatever the inputs of the model are. */
export function isNotNegative(value: Value | undefined, scope: Scope): boolean {
  return isKnown(value, scope, maxSteps, new Map());
}

function isKnown(value: Value | undefined, scope: Scope, steps: number, found: Map<Value, boolean>): boolean {
  if (value === undefined) return false;
  const before = found.get(value);
  if (before !== undefined) return before;
  if (isKnownNotNegative(scope.fact(value))) return true;
  if (steps === 0 || found.size >= maxValues) return false;
  found.set(value, false);
  const result = isMade(value, scope, steps - 1, found);
  found.set(value, result);
  return result;
}

function isMade(value: Value, scope: Scope, steps: number, found: Map<Value, boolean>): boolean {
  const { producer } = value;
  // A function of the model may have any name.
  if (producer === undefined || scope.children.has(producer)) return false;
  const op = findOp(producer.domain, producer.opType);
  if (op === undefined) return false;
  const context = new ProducerContext(producer, scope, steps, found);
  return isNotNegativeOutput(op, context, producer.outputs.indexOf(value));
}

class ProducerContext extends NodeContext implements SignContext {
  readonly #steps: number;
  readonly #found: Map<Value, boolean>;

  constructor(node: Node, scope: Scope, steps: number, found: Map<Value, boolean>) {
    super(node, scope, scope.outputsOf(node));
    this.#steps = steps;
    this.#found = found;
  }

  isNotNegative(index: number): boolean {
    return isKnown(this.node.inputs[index], this.scope, this.#steps, this.#found);
  }
}
