/** @file Rotary embeddings written out: x · cos + rotated(x) · sin, where rotated(x) is (−second half, first half) of an axis. */
import { intAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { expanded, orderOf, sliced, type View } from "../ir/view.ts";
import { emitPairRotation, type Halves } from "../lower/rotary.ts";
import { sameSizes } from "./attention-scores.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import { partOf } from "./part.ts";

interface Rotation {
  readonly x: Value;
  readonly cos: Value;
  readonly sin: Value;
  /** Whose halves are turned against each other. */
  readonly axis: number;
}

interface Found extends Rotation {
  readonly output: Value;
  readonly nodes: readonly Node[];
}

export function recogniseRotation(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  return graph.nodes().flatMap((node) => (operatorOf(node) === "Concat" && macroFrom(node, graph)) || []);
}

function macroFrom(concat: Node, graph: PatternGraph): Macro | undefined {
  const found = rotationAround(concat, graph);
  const nodes = found && graph.closed(found.nodes, found.output);
  if (found === undefined || nodes === undefined) return undefined;
  // A half of one element may be a factor, and is nowhere to be read then.
  const isInner = ({ producer }: Value) => producer !== undefined && nodes.includes(producer);
  if (isInner(found.cos) || isInner(found.sin)) return undefined;
  const { output } = found;
  return { name: "RotaryEmbedding", nodes, output, lower: (context) => lowerRotation(context, found) };
}

/** `concat` puts the halves together again, the second in front. */
function rotationAround(concat: Node, graph: PatternGraph): Found | undefined {
  const turned = turnedBy(concat, graph);
  const [rotated] = concat.outputs;
  if (turned === undefined || rotated === undefined) return undefined;
  const { x, axis } = turned;
  const sine = productWith(graph.onlyReader(rotated), rotated);
  const sum = graph.onlyReader(sine?.result);
  const [output] = sum?.outputs ?? [];
  if (sine === undefined || sum === undefined || operatorOf(sum) !== "Add" || output === undefined)
    return undefined;
  const other = sum.inputs.find((value) => value !== sine.result);
  const cosine = productWith(graph.innerProducer(other, "Mul"), x);
  const sizes = graph.shape(x);
  if (cosine === undefined || sizes === undefined) return undefined;
  const whole = [rotated, cosine.result, sine.result, output];
  const areFloats = [...whole, x, cosine.factor, sine.factor].every((value) => graph.isFloat(value));
  if (!areFloats || !whole.every((value) => sameSizes(sizes, graph.shape(value) ?? []))) return undefined;
  const nodes = [...turned.nodes, concat, sine.node, cosine.node, sum];
  return { x, axis, cos: cosine.factor, sin: sine.factor, output, nodes };
}

interface Product {
  readonly node: Node;
  readonly factor: Value;
  readonly result: Value;
}

/** `value` times another. */
function productWith(node: Node | undefined, value: Value): Product | undefined {
  const [a, b] = node?.inputs ?? [];
  const [result] = node?.outputs ?? [];
  if (node === undefined || operatorOf(node) !== "Mul" || result === undefined) return undefined;
  const factor = a === value ? b : a;
  return factor !== undefined && (a === value || b === value) ? { node, factor, result } : undefined;
}

interface Turned {
  readonly x: Value;
  readonly axis: number;
  readonly nodes: readonly Node[];
}

/** The value of which it is (−second half, first half). */
function turnedBy(concat: Node, graph: PatternGraph): Turned | undefined {
  const [negative, front, ...more] = concat.inputs;
  const neg = graph.innerProducer(negative, "Neg");
  if (neg === undefined || more.length > 0) return undefined;
  const second = halfOf(neg.inputs[0], graph);
  const first = halfOf(front, graph);
  if (first === undefined || second === undefined || first.x !== second.x) return undefined;
  const rank = graph.shape(first.x)?.length ?? 0;
  const named = intAttributeIn(concat, "axis", graph.scope);
  const axis = named !== undefined && named < 0 ? named + rank : named;
  const isTurned = first.part === 0 && second.part === 1 && first.axis === axis && second.axis === axis;
  return isTurned ? { x: first.x, axis, nodes: [first.node, second.node, neg] } : undefined;
}

interface Half {
  readonly x: Value;
  readonly axis: number;
  readonly part: 0 | 1;
  readonly node: Node;
}

/** Of what the value is one half along one axis, all of the others. */
function halfOf(value: Value | undefined, graph: PatternGraph): Half | undefined {
  const part = partOf(value, graph);
  if (part === undefined || graph.shape(part.x)?.[part.axis] !== 2 * part.size) return undefined;
  if (part.start !== 0 && part.start !== part.size) return undefined;
  return { x: part.x, axis: part.axis, part: part.start === 0 ? 0 : 1, node: part.node };
}

function halvesOf(view: View, axis: number): Halves {
  const half = (view.shape[axis] ?? 0) / 2;
  return [sliced(view, axis, 0, half), sliced(view, axis, half, half)];
}

/** Where others would make a copy of it, it is written where they want it. */
function lowerRotation(context: MacroContext, { x, cos, sin, axis }: Rotation): void {
  const from = context.view(x);
  const order = orderOf(from);
  const angles = (value: Value) => halvesOf(expanded(context.view(value), from.shape), axis);
  const [cosines, sines] = [angles(cos), angles(sin)];
  const to = context.home(order) ?? context.output(order);
  emitPairRotation(context, { from: halvesOf(from, axis), to: halvesOf(to, axis), cos: cosines, sin: sines });
  context.setOutput(to);
}
