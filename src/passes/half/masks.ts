/**
 * @file Attention masks: large negative constants that only ever reach a softmax.
 *
 * −3.4e38 is −∞ in half, and a row of nothing but −∞ makes a softmax NaN. Any number far below the scores does the
 * same: half of the most negative half, so that two masks added up are still finite.
 *
 * A mask may also be an input of the model, or be made from one ((1 − mask) · −1e9, or 0 and −3.4e38 by turns). Nobody knows its numbers then, and a
 * row that is masked as a whole comes out right only where scores vanish beside them: from the addition to the softmax,
 * such a mask is FP32.
 */
import { pushAll } from "../../ir/lists.ts";
import type { Value } from "../../ir/model.ts";
import { carriesElements, isFilled, isOp, traitsOf } from "../../ops/ask.ts";
import type { HalfType } from "./accepts.ts";
import { inputsOf, outputsOf, readersOf } from "./follow.ts";
import { formats } from "./formats.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import type { Magnitudes } from "./magnitudes.ts";
import type { Positions } from "./positions.ts";

export interface Masks {
  /** Constants to clamp from below, and to what. */
  readonly clamps: ReadonlyMap<Value, number>;
  /** Everything a clamped number reaches before the softmax. */
  readonly reached: ReadonlySet<Value>;
  /** Where an input, or what is made from one, is added to scores, up to the softmax. */
  readonly held: ReadonlySet<FloatNode>;
  /** Inputs of the model that are masks. */
  readonly inputs: ReadonlySet<Value>;
}

/** Masks take a few nodes from constant to softmax in each layer. */
const maxSteps = 10_000;

export function findMasks(
  graph: FloatGraph,
  magnitudes: Magnitudes,
  positions: Positions,
  type: HalfType,
): Masks {
  const { max } = formats[type];
  const clamps = new Map<Value, number>();
  const reached = new Set<Value>();
  const held = new Set<FloatNode>();
  const inputs = new Set<Value>();
  const isBeyond = (value: FloatValue) => (magnitudes.of(value)?.largest ?? 0) > max;
  for (const value of graph.values.values()) {
    const isSource = value.isStored || isFilled(value.value.producer);
    const magnitude = isSource && isMaskRead(value) ? magnitudes.of(value) : undefined;
    const isLow = magnitude !== undefined && magnitude.lowest < -max && magnitude.highest <= max;
    const isConstant = isLow && !isChosen(value, graph);
    const isUnknown =
      isLow !== isConstant || (!isSource && (isInput(value) || isScaled(value, graph, positions, isBeyond)));
    if (!isConstant && !isUnknown) continue;
    const path = pathToSoftmax(value, graph, positions);
    if (isInput(value) && path.nodes.size > 0) inputs.add(value.value);
    if (!isConstant) for (const node of path.nodes) held.add(node);
    else if (path.isWhole) {
      clamps.set(value.value, -max / 2);
      for (const each of path.values) reached.add(each);
    }
  }
  return { clamps, reached, held, inputs };
}

function isInput({ value, scope }: FloatValue): boolean {
  return scope.parent === undefined && value.isInput && value.initializer === undefined;
}

/**
 * Whether an input of the model says where it stands beside another number, as a mask that is added: a row of it may be masked as a whole. Where it
 * stands in place of scores, nothing is left of these.
 */
function isChosen(value: FloatValue, graph: FloatGraph): boolean {
  return [...readersOf(value)].some((reader) => {
    const [condition] = reader.node.inputs;
    if (!isOp(reader.node, "Where") || condition === undefined || !comesFromInput(condition)) return false;
    return inputsOf(reader, graph).every((each) => each.isStored || isFilled(each.value.producer));
  });
}

function comesFromInput(start: Value): boolean {
  const seen = new Set<Value>([start]);
  const pending = [start];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    const { producer } = value;
    if (producer === undefined) {
      if (value.isInput && value.initializer === undefined) return true;
      continue;
    }
    if (isOp(producer, "Shape", "Size") || seen.size >= maxSteps) continue;
    for (const input of producer.inputs) {
      if (input === undefined || seen.has(input)) continue;
      seen.add(input);
      pending.push(input);
    }
  }
  return false;
}

