/** @file Nodes that give out what they take in. */
import { type Dim, isUnknown, type Shape, sameDim } from "../../ir/dim.ts";
import { dtypeOfCode } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { findOp } from "../../ops/registry.ts";
import type { Draft } from "./draft.ts";

/** The value that the node's first output equals; undefined where it computes something. */
export type SourceRule = (draft: Draft, node: Node) => string | undefined;

/** Whether the node passes its first input on. */
type NoOpTest = (draft: Draft, node: Node) => boolean;

const noOps: Readonly<Record<string, NoOpTest>> = {
  Identity: () => true,
  Dropout: isInferenceDropout,
  Cast: (draft, node) => isOfType(draft, node, dtypeOfCode(draft.int(node, "to") ?? 0)),
  CastLike: (draft, node) => isOfType(draft, node, draft.factOf(draft.inputsOf(node)[1]).dtype),
  Transpose: keepsOrder,
  Expand: keepsShape,
  Tile: (draft, node) => isAll(draft.numbersOf(draft.inputsOf(node)[1]), 1),
  Pad: (draft, node) => isAll(draft.ints(node, "pads") ?? draft.numbersOf(draft.inputsOf(node)[1]), 0),
  Slice: (draft, node) => keepsShape(draft, node) && stepsForward(draft, node),
  Concat: hasOneInput,
  Max: hasOneInput,
  Mean: hasOneInput,
  Min: hasOneInput,
  Sum: hasOneInput,
  Split: (draft, node) => draft.outputsOf(node).length === 1 && keepsShape(draft, node),
};

/** Keeps the elements in their row-major order under another shape. */
export function isReshaping(type: string): boolean {
  return findOp("", type)?.traits.elements === "same";
}

export const sourceOf: SourceRule = (draft, node) => {
  const type = draft.opTypeOf(node);
  if (isReshaping(type)) return viewedSource(draft, node);
  const isNoOp = Object.hasOwn(noOps, type) && noOps[type]?.(draft, node) === true;
  return isNoOp ? draft.inputsOf(node).find((name) => name !== "") : undefined;
};

/** Up the chain of views, to a value that has the shape of the last. */
function viewedSource(draft: Draft, node: Node): string | undefined {
  const { shape } = draft.factOf(draft.outputsOf(node)[0]);
  let view: Node | undefined = node;
  while (view !== undefined && draft.isStandard(view) && isReshaping(draft.opTypeOf(view))) {
    const [input = ""] = draft.inputsOf(view);
    if (sameShape(draft.factOf(input).shape, shape)) return input;
    view = draft.producerOf(input);
  }
  return undefined;
}

function keepsShape(draft: Draft, node: Node): boolean {
  return sameShape(draft.factOf(draft.inputsOf(node)[0]).shape, draft.factOf(draft.outputsOf(node)[0]).shape);
}

/** Equal for every size of the symbols, as far as can be told. */
function sameShape(a: Shape | undefined, b: Shape | undefined): boolean {
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  return a.every((dim, axis) => sameKnown(dim, b[axis]));
}

function sameKnown(a: Dim, b: Dim | undefined): boolean {
  return b !== undefined && sameDim(a, b) && !isUnknown(a);
}

function isAll(values: readonly number[] | undefined, wanted: number): boolean {
  return values?.every((value) => value === wanted) === true;
}

function hasOneInput(draft: Draft, node: Node): boolean {
  return draft.inputsOf(node).length === 1;
}

function isOfType(draft: Draft, node: Node, dtype: string | undefined): boolean {
  return dtype !== undefined && draft.factOf(draft.inputsOf(node)[0]).dtype === dtype;
}

/** Steps are an input since opset 10. */
function stepsForward(draft: Draft, node: Node): boolean {
  const steps = draft.inputsOf(node)[4] ?? "";
  return steps === "" || isAll(draft.numbersOf(steps), 1);
}

/** The first opset whose Dropout trains only when an input says so, and the first that never trains before that. */
const [dropoutModeInput, dropoutInfers] = [12, 7];

function isInferenceDropout(draft: Draft, node: Node): boolean {
  const [, mask = ""] = draft.outputsOf(node);
  if (mask !== "" && draft.isNeeded(mask)) return false;
  const opset = draft.opsetOf(node);
  if (opset < dropoutInfers) return draft.int(node, "is_test") === 1;
  const [, , mode = ""] = draft.inputsOf(node);
  return opset < dropoutModeInput || mode === "" || isAll(draft.numbersOf(mode), 0);
}

/** Axes of more than one element stay in order, and the sizes are the same before and after. */
function keepsOrder(draft: Draft, node: Node): boolean {
  const perm = permOf(draft, node);
  if (perm === undefined) return false;
  if (perm.every((from, axis) => from === axis)) return true;
  const { shape } = draft.factOf(draft.inputsOf(node)[0]);
  const moved = perm.filter((axis) => shape?.[axis] !== 1);
  return keepsShape(draft, node) && moved.every((axis, index) => axis > (moved[index - 1] ?? -1));
}

/** For each axis of the output, the axis of the input. */
export function permOf(draft: Draft, node: Node): readonly number[] | undefined {
  const perm = draft.ints(node, "perm");
  if (perm !== undefined) return perm;
  const rank = draft.factOf(draft.inputsOf(node)[0]).shape?.length;
  return rank === undefined ? undefined : Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
}
