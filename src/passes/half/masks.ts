/**
 * @file Attention masks: large negative constants that only ever reach a softmax.
 *
 * −3.4e38 is −∞ in half, and a row of nothing but −∞ makes a softmax NaN. Any number far below the scores does the
 * same: half of the most negative half, so that two masks added up are still finite.
 */
import type { Value } from "../../ir/model.ts";
import type { HalfType } from "./accepts.ts";
import { inputsOf, isMoving, isOp, outputsOf, readersOf } from "./follow.ts";
import { formats } from "./formats.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import type { Magnitudes } from "./magnitudes.ts";
import type { Positions } from "./positions.ts";

export interface Masks {
  /** Constants to clamp from below, and to what. */
  readonly clamps: ReadonlyMap<Value, number>;
  /** Everything a clamped constant reaches before the softmax. */
  readonly reached: ReadonlySet<Value>;
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
  for (const value of graph.values.values()) {
    const isSource = value.isStored || isOp(value.value.producer, "ConstantOfShape");
    const magnitude = isSource && isMaskRead(value) ? magnitudes.of(value) : undefined;
    if (magnitude === undefined || magnitude.lowest >= -max || magnitude.highest > max) continue;
    const path = pathToSoftmax(value, graph, positions);
    if (path === undefined) continue;
    clamps.set(value.value, -max / 2);
    for (const each of path) reached.add(each);
  }
  return { clamps, reached };
}

/** Spares the weights a look: masks are not multiplied by activations. */
function isMaskRead(value: FloatValue): boolean {
  for (const { node } of readersOf(value)) {
    if (isMoving(node) || isOp(node, "Add", "Sub", "Mul", "Where", "Max")) return true;
  }
  return false;
}

/** All values on the way; undefined where some way does not end in a softmax. */
function pathToSoftmax(start: FloatValue, graph: FloatGraph, positions: Positions): Set<Value> | undefined {
  const seen = new Set<Value>([start.value]);
  const pending = [start];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    // Readers that take no FP32 operand are calls and bodies that nobody looked into.
    if (value.value.isOutput || value.value.consumers.some((node) => !graph.byNode.has(node)))
      return undefined;
    for (const reader of readersOf(value)) {
      if (isSoftmax(reader, value.value) || isOp(reader.node, "Shape", "Size")) continue;
      if (!passesMask(reader, value.value, graph, positions)) return undefined;
      for (const next of outputsOf(reader, graph)) {
        if (seen.has(next.value)) continue;
        if (seen.size >= maxSteps) return undefined;
        seen.add(next.value);
        pending.push(next);
      }
    }
  }
  return seen;
}

/** Position of the additive mask among the inputs of attention operators. */
const maskInputs: ReadonlyMap<string, number> = new Map([
  ["::Attention", 3],
  ["com.microsoft::Attention", 5],
  ["com.microsoft::MultiHeadAttention", 5],
  ["com.microsoft::DecoderMaskedMultiHeadAttention", 4],
  ["com.microsoft::GroupQueryAttention", 10],
]);

function isSoftmax({ node }: FloatNode, value: Value): boolean {
  if (isOp(node, "Softmax")) return true;
  const position = maskInputs.get(`${node.domain}::${node.opType}`);
  return position !== undefined && node.inputs.indexOf(value) === position;
}

function passesMask(reader: FloatNode, value: Value, graph: FloatGraph, positions: Positions): boolean {
  const { node } = reader;
  if (isMoving(node) || isOp(node, "Add", "Where", "Max")) return true;
  if (isOp(node, "Sub")) return node.inputs[1] !== value;
  if (!isOp(node, "Mul")) return false;
  // Times a mask of zeros and ones, made from whole numbers.
  return inputsOf(reader, graph).every((input) => input.value === value || positions.isWhole(input.value));
}