/** Something other than zeros and ones times a number beyond the type's range. */
function isScaled(
  { producer }: FloatValue,
  graph: FloatGraph,
  positions: Positions,
  isBeyond: (value: FloatValue) => boolean,
): boolean {
  if (!isOp(producer?.user.node, "Mul") || producer === undefined) return false;
  const inputs = inputsOf(producer.user, graph);
  if (inputs.every(({ value, isStored }) => isStored || positions.isWhole(value))) return false;
  return inputs.some((input) => input.isStored && isSmall(input) && isBeyond(input));
}

/** Masks are scaled by one number, or by a row of them. */
function isSmall({ value, scope }: FloatValue): boolean {
  const shape = scope.shape(value);
  return shape !== undefined && shape.filter((dim) => dim !== 1).length <= 1;
}

/** Spares the weights a look: masks are not multiplied by activations. */
function isMaskRead(value: FloatValue): boolean {
  for (const { node } of readersOf(value)) {
    if (carriesElements(node) || isOp(node, "Add", "Sub", "Mul", "Where", "Max")) return true;
  }
  return false;
}

interface Path {
  /** Every way ends in a softmax. */
  readonly isWhole: boolean;
  /** All values on the way. */
  readonly values: ReadonlySet<Value>;
  /** From where the value is first added to scores to the softmax, on the ways that end there. */
  readonly nodes: ReadonlySet<FloatNode>;
}

function pathToSoftmax(start: FloatValue, graph: FloatGraph, positions: Positions): Path {
  const values = new Set<Value>([start.value]);
  const ends: FloatNode[] = [];
  let isWhole = true;
  const pending = [start];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    // Readers that take no FP32 operand are calls and bodies that nobody looked into.
    if (value.value.isOutput || value.value.consumers.some((node) => !graph.byNode.has(node)))
      isWhole = false;
    for (const reader of readersOf(value)) {
      if (isSoftmax(reader, value.value)) ends.push(reader);
      else if (isOp(reader.node, "Shape", "Size")) continue;
      else if (!passesMask(reader, value.value, graph, positions) || values.size >= maxSteps) isWhole = false;
      else {
        const next = outputsOf(reader, graph).filter((each) => !values.has(each.value));
        for (const each of next) values.add(each.value);
        pushAll(pending, next);
      }
    }
  }
  return { isWhole, values, nodes: addedOnTheWay(ends, values, graph) };
}

/** Back from each softmax; a value that reaches it without having been added to anything is no mask. */
function addedOnTheWay(
  ends: readonly FloatNode[],
  values: ReadonlySet<Value>,
  graph: FloatGraph,
): Set<FloatNode> {
  const nodes = new Set<FloatNode>();
  const pending = [...ends];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (nodes.has(node)) continue;
    nodes.add(node);
    for (const { value, producer } of inputsOf(node, graph)) {
      if (producer !== undefined && values.has(value)) pending.push(producer.user);
    }
  }
  const isAdded = [...nodes].some(({ node }) => !carriesElements(node) && !isOp(node, "Softmax"));
  return isAdded ? nodes : new Set();
}

function isSoftmax({ node }: FloatNode, value: Value): boolean {
  if (isOp(node, "Softmax")) return true;
  return traitsOf(node)?.uses?.[node.inputs.indexOf(value)]?.kind === "scores";
}

function passesMask(reader: FloatNode, value: Value, graph: FloatGraph, positions: Positions): boolean {
  const { node } = reader;
  if (carriesElements(node) || isOp(node, "Add", "Where", "Max")) return true;
  if (isOp(node, "Sub")) return node.inputs[1] !== value;
  if (!isOp(node, "Mul")) return false;
  // Times a mask of zeros and ones, made from whole numbers.
  return inputsOf(reader, graph).every((input) => input.value === value || positions.isWhole(input.value));
}
