/** @file A recognised attention as a launch. */

import { isFloatStorage, isHalfStorage } from "../ir/storage.ts";
import { elementCount, expanded, permuted, reshaped, type View } from "../ir/view.ts";
import { emitAttention, unlimited } from "../kernels/attention/attention.ts";
import { asOneType, sumOfMasks } from "../lower/attention-operands.ts";
import type { Operand } from "./attention-operand.ts";
import type { MaskUse } from "./attention-scores.ts";
import type { MacroContext } from "./macro.ts";

export interface AttentionPattern {
  readonly q: Operand;
  readonly k: Operand;
  readonly v: Operand;
  /** Axes before queries and keys: at most [outer batch, inner batch, heads]. */
  readonly leading: readonly number[];
  /** The same of the product of queries and keys, as the model has them. */
  readonly scoresLeading: readonly number[];
  readonly scale: number;
  readonly softcap: number;
  readonly masks: readonly MaskUse[];
  /** Axes of the result in the order [leading…, queries, size]; undefined where that is their order. */
  readonly resultAxes: readonly number[] | undefined;
}

export function lowerAttention(context: MacroContext, pattern: AttentionPattern): void {
  const { leading, scale, softcap, k: keyPart } = pattern;
  const [outer, inner, heads] = threeOf(leading);
  const batch = outer * inner;
  const operand = (part: Operand, own: readonly number[], count: number) => {
    const view = viewOf(context, part);
    // A matrix that all heads share has fewer axes, or axes of one element.
    const whole = part.copies > 1 ? view : expanded(view, [...own, ...view.shape.slice(-2)]);
    return fourAxes(context, whole, [batch, count]);
  };
  const kvHeads = heads / keyPart.copies;
  const [q, k, v] = asOneType(context, [
    operand(pattern.q, pattern.scoresLeading, heads),
    operand(pattern.k, pattern.scoresLeading, kvHeads),
    operand(pattern.v, resultShape(context, pattern.resultAxes).slice(0, -2), kvHeads),
  ]);
  if (q === undefined || k === undefined || v === undefined)
    throw new Error("tc-lint bug: attention without Q, K and V");
  const [queries = 1, keys = 1] = [q.shape[2], k.shape[2]];
  const isCausal =
    pattern.masks.length === 1 && pattern.masks.every((mask) => isTriangle(context, mask, queries, keys));
  const masks = isCausal ? {} : masksOf(context, pattern, [outer, inner, heads, queries, keys]);
  const { view, four } = outputOf(context, [batch, heads], pattern.resultAxes);
  emitAttention(context, {
    q,
    k,
    v,
    o: four,
    codes: context.outputCodes(),
    ...masks,
    scale,
    softcap,
    position: isCausal ? keys - queries : 0,
    left: unlimited,
    right: isCausal ? 0 : unlimited,
    emptyRows: "nan",
  });
  context.setOutput(view);
}

function threeOf(leading: readonly number[]): [number, number, number] {
  const [a = 1, b = 1, c = 1] = leading;
  if (leading.length === 3) return [a, b, c];
  return leading.length === 2 ? [a, 1, b] : [a, 1, 1];
}

function resultShape(context: MacroContext, axes: readonly number[] | undefined): readonly number[] {
  const shape = context.outputShape();
  return axes?.map((axis) => shape[axis] ?? 1) ?? shape;
}

function viewOf(context: MacroContext, { value, axes, shape, isSwapped }: Operand): View {
  const own = context.view(value);
  const view = inShape(context, axes === undefined ? own : permuted(own, axes), shape);
  const last = view.shape.length - 1;
  return isSwapped ? permuted(view, [...view.shape.keys()].with(last, last - 1).with(last - 1, last)) : view;
}

/** Copied where strides do not allow the shape. */
function inShape(context: MacroContext, view: View, shape: readonly number[]): View {
  const seen = reshaped(view, shape) ?? reshaped(context.packed(view), shape);
  if (seen === undefined) throw new Error("tc-lint bug: packed memory has no such shape");
  return seen;
}

