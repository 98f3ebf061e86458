/** @file What lies between Q·Kᵀ and softmax, and between softmax and the product with V: understood step by step. */
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { isReshaping, traitsOf } from "../../src/ops/ask.ts";
import type { PatternGraph } from "./graph.ts";

/** Something that changes scores, at a point where they have this shape. */
export interface MaskUse {
  readonly value: Value;
  readonly shape: readonly number[];
  readonly kind: "added" | "keeps" | "replaces";
  /** What scores are replaced with; 0 for what is added. */
  readonly fill: number;
}

export interface ScorePath {
  readonly nodes: readonly Node[];
  readonly scale: number;
  /** 0 for none. */
  readonly softcap: number;
  readonly masks: readonly MaskUse[];
}

interface PathState {
  scale: number;
  /** Factor behind a Tanh; undefined without one. */
  cap: number | undefined;
  readonly masks: MaskUse[];
}

const maxSteps = 24;

/** From a value of scores to `softmax`; undefined for anything not understood. */
export function scorePath(
  start: Value | undefined,
  softmax: Node,
  graph: PatternGraph,
): ScorePath | undefined {
  const state: PathState = { scale: 1, cap: undefined, masks: [] };
  const nodes: Node[] = [];
  let value = start;
  for (let step = 0; step < maxSteps; step++) {
    const reader = graph.onlyReader(value);
    if (reader === undefined || value === undefined) return undefined;
    if (reader === softmax) {
      const { scale, cap, masks } = state;
      // cap · tanh(scale · x) is cap · tanh((scale · cap) x / cap).
      return { nodes, scale: cap === undefined ? scale : scale * cap, softcap: cap ?? 0, masks };
    }
    if (!isScoreStep(reader, value, state, graph)) return undefined;
    nodes.push(reader);
    value = reader.outputs[0];
  }
  return undefined;
}

/** From softmax to the product that reads the weights: nothing but other names for the same numbers. */
export function weightPath(softmax: Node, output: Node, graph: PatternGraph): WeightPath | undefined {
  const nodes: Node[] = [];
  let value = softmax.outputs[0];
  for (let step = 0; step < maxSteps; step++) {
    const reader = graph.onlyReader(value);
    if (reader === undefined || value === undefined) return undefined;
    if (reader === output) return { nodes, weights: value };
    if (!isSameScores(reader, value, graph)) return undefined;
    nodes.push(reader);
    value = reader.outputs[0];
  }
  return undefined;
}

export interface WeightPath {
  readonly nodes: readonly Node[];
  /** What the product reads. */
  readonly weights: Value;
}

/** Takes note of what the node does; false where that is not understood. */
function isScoreStep(node: Node, value: Value, state: PathState, graph: PatternGraph): boolean {
  if (isSameScores(node, value, graph)) return true;
  const [a, b] = node.inputs;
  const other = a === value ? b : a;
  const factor = graph.number(other);
  switch (operatorOf(node)) {
    case "Mul":
      return factor !== undefined && a !== b && multiply(state, factor);
    case "Div":
      return factor !== undefined && a === value && factor !== 0 && multiply(state, 1 / factor);
    case "Tanh":
      if (state.cap !== undefined || state.masks.length > 0) return false;
      state.cap = 1;
      return true;
    case "Max":
      // A floor far below any score.
      return node.inputs.length === 2 && factor !== undefined && factor <= -1e30;
    case "Add":
      return (
        other !== undefined &&
        a !== b &&
        addMask(node, value, { value: other, kind: "added", fill: 0 }, state, graph)
      );
    case "Where":
      return isChosen(node, value, state, graph);
    default:
      return false;
  }
}

function multiply(state: PathState, factor: number): boolean {
  if (state.masks.length > 0) return false;
  if (state.cap === undefined) state.scale *= factor;
  else state.cap *= factor;
  return true;
}

/** Where(condition, scores, fill), or the other way round. */
function isChosen(node: Node, value: Value, state: PathState, graph: PatternGraph): boolean {
  const [condition, yes, no] = node.inputs;
  if (condition === undefined || condition === value || yes === no) return false;
  const fill = graph.number(yes === value ? no : yes);
  if (fill === undefined) return false;
  return addMask(
    node,
    value,
    { value: condition, kind: yes === value ? "keeps" : "replaces", fill },
    state,
    graph,
  );
}

/** The kernel adds first and replaces last: anything added behind a replacement has to find -inf there. */
function addMask(
  node: Node,
  value: Value,
  mask: Omit<MaskUse, "shape">,
  state: PathState,
  graph: PatternGraph,
): boolean {
  const [before, after] = [graph.shape(value), graph.shape(node.outputs[0])];
  if (before === undefined || after === undefined || !sameSizes(before, after)) return false;
  if (graph.shape(mask.value) === undefined) return false;
  const replaced = state.masks.find(({ kind }) => kind !== "added");
  if (replaced !== undefined && (mask.kind !== "added" || replaced.fill !== Number.NEGATIVE_INFINITY))
    return false;
  if (mask.kind === "added" && !graph.isFloat(mask.value)) return false;
  state.masks.push({ ...mask, shape: after });
  return true;
}

/** The same scores in another precision, or with other axes before the last two. */
function isSameScores(node: Node, value: Value, graph: PatternGraph): boolean {
  const [output, extra] = node.outputs;
  const operator = operatorOf(node);
  if (node.inputs[0] !== value) return false;
  if (traitsOf(node)?.elements === "converted") return graph.isFloat(value) && graph.isFloat(output);
  const [before, after] = [graph.shape(value), graph.shape(output)];
  if (before === undefined || after === undefined) return false;
  if (isReshaping(node)) {
    return before.length >= 2 && after.length >= 2 && sameSizes(before.slice(-2), after.slice(-2));
  }
  // In inference; with a mask read or in training it has inputs or outputs that say so.
  if (operator === "Dropout") {
    return (extra === undefined || graph.readersOf(extra).length === 0) && node.inputs[2] === undefined;
  }
  return false;
}

export function sameSizes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}
