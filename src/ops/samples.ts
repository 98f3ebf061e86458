/**
 * @file Samples along one axis of a value: which operators keep each apart from the others, and which inputs say how many there are.
 * What an operator makes of sizes is inference's to tell; this says what sizes alone do not.
 */
import { intAttributeOf, intsAttributeOf } from "../ir/attributes.ts";
import type { Node } from "../ir/model.ts";
import { isOp, traitsOf } from "./ask.ts";

/** Where a value holds samples. */
export interface SamplePlace {
  readonly axis: number;
  readonly rank: number;
}

export interface SampledNode {
  readonly node: Node;
  readonly opset: number;
  /** By position; undefined for an input without samples. */
  readonly places: readonly (SamplePlace | undefined)[];
  /** Elements of a small input of whole numbers, where they are known. */
  readonly numbers: (index: number) => readonly number[] | undefined;
}

/** Continues the sentence that starts with the node: why a sample's results are not its own alone; undefined where they are. */
export function mixing(sampled: SampledNode): string | undefined {
  const { node, places } = sampled;
  const own = rules[node.domain === "" ? node.opType : `${node.domain}::${node.opType}`];
  if (own !== undefined) return own(sampled);
  const layout = traitsOf(node)?.layout;
  if (layout === "lanewise" || layout === "scaled" || layout === "reduced") return undefined;
  if (layout === "channels") return first(sampled) ?? operands(sampled);
  if (layout === "view" || traitsOf(node)?.elements === "same") return undefined;
  return places.some((place) => place !== undefined) ? "is not known to keep samples apart" : undefined;
}

type Rule = (sampled: SampledNode) => string | undefined;

/** Sizes say it: an axis that is summed over is gone from the result, and one that is paired with itself is there twice. */
const bySizes: Rule = () => undefined;

/** Samples are along axis 0, as in images. */
const first: Rule = ({ places }) =>
  places.some((place) => place !== undefined && place.axis !== 0)
    ? "takes samples along axis 0, and has them elsewhere"
    : undefined;

/** Weights are those of all samples. */
const operands: Rule = ({ places }) =>
  places.some((place, index) => index > 0 && place !== undefined) ? "has samples in its weights" : undefined;

function along(otherwise: number, verb: string, andAfter = false): Rule {
  return ({ node, places: [place] }) => {
    if (place === undefined) return undefined;
    const named = intAttributeOf(node, "axis") ?? otherwise;
    const axis = named < 0 ? named + place.rank : named;
    return place.axis === axis || (andAfter && place.axis > axis) ? `${verb} samples` : undefined;
  };
}

/** Before opset 13 everything from the axis on was one row. */
const softmax: Rule = (sampled) =>
  sampled.opset >= 13 ? along(-1, "normalizes over")(sampled) : along(1, "normalizes over", true)(sampled);

/** Each operand has them along the same axis, which is another than the one that grows. */
const concat: Rule = ({ node, places }) => {
  const [place, ...others] = places.filter((each) => each !== undefined);
  if (place === undefined) return undefined;
  if (others.some(({ axis }) => axis !== place.axis)) return "joins samples along different axes";
  const axis = intAttributeOf(node, "axis") ?? 1;
  return place.axis === (axis < 0 ? axis + place.rank : axis) ? "appends samples to samples" : undefined;
};

const slice: Rule = ({ node, places: [place, ...others], numbers }) => {
  if (others.some((each) => each !== undefined)) return "takes its bounds from samples";
  if (place === undefined) return undefined;
  const listed = node.inputs[3] === undefined ? intsAttributeOf(node, "axes") : numbers(3);
  const count = (numbers(1) ?? intsAttributeOf(node, "starts") ?? []).length;
  const axes = listed ?? Array.from({ length: count }, (_, axis) => axis);
  const isCut = axes.some((axis) => (axis < 0 ? axis + place.rank : axis) === place.axis);
  return isCut ? "takes some samples" : undefined;
};

/** X, initial_h and initial_c along one axis, sequence_lens along its only one. */
const recurrent: Rule = ({ node, places }) => {
  const axis = recurrentAxis(node);
  for (const [index, place] of places.entries()) {
    if (place === undefined) continue;
    if (weights.has(index)) return "has samples in its weights";
    if (place.axis !== (index === 4 ? 0 : axis)) return "takes samples for steps of a sequence";
  }
  const isAlone = firstStates.some(
    (index) => node.inputs[index] !== undefined && places[index] === undefined,
  );
  return isAlone ? "has a first state for another number of samples" : undefined;
};
const firstStates = [5, 6];
const weights: ReadonlySet<number> = new Set([1, 2, 3, 7]);