/** [batch, heads, length, size] */
function fourAxes(context: MacroContext, view: View, leading: readonly [number, number]): View {
  return inShape(context, view, [...leading, ...view.shape.slice(-2)]);
}

/** The result laid out with heads next to each other in a row, as what follows merges them. */
function outputOf(
  context: MacroContext,
  leading: readonly [number, number],
  resultAxes: readonly number[] | undefined,
): { view: View; four: View } {
  const shape = context.outputShape();
  const axes = resultAxes ?? [...shape.keys()];
  const last = shape.length - 1;
  const swapped =
    last >= 3 ? axes.with(last - 1, axes[last - 2] ?? 0).with(last - 2, axes[last - 1] ?? 0) : axes;
  const type = context.outputType();
  const isTaken = isFloatStorage(type) || context.outputCodes() !== undefined;
  const view = context.temporary(isTaken ? type : "float32", shape, swapped);
  return { view, four: fourAxes(context, permuted(view, axes), leading) };
}

/** Weights of -1e5 and less are 0 in FP32, whatever the scores. */
const blocked = -1e5;
/** FP16 has no such number: its scores, too, are far from half of its lowest, which --fix makes of lower ones. */
const blockedInHalf = -65504 / 2;

/** Whether the mask blocks just the keys behind each query, the last query standing at the last key. */
function isTriangle(
  context: MacroContext,
  { value, kind, fill }: MaskUse,
  queries: number,
  keys: number,
): boolean {
  const elements = context.elements(value);
  const shape = context.shape(value);
  if (elements === undefined || keys < queries || (kind !== "added" && fill > blocked)) return false;
  if (elementCount(shape) !== queries * keys || shape.at(-1) !== keys || shape.at(-2) !== queries)
    return false;
  const lowest = context.modelType(value) === "float16" ? blockedInHalf : blocked;
  return elements.every((element, index) => {
    const isAhead = (index % keys) - Math.floor(index / keys) > keys - queries;
    if (kind === "added") return isAhead ? element <= lowest : element === 0;
    return (isAhead === (element === 0)) === (kind === "keeps");
  });
}

type FiveSizes = readonly [number, number, number, number, number];

function masksOf(
  context: MacroContext,
  { masks, leading }: AttentionPattern,
  five: FiveSizes,
): { bias?: View | undefined; keep?: View; fill?: number; isSoftInfinity?: boolean } {
  const asFive = (view: View, shape: readonly number[]) => {
    const wide = expanded(view, shape);
    const split = [...leading, ...shape.slice(-2)];
    return withFiveAxes(inShape(context, wide, split), leading.length, five);
  };
  const added = masks.filter(({ kind }) => kind === "added");
  const views = added.map(({ value, shape }) => asFive(context.view(value), shape));
  const chosen = masks.find(({ kind }) => kind !== "added");
  const keep = chosen && asFive(keepView(context, chosen), chosen.shape);
  return {
    bias: sumOfMasks(context, views),
    ...(keep === undefined ? {} : { keep, fill: chosen?.fill ?? 0 }),
    // Half has no number as low as the ones that stand for "masked" in float32.
    isSoftInfinity: views.some(({ type }) => isHalfStorage(type)),
  };
}

/** [..leading, queries, keys] with leading axes filled up to outer batch, inner batch, heads. */
function withFiveAxes(view: View, count: number, five: FiveSizes): View {
  const [lead, rest] = [view.strides.slice(0, count), view.strides.slice(count)];
  const [a = 0, b = 0, c = 0] = lead;
  const strides = count === 3 ? [a, b, c] : count === 2 ? [a, 0, b] : [a, 0, 0];
  return { ...view, shape: five, strides: [...strides, ...rest] };
}

/** Bytes, 0 for scores that are replaced. */
function keepView(context: MacroContext, { value, kind }: MaskUse): View {
  const view = context.view(value);
  if (kind === "keeps") return view;
  const not = { kind: "unary", type: "bool", op: "not", arg: { kind: "load", type: "bool", view } } as const;
  return context.evaluate(not, view.shape, "bool");
}
