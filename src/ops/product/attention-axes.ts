/**
 * @file Axes and padded lanes of attention in one operator: queries × keys sum over the depth of a head, values bring
 * theirs to the output.
 *
 * A padded depth keeps its scores where the scale is the one of the true depth, so that an implicit 1/√depth is written
 * out. Heads, and whatever attention runs over, stay as they are.
 */
import { type Axis, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { AxisContext, Lane, LaneContext } from "../axes.ts";
import { mixLanes, multiplyLanes, wholeLane } from "../lanes.ts";
import type { AttentionSizes } from "./heads.ts";

/** Positions of inputs. One that holds queries, keys and values side by side in its last axis is named three times. */
export interface AttentionPlaces {
  readonly query: number;
  readonly key: number;
  readonly value: number;
  /** Added to queries, keys and values; all three in one axis. */
  readonly bias?: number;
  readonly pastKey: number;
  readonly pastValue: number;
}

/** Axes of the heads, made for one node. */
export interface HeadAxes {
  readonly depth: Axis;
  readonly valueDepth: Axis;
  /** heads · depth. */
  readonly query: Axis;
  readonly key: Axis;
  readonly value: Axis;
  /** heads · value depth. */
  readonly output: Axis;
}

const attends = "attends over it";
const countsHeads = "counts heads by it";
const differs = "operands of attention differ in structure";

/** Axes not yet tied to any operand; undefined where a size is not known. */
function headAxes(context: AxisContext, sizes: AttentionSizes): HeadAxes | undefined {
  const { heads, kvHeads, headDim, valueHeadDim } = sizes;
  if (typeof heads !== "number" || typeof kvHeads !== "number") return undefined;
  if (typeof headDim !== "number" || typeof valueHeadDim !== "number") return undefined;
  const { solver } = context;
  const [all, shared] = [context.fixed(heads, countsHeads), context.fixed(kvHeads, countsHeads)];
  const depth = solver.atom(headDim);
  // Fused kernels want keys and values of one depth: where it is one, it stays one.
  const valueDepth = headDim === valueHeadDim ? depth : solver.atom(valueHeadDim);
  return {
    depth,
    valueDepth,
    query: solver.product([all, depth]),
    key: solver.product([shared, depth]),
    value: solver.product([shared, valueDepth]),
    output: solver.product([all, valueDepth]),
  };
}

/** States everything but an input projection. `scaled` says that the node has a scale of its own. */
export function attentionAxes(
  context: AxisContext,
  sizes: AttentionSizes,
  places: AttentionPlaces,
  scaled: boolean,
): HeadAxes | undefined {
  const heads = headAxes(context, sizes);
  const rows = context.axesOf(0);
  if (heads === undefined || rows === undefined) {
    context.blockAll("has operands of unknown sizes");
    return undefined;
  }
  blockRows(context, rows);
  tieOperands(context, heads, places);
  sumOverDepth(context, heads.depth, places);
  if (!scaled) keepScale(context, heads.depth);
  const own = rows.length === 4 ? heads.valueDepth : heads.output;
  context.setAxes(0, [...rows.slice(0, -1), own]);
  return heads;
}

function tieOperands(context: AxisContext, heads: HeadAxes, places: AttentionPlaces): void {
  const { depth, valueDepth, query, key, value } = heads;
  const merged = context.solver.sum([query, key, value]);
  if (places.query === places.key) tieLast(context, places.query, merged);
  else {
    tieLast(context, places.query, query, depth);
    tieLast(context, places.key, key, depth);
    tieLast(context, places.value, value, valueDepth);
  }
  if (places.bias !== undefined) tieLast(context, places.bias, merged);
  tieLast(context, places.pastKey, depth);
  tieLast(context, places.pastValue, valueDepth);
}

/** The last axis of an input is `axis`, or `apart` where its heads have an axis to themselves. Others stay, weights apart. */
function tieLast(context: AxisContext, index: number, axis: Axis, apart = axis): void {
  const axes = context.axesOf(index) ?? [];
  const last = axes.at(-1);
  if (last === undefined) return;
  context.solver.unify(last, axes.length >= 4 ? apart : axis, differs);
  if (axes.length > 2) blockRows(context, axes);
}

function blockRows(context: AxisContext, axes: readonly Axis[]): void {
  for (const axis of axes.slice(0, -1)) context.block(axis, attends);
}

function sumOverDepth(context: AxisContext, depth: Axis, places: AttentionPlaces): void {
  context.contract(depth, places.query, places.key);
  if (context.inputs[places.pastKey] !== undefined) context.contract(depth, places.query, places.pastKey);
  // A sum of projection and bias is certain to be zero where both are.
  if (places.bias !== undefined) context.sumOver(depth, places.bias);
}

function keepScale(context: AxisContext, depth: Axis): void {
  const size = sizeOfAxis(depth);
  context.rewriteFloat("scale", (sizes) =>
    paddedSize(depth, sizes) === size ? undefined : 1 / Math.sqrt(size),
  );
}

/** A cache among the outputs: `depth` is its last axis. */
export function presentAxes(context: AxisContext, output: number, depth: Axis): void {
  if (context.node.outputs[output] === undefined) return;
  const sizes = context.sizesOf(output);
  if (sizes === undefined) context.block(depth, "keeps it in a cache of unknown sizes");
  else context.setAxes(output, [...sizes.slice(0, -1).map((size) => context.fixed(size, attends)), depth]);
}

/**
 * Output 1 is a cache of keys; 0 and 2 hold values. Softmax leaves a mean of values zero where all of them are; where
 * queries or keys are infinite, or what is projected to them, it leaves NaN.
 */
export function attentionLane(context: LaneContext, output: number, places: AttentionPlaces): Lane {
  const { query, key, value, bias, pastKey, pastValue } = places;
  const isThere = (index: number | undefined): index is number =>
    index !== undefined && context.inputs[index] !== undefined;
  const sources = (output === 1 ? [key, pastKey, bias] : [value, pastValue, bias]).filter(isThere);
  const weighing = [0, query, key, pastKey].filter(isThere).map((index) => wholeLane(context, index));
  const mean = mixLanes(sources.map((index) => context.laneOf(index) ?? context.trueLane(index)));
  return weighing.reduce(multiplyLanes, mean);
}
