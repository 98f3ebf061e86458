/**
 * @file Chains that look at an image in another shape and give an image of the same sizes: group normalization written
 * with InstanceNormalization, channel shuffles.
 */
import type { Scope } from "../../facts/scope.ts";
import { isStored } from "../../facts/stored.ts";
import { type Shape, sameDim } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";
import { isReshaping, traitsOf } from "../../ops/ask.ts";
import { isImage } from "./layouts.ts";

/** A Cast on either side of a normalization included. */
const maxNodes = 6;

/** The nodes from `first`, a Reshape of an image, to the Reshape that gives it back; undefined where there is no such chain. */
export function chainFrom(first: Node, scope: Scope): readonly Node[] | undefined {
  const [image] = first.inputs;
  if (!changesShape(first) || !isImage(image, scope)) return undefined;
  const nodes: Node[] = [first];
  for (let node = first; nodes.length <= maxNodes; ) {
    const next = onlyReader(node, scope);
    if (next === undefined || !readsNothingElse(next, image, scope)) return undefined;
    nodes.push(next);
    if (changesShape(next)) return givesBack(next, image, scope) ? nodes : undefined;
    node = next;
  }
  return undefined;
}

/** A Reshape: to a shape that is an input. */
function changesShape(node: Node): boolean {
  return isReshaping(node) && traitsOf(node)?.layout === "view" && node.inputs.length === 2;
}

/** The node that reads what `node` gives, first and alone. */
function onlyReader(node: Node, scope: Scope): Node | undefined {
  const [output] = node.outputs;
  const [reader] = output?.consumers ?? [];
  if (output === undefined || reader === undefined || output.isOutput || output.consumers.length > 1)
    return undefined;
  const isPlain = reader.domain === "" && !scope.children.has(reader) && reader.graph === node.graph;
  const reads = reader.inputs.filter((input) => input === output).length;
  return isPlain && reads === 1 && reader.inputs[0] === output && reader.outputs.length === 1
    ? reader
    : undefined;
}

/** Operands are weights, or the shape that a Reshape goes to. */
function readsNothingElse(node: Node, image: Value, scope: Scope): boolean {
  return node.inputs
    .slice(1)
    .every(
      (input) =>
        input === undefined ||
        isStored(input, scope) ||
        (changesShape(node) && input !== image && !isImage(input, scope)),
    );
}

function givesBack(node: Node, image: Value, scope: Scope): boolean {
  const [before, after] = [shapeOf(image, scope), shapeOf(node.outputs[0], scope)];
  return (
    before?.length === after?.length &&
    (before?.every((dim, axis) => sameDim(dim, after?.[axis] ?? 0)) ?? false)
  );
}

function shapeOf(value: Value | undefined, scope: Scope): Shape | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? fact.shape : undefined;
}
