/** @file The layout pass: convolutions and the operators between them in NHWC, Transposes only at region boundaries. */
import { dequantizedFrom } from "../../facts/origin.ts";
import type { Scope } from "../../facts/scope.ts";
import { choosesLayout, undoesLayout } from "../../hardware/stacks.ts";
import { counted } from "../../ir/format.ts";
import { pushAll } from "../../ir/lists.ts";
import { labelOf, type Node, operatorOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";
import type { Pass, PassContext, PassNote, PassRegion, PassResult } from "../pass.ts";
import type { Border } from "./forms.ts";
import { leastIrVersion, toNhwc } from "./functions.ts";
import { anchors } from "./layouts.ts";
import { microsoft } from "./nhwc-conv.ts";
import type { Region } from "./nhwc-regions.ts";
import { gainOf, transposeCost } from "./price.ts";
import { LayoutRewrite } from "./rewrite.ts";

export const channelsLast: Pass = { name: "channels-last", safe: false, run };

function run(context: PassContext): PassResult {
  return resultOf(planLayout(context), context);
}

/** What the pass says of a model that it plans so. */
export function resultOf({ patch, rewrite, left }: LayoutPlan, context: PassContext): PassResult {
  if (rewrite.converted.length === 0)
    return { patch, notes: [...leftNotes(left, context), ...keptNotes(context)] };
  const notes = [
    changedNote(rewrite, context),
    ...(isUndone(context) ? [] : slowerNotes(rewrite.regions)),
    ...leftNotes(left, context),
    ...blockedNotes(rewrite.borders, context),
    ...keptNotes(context),
  ];
  const permutations = new Map(rewrite.edges.map((name) => [name, toNhwc]));
  const parts = rewrite.converted.map(labelOf);
  return { patch, notes, permutations, parts, regions: rewrite.regions.map(placeOf) };
}

function isUndone({ target, options }: PassContext): boolean {
  return undoesLayout(target.stack, options.nhwcForm);
}

/** Every region by itself: two are alike only where they are the same. */
function placeOf(region: Region): PassRegion {
  const parts = region.convolutions.map(labelOf);
  return {
    what: `${nameOf(region)} in NHWC`,
    shape: JSON.stringify(parts),
    parts,
    microseconds: region.microseconds,
  };
}

/** What is to be written, and how it came about. */
export interface LayoutPlan {
  /** Empty where nothing is converted. */
  readonly patch: Patch;
  readonly rewrite: LayoutRewrite;
  /** Regions that stay NCHW, because NHWC would be slower. */
  readonly left: readonly Region[];
}

export function planLayout(context: PassContext): LayoutPlan {
  const { patch, rewrite, left } = rewriteWherePays(context);
  if (rewrite.converted.length === 0) return { patch: new Patch(), rewrite, left };
  const { opsets } = context.model;
  pushAll(patch.functions, rewrite.functions.specs);
  if (rewrite.functions.isUsed && !opsets.has(nhwcDomain)) patch.opsets.set(nhwcDomain, 1);
  if (rewrite.functions.isUsed) patch.leastIrVersion = leastIrVersion;
  if (rewrite.convolutions.isUsed && !opsets.has(microsoft)) patch.opsets.set(microsoft, 1);
  return { patch, rewrite, left };
}

/** Where only gains are asked for: again without the regions that lose, until none does. */
function rewriteWherePays(context: PassContext): LayoutPlan {
  const left: Region[] = [];
  const isLeftOut = (node: Node) =>
    anchors.has(node.opType) && context.leftOut?.(labelOf(node)) !== undefined;
  const excluded = new Set(context.model.graph.nodes.filter(isLeftOut));
  for (const { node, scope } of context.products) if (isOfCodes(node, scope)) excluded.add(node);
  for (;;) {
    const patch = new Patch();
    const rewrite = new LayoutRewrite(context, patch.of(context.model.graph), excluded);
    rewrite.run();
    const losing = context.options.nhwcOnlyWhereFaster === true ? rewrite.regions.filter(isSlower) : [];
    if (losing.length === 0) return { patch, rewrite, left };
    pushAll(left, losing);
    for (const { convolutions } of losing) for (const node of convolutions) excluded.add(node);
  }
}

function isSlower({ microseconds }: Region): boolean {
  return microseconds < 0;
}

function slowerNotes(regions: readonly Region[]): PassNote[] {
  return regions.filter(isSlower).map((region) => ({
    kind: "blocked",
    node: region.convolutions[0],
    message: `${nameOf(region)}: NHWC is predicted to be slower, and was asked for`,
    microseconds: region.microseconds,
  }));
}

/** Nothing where the stack takes NHWC of any file: what the file keeps is no layout that runs, unless its ends were to be turned. */
function leftNotes(regions: readonly Region[], { target, options }: PassContext): PassNote[] {
  if (choosesLayout(target.stack) && !options.nhwcIo) return [];
  return regions.map((region) => ({
    kind: "blocked",
    node: region.convolutions[0],
    message: `${nameOf(region)} stay NCHW: NHWC is predicted to be slower; --layout nhwc converts them all the same`,
    microseconds: region.microseconds,
  }));
}

function nameOf({ convolutions: [first, ...others] }: Region): string {
  const name = first === undefined ? "" : labelOf(first);
  return `${counted(1 + others.length, "convolution")} from "${name}" on`;
}

function changedNote(rewrite: LayoutRewrite, context: PassContext): PassNote {
  const { converted, borders, edges, unturned } = rewrite;
  const gain = converted.reduce((total, node) => total + gainOf(node, context), 0);
  const cost = borders.reduce((total, { value }) => total + transposeCost(value, context), 0);
  const saved = unturned.reduce((total, value) => total + transposeCost(value, context), 0);
  const moved = edges.length === 0 ? "" : `; ${edges.map((name) => `"${name}"`).join(", ")} in NHWC as well`;
  const gone = unturned.length === 0 ? "" : `, ${unturned.length} removed`;
  const message = `${counted(converted.length, "convolution")} and the operators between them in NHWC, ${counted(borders.length, "Transpose")} at region boundaries${gone}${moved}`;
  const microseconds = isUndone(context) ? undefined : gain + saved - cost;
  return { kind: "changed", node: undefined, message, microseconds };
}

/** Who needs NCHW, by operator: the first of each, and how many more there are. */
function blockedNotes(borders: readonly Border[], context: PassContext): PassNote[] {
  const byOperator = new Map<string, { first: Node; value: string; count: number; microseconds: number }>();
  for (const { value, reader } of borders) {
    if (reader === undefined) continue;
    const operator = operatorOf(reader);
    const known = byOperator.get(operator) ?? { first: reader, value: value.name, count: 0, microseconds: 0 };
    known.count += 1;
    known.microseconds += transposeCost(value, context);
    byOperator.set(operator, known);
  }
  return [...byOperator].map(([operator, { first, value, count, microseconds }]) => ({
    kind: "blocked",
    node: first,
    message: `${operator} needs NCHW: ${counted(count, "Transpose")}, the first for "${value}"`,
    microseconds,
  }));
}

/** Convolutions that have no NHWC form here. */
function keptNotes({ model, products }: PassContext): PassNote[] {
  const kept = new Map<string, { first: Node; count: number }>();
  for (const { node, scope, sizes } of products) {
    if (sizes.kind !== "conv" || sizes.layout === "nhwc") continue;
    const isInMainGraph = scope.isMain && node.graph === model.graph;
    const reason = isOfCodes(node, scope) ? ofCodes : reasonToKeep(node, isInMainGraph, sizes.input.length);
    if (reason === undefined) continue;
    const known = kept.get(reason) ?? { first: node, count: 0 };
    known.count += 1;
    kept.set(reason, known);
  }
  return [...kept].map(([reason, { first, count }]) => ({
    kind: "kept",
    node: first,
    message: `${counted(count, "convolution")} ${count === 1 ? "stays" : "stay"} NCHW: ${reason}`,
  }));
}

const ofCodes = "of quantized codes, which what multiplies codes looks for around convolutions as they are";

/** Whether both factors are dequantized: within functions in NHWC nothing would multiply their codes, and weights would be floats. */
function isOfCodes({ inputs }: Node, scope: Scope): boolean {
  return inputs
    .slice(0, 2)
    .every((input) => input !== undefined && dequantizedFrom(input, scope) !== undefined);
}

function reasonToKeep(
  { opType, domain }: Node,
  isInMainGraph: boolean,
  spatialAxes: number,
): string | undefined {
  if (!isInMainGraph) return "in a subgraph or a function of the model";
  if (spatialAxes !== 2) return `${counted(spatialAxes, "spatial axis", "spatial axes")}, expected 2`;
  if (domain !== "" || !anchors.has(opType))
    return `${domain === "" ? opType : `${domain}::${opType}`} has no NHWC form`;
  return undefined;
}