function recurrentAxis(node: Node): number {
  return intAttributeOf(node, "layout") === 1 ? 0 : 1;
}

const cumSum: Rule = ({ places: [place], numbers }) => {
  const [axis] = numbers(1) ?? [];
  if (place === undefined || axis === undefined) return place && "adds up along an axis that is not known";
  return (axis < 0 ? axis + place.rank : axis) === place.axis ? "adds up samples" : undefined;
};

/** Nothing before the first sample and behind the last. */
const pad: Rule = ({ node, places: [place], numbers }) => {
  if (place === undefined) return undefined;
  const widths = numbers(1) ?? intsAttributeOf(node, "pads");
  const listed = node.inputs[3] === undefined ? undefined : numbers(3);
  const axes = listed ?? Array.from({ length: place.rank }, (_, axis) => axis);
  const at = axes.findIndex((axis) => (axis < 0 ? axis + place.rank : axis) === place.axis);
  if (at < 0 || (widths?.[at] === 0 && widths[at + axes.length] === 0)) return undefined;
  return "adds samples, or takes some";
};

/** Once over. */
const tile: Rule = ({ places: [place], numbers }) =>
  place !== undefined && numbers(1)?.[place.axis] !== 1 ? "repeats samples" : undefined;

const triangle: Rule = ({ places: [place] }) =>
  place !== undefined && place.axis >= place.rank - 2 ? "cuts a triangle of samples" : undefined;

/** The two last axes are a matrix: sizes alone do not tell a product of samples with weights from one of rows. */
const rules: Readonly<Record<string, Rule>> = {
  ...named(bySizes, "MatMul", "Gemm", "Einsum", "MatMulInteger", "Transpose", "Expand", "Where", "OneHot"),
  ...named(bySizes, "Shape", "Size", "Constant", "Identity", "Dropout", "com.microsoft::FusedMatMul"),
  ...named(first, "Attention", "RotaryEmbedding", "InstanceNormalization", "GroupNormalization", "LRN"),
  ...named(first, "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "DepthToSpace", "SpaceToDepth"),
  ...named(first, "com.microsoft::MultiHeadAttention", "com.microsoft::SkipLayerNormalization"),
  ...named(first, "com.microsoft::SkipSimplifiedLayerNormalization", "com.microsoft::RotaryEmbedding"),
  ...named(softmax, "Softmax", "LogSoftmax", "Hardmax"),
  ...named(along(-1, "normalizes over", true), "LayerNormalization", "RMSNormalization"),
  ...named(along(-1, "normalizes over", true), "SimplifiedLayerNormalization"),
  ...named(along(-1, "normalizes over"), "LpNormalization"),
  ...named(along(-1, "sorts"), "TopK"),
  ...named(along(0, "compares"), "ArgMax", "ArgMin"),
  ...named(along(0, "splits"), "Split"),
  ...named(along(0, "picks"), "Gather", "GatherElements", "ScatterElements"),
  ...named(recurrent, "LSTM", "GRU", "RNN"),
  Concat: concat,
  Slice: slice,
  CumSum: cumSum,
  Tile: tile,
  Pad: pad,
  Trilu: triangle,
};

function named(rule: Rule, ...types: readonly string[]): Record<string, Rule> {
  return Object.fromEntries(types.map((type) => [type, rule]));
}

/** An input that lists sizes of the result: all of them, in order. */
export interface SizesInput {
  readonly index: number;
  /** How the list is read: as a view of the same elements; as what to be broadcast with; as it stands. */
  readonly as: "view" | "broadcast" | "sizes";
}

export function sizesInputOf(node: Node): SizesInput | undefined {
  if (isOp(node, "Reshape")) return { index: 1, as: "view" };
  if (isOp(node, "Expand")) return { index: 1, as: "broadcast" };
  const isResize =
    isOp(node, "Resize") && node.inputs[3] !== undefined && intsAttributeOf(node, "axes") === undefined;
  return isResize ? { index: 3, as: "sizes" } : undefined;
}

/** Inputs that hold as many samples as others do, although they may be the same for each: an operand of a Concat, a first state. */
export function alikeInputs(
  node: Node,
  place: SamplePlace,
): { readonly indexes: readonly number[]; readonly axis: number } {
  if (isOp(node, "Concat")) return { indexes: [...node.inputs.keys()], axis: place.axis };
  if (isOp(node, "LSTM", "GRU", "RNN")) return { indexes: firstStates, axis: recurrentAxis(node) };
  return { indexes: [], axis: place.axis };
}

/** Sizes of a value, and no element of it. */
export function readsSizesAlone(node: Node): boolean {
  return isOp(node, "Shape", "Size");
}
