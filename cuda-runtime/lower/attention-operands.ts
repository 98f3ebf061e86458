/** @file Operands of attention as its kernels take them: heads apart, masks with five axes, caches joined. */
import { maxOf } from "../../src/ir/lists.ts";
import type { Emitter } from "../ir/emitter.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, expanded, permuted, sliced, type View } from "../ir/view.ts";
import { type AttentionRequest, emitAttention, maxHeadDim } from "../kernels/attention/attention.ts";
import type { LowerContext } from "./context.ts";
import { reshapedOrCopied } from "./movement-arguments.ts";

/** [batch, heads, length, size] of an operand of rank 4, or of rank 3 with its heads merged in the last axis. */
export function headsApart(context: LowerContext, view: View, heads: number | undefined): View {
  if (view.shape.length === 4) return view;
  const [batch = 1, length = 1, hidden = 1] = view.shape;
  if (heads === undefined || heads < 1 || hidden % heads !== 0) {
    return context.fail(`a hidden size of ${hidden} is not ${heads ?? "a known number of"} heads`);
  }
  return permuted(reshapedOrCopied(context, view, [batch, length, heads, hidden / heads]), [0, 2, 1, 3]);
}

/** Memory for the result [batch, heads, queries, size], laid out [batch, queries, heads, size] as its readers like it. */
function resultView(emitter: Emitter, type: StorageType, shape: readonly number[]): View {
  return emitter.temporary(type, shape, [0, 2, 1, 3]);
}

/** The result as an output of rank 4, or of rank 3 with heads merged. */
export function setResult(context: LowerContext, result: View, index = 0): void {
  if (context.outputShape(index).length === 4) return context.setOutput(index, result);
  context.setOutput(
    index,
    reshapedOrCopied(context, permuted(result, [0, 2, 1, 3]), context.outputShape(index)),
  );
}

/** All floats of one type that has kernels; doubles are rounded to float32. */
export function asOneType(emitter: Emitter, views: readonly View[]): View[] {
  const [first] = views;
  const isOne =
    first !== undefined && isFloatStorage(first.type) && views.every(({ type }) => type === first.type);
  return isOne ? [...views] : views.map((view) => emitter.packed(view, { type: "float32" }));
}

/** Past and new keys (or values) behind each other: [batch, heads, past + new, size] in memory of their type. */
export function joined(emitter: Emitter, past: View, fresh: View): View {
  const [batch = 1, heads = 1, before = 0, size = 1] = past.shape;
  const added = fresh.shape[2] ?? 0;
  const present = emitter.temporary(fresh.type, [batch, heads, before + added, size]);
  emitter.copy(past, sliced(present, 2, 0, before));
  emitter.copy(fresh, sliced(present, 2, before, added));
  return present;
}

/** A mask broadcast to [batch, 1, heads, queries, keys]; `axes` tells what its own axes are, the last ones unless given. */
export function maskView(
  mask: View,
  [batch, heads, queries, keys]: readonly [number, number, number, number],
): View {
  const wide = expanded(mask, [batch, heads, queries, keys]);
  return insertedBatch(wide);
}

/** [batch, heads, queries, keys] with an axis for the inner batch. */
export function insertedBatch(view: View): View {
  const [batch = 1, ...rest] = view.shape;
  const [stride = 0, ...others] = view.strides;
  return { ...view, shape: [batch, 1, ...rest], strides: [stride, 0, ...others] };
}

/** One operand for what several add to the scores: their sum, in float32. */
export function sumOfMasks(emitter: Emitter, masks: readonly View[]): View | undefined {
  const [first, ...others] = masks;
  if (first === undefined || others.length === 0) return first;
  const compact = masks.map((mask) => withoutRepeats(mask));
  const shape = first.shape.map((_, axis) => maxOf(compact.map((mask) => mask.shape[axis] ?? 1)));
  const load = (view: View) => ({ kind: "load", type: "f32", view }) as const;
  const sum = compact
    .slice(1)
    .reduce<Parameters<Emitter["evaluate"]>[0]>(
      (total, mask) => ({ kind: "binary", type: "f32", op: "add", args: [total, load(mask)] }),
      load(compact[0] ?? first),
    );
  return expanded(emitter.evaluate(sum, shape, "float32"), first.shape);
}

/** Axes that repeat one element, as axes of one element. */
function withoutRepeats(view: View): View {
  return { ...view, shape: view.shape.map((size, axis) => (view.strides[axis] === 0 ? 1 : size)) };
}

/** Attention into `to`, or new memory, or the reason why there is no kernel for it. */
export function attend(
  context: LowerContext,
  request: Omit<AttentionRequest, "o">,
  type: StorageType,
  to?: View,
): View {
  const { q, k, v } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const [kvHeads = 1, keys = 1] = k.shape.slice(1);
  const valueDim = v.shape[3] ?? 1;
  if (Math.max(dim, valueDim) > maxHeadDim) {
    context.fail(`heads of ${Math.max(dim, valueDim)} elements, at most ${maxHeadDim} are supported`);
  }
  if (heads % kvHeads !== 0) context.fail(`${heads} heads do not share ${kvHeads} heads of keys`);
  const o =
    to ?? resultView(context, isFloatStorage(type) ? type : "float32", [batch, heads, queries, valueDim]);
  if (keys === 0 && elementCount(o.shape) > 0) context.fail("attends over no keys");
  emitAttention(context, { ...request, o });
  return o;
}
