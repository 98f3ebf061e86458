/** @file Which values are kept NHWC: what each operator can take and give in that layout. */
import type { Scope } from "../../facts/scope.ts";
import { isStored, storedTensor } from "../../facts/stored.ts";
import { hasAttribute, intAttributeOf, intsAttributeOf } from "../../ir/attributes.ts";
import type { Node, Value } from "../../ir/model.ts";
import { traitsOf } from "../../ops/ask.ts";
import { numbersOf } from "../../ops/shape.ts";
import type { Layout } from "../../ops/traits.ts";
import { canTurn } from "./constants.ts";
import type { Result } from "./functions.ts";

/** How a node goes NHWC. */
export type Form =
  /** Its operator knows the channel axis by position: a local function that says NHWC. */
  | { readonly kind: "function"; readonly result: Result }
  /** Lane by lane: the same operator on NHWC values. */
  | { readonly kind: "elementwise" }
  /** The same operator with its axes renumbered. */
  | { readonly kind: "attribute"; readonly name: string; readonly value: number | readonly number[] }
  | { readonly kind: "input"; readonly index: number; readonly values: readonly number[] };

/** Position in NHWC of each NCHW axis. */
export const positionInNhwc: readonly number[] = [0, 3, 1, 2];

/** Broadcasting aligns last axes since opset 7. */
const broadcastOpset = 7;

/** The forms whose speed is the reason for NHWC: a region without one stays as it is. */
export const anchors = new Set(["Conv", "ConvTranspose"]);

export function isImage(value: Value | undefined, scope: Scope): value is Value {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" && fact.shape?.length === 4;
}

/** Inputs of `node` that would have to be NHWC; undefined where the node cannot take that layout. */
export function formOf(
  node: Node,
  scope: Scope,
): { readonly form: Form; readonly images: readonly Value[] } | undefined {
  if (node.domain !== "" || scope.children.has(node)) return undefined;
  return forms[traitsOf(node)?.layout ?? "fixed"](node, scope);
}

type FormOf = (node: Node, scope: Scope) => ReturnType<typeof formOf>;

const forms: Readonly<Record<Layout, FormOf>> = {
  lanewise: elementwiseForm,
  scaled: elementwiseForm,
  channels: channelsForm,
  axis: axisForm,
  gathered: gatherForm,
  sliced: sliceForm,
  padded: padForm,
  reduced: reduceForm,
  view: viewForm,
  fixed: () => undefined,
};

function channelsForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [[image], [output]] = [node.inputs, node.outputs];
  const isSingle = node.outputs.filter((value) => value !== undefined).length === 1;
  if (!isSingle || !isImage(image, scope) || !isImage(output, scope)) return undefined;
  return { form: { kind: "function", result: "image" }, images: [image] };
}

function elementwiseForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  if (!isImage(node.outputs[0], scope) || hasAttribute(node, "axis")) return undefined;
  if (node.inputs.length > 1 && (scope.opsets.get("") ?? 1) < broadcastOpset) return undefined;
  const images: Value[] = [];
  for (const input of node.inputs) {
    if (input === undefined || isScalar(input, scope)) continue;
    // A scale that is no scalar belongs to an axis that the operator names, or takes for granted.
    if (traitsOf(node)?.layout === "scaled" && input !== node.inputs[0]) return undefined;
    if (isStored(input, scope)) {
      if (!canTurn(storedTensor(input)?.dtype)) return undefined;
      continue;
    }
    if (!isImage(input, scope)) return undefined;
    images.push(input);
  }
  return images.length === 0 ? undefined : { form: { kind: "elementwise" }, images };
}

/** Broadcasts in any layout. */
export function isScalar(value: Value, scope: Scope): boolean {
  const fact = scope.fact(value);
  return fact?.kind === "tensor" && (fact.shape?.every((dim) => dim === 1) ?? false);
}

function axisForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const inputs = node.opType === "Split" ? node.inputs.slice(0, 1) : node.inputs;
  const images = inputs.filter((value) => isImage(value, scope));
  if (images.length < inputs.length || node.outputs.some((value) => value === undefined)) return undefined;
  const axis = intAttributeOf(node, "axis") ?? 0;
  const position = positionInNhwc[axis < 0 ? axis + 4 : axis];
  return position === undefined
    ? undefined
    : { form: { kind: "attribute", name: "axis", value: position }, images };
}

function padForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [image, pads, , axes] = node.inputs;
  if (!isImage(image, scope) || axes !== undefined) return undefined;
  const attribute = intsAttributeOf(node, "pads");
  const values = attribute ?? elementsOf(pads, scope);
  if (values?.length !== 8) return undefined;
  const moved = new Array<number>(8).fill(0);
  for (const [axis, position] of positionInNhwc.entries()) {
    moved[position] = values[axis] ?? 0;
    moved[position + 4] = values[axis + 4] ?? 0;
  }
  const form: Form =
    attribute === undefined
      ? { kind: "input", index: 1, values: moved }
      : { kind: "attribute", name: "pads", value: moved };
  return { form, images: [image] };
}

/** Reductions whose result reads the same in both layouts, or keeps all four axes. */
function reduceForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [image, axesInput] = node.inputs;
  if (!isImage(image, scope)) return undefined;
  const attribute = intsAttributeOf(node, "axes");
  const axes = (attribute ?? elementsOf(axesInput, scope))?.map((axis) => (axis < 0 ? axis + 4 : axis));
  if (axes === undefined || axes.length === 0) return undefined;
  const kept = [1, 2, 3].filter((axis) => !axes.includes(axis));
  const keepsDims = (intAttributeOf(node, "keepdims") ?? 1) !== 0;
  // Without its axes, [N, C] and [N, H, W] read the same in both layouts; [N, C, H] does not.
  if (!keepsDims && kept.length > 1 && kept.includes(1)) return undefined;
  // As a function it begins with the Transpose that ends the one before it: runtimes cancel the two.
  if (!keepsDims && kept.length === 1)
    return { form: { kind: "function", result: "plain" }, images: [image] };
  const moved = axes.flatMap((axis) => positionInNhwc[axis] ?? []).sort((a, b) => a - b);
  const form: Form =
    attribute === undefined
      ? { kind: "input", index: 1, values: moved }
      : { kind: "attribute", name: "axes", value: moved };
  return { form, images: [image] };
}

/** One position per image: a view, and as a function one that runtimes can cancel Transposes against. */
function viewForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [image] = node.inputs;
  const fact = image === undefined ? undefined : scope.fact(image);
  if (image === undefined || fact?.kind !== "tensor" || fact.shape?.length !== 4) return undefined;
  if (fact.shape[2] !== 1 || fact.shape[3] !== 1) return undefined;
  return { form: { kind: "function", result: "plain" }, images: [image] };
}

function sliceForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [image, starts, , axesInput] = node.inputs;
  const fact = starts === undefined ? undefined : scope.fact(starts);
  if (!isImage(image, scope)) return undefined;
  // All lists of positions are of one type, and ours are int64.
  if (fact?.kind === "tensor" && fact.dtype !== "int64") return undefined;
  const attribute = intsAttributeOf(node, "axes");
  const moved = (attribute ?? elementsOf(axesInput, scope))?.map(
    (axis) => positionInNhwc[axis < 0 ? axis + 4 : axis] ?? axis,
  );
  if (moved === undefined) return undefined;
  const form: Form =
    attribute === undefined
      ? { kind: "input", index: 3, values: moved }
      : { kind: "attribute", name: "axes", value: moved };
  return { form, images: [image] };
}

/** A list of positions along one axis: the result has the axes of the image. */
function gatherForm(node: Node, scope: Scope): ReturnType<typeof formOf> {
  const [image, indices] = node.inputs;
  const fact = indices === undefined ? undefined : scope.fact(indices);
  if (!isImage(image, scope) || fact?.kind !== "tensor" || fact.shape?.length !== 1) return undefined;
  const axis = intAttributeOf(node, "axis") ?? 0;
  const value = positionInNhwc[axis < 0 ? axis + 4 : axis];
  return value === undefined
    ? undefined
    : { form: { kind: "attribute", name: "axis", value }, images: [image] };
}

/** Positions, as operators take them: what else a broken model has there is not renumbered. */
function elementsOf(value: Value | undefined, scope: Scope): readonly number[] | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" && fact.dtype === "int64" ? numbersOf(fact.elements) : undefined;
}
