/** @file The half pass: weights and products to half precision, with FP32 where there is evidence for it. */
import { counted } from "../../ir/format.ts";
import type { Node } from "../../ir/model.ts";
import { labelOf, operatorOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { typesOf } from "./accepts.ts";
import { chooseHalf } from "./choose.ts";
import { emitHalf } from "./emit.ts";
import { type Evidence, findEvidence } from "./evidence.ts";
import { formats } from "./formats.ts";
import { buildFloatGraph, type FloatGraph, type FloatNode } from "./graph.ts";
import { kernelLackEver } from "./kernels.ts";
import { holds } from "./slots.ts";

export const half: Pass = { name: "half", safe: false, run };

/** First opset whose Cast takes bfloat16. */
const bfloat16Opset = 13;

function run(context: PassContext): PassResult {
  const { halfType } = context.options;
  const { label } = formats[halfType];
  const opset = context.model.opsets.get("") ?? 1;
  if (halfType === "bfloat16" && opset < bfloat16Opset) {
    const message = `opset ${opset} has no bfloat16: opset ${bfloat16Opset} is the first`;
    return { patch: new Patch(), notes: [{ kind: "blocked", node: undefined, message }] };
  }
  const graph = buildFloatGraph(context.facts, halfType);
  const evidence = findEvidence(graph, context);
  const products = graph.nodes.filter(({ isProduct }) => isProduct);
  // Products are what it is for: where none has a form in it, nothing else is brought to it either.
  const runs = (product: FloatNode) => canBeHalf(product) && !evidence.withoutKernel.has(product);
  const isFormless = products.length > 0 && !products.some(runs);
  const { chosen, isForced } = isFormless ? none : choose(graph, evidence, context);
  const kept = keptNotes(graph, chosen, evidence, context);
  if (chosen.size === 0) {
    const isIdle = graph.nodes.some((node) => canBeHalf(node) && !evidence.reasons.has(node));
    return { patch: new Patch(), notes: isIdle ? [slowerNote(label), ...kept] : kept };
  }
  const { patch, casts, constants } = emitHalf(graph, chosen, evidence, context);
  const { halfOnlyWhereFaster, nhwcFollows } = context.options;
  const microseconds = savedBy(patch, context);
  if (halfOnlyWhereFaster === true && nhwcFollows !== true && (microseconds ?? 0) <= 0)
    return { patch: new Patch(), notes: [slowerNote(label), ...kept] };
  const message = `${chosen.size} of ${counted(graph.nodes.length, "node")} and ${counted(constants, "constant")} in ${label}, with ${casts} Cast${casts === 1 ? "" : "s"}`;
  const changed: PassNote = {
    kind: "changed",
    node: undefined,
    message,
    microseconds,
    ...(isForced && { isByPrice: true }),
  };
  return {
    patch,
    notes: [changed, ...maskNotes(evidence), ...kept],
    parts: [...chosen].map(({ node }) => labelOf(node)),
  };
}

function savedBy(patch: Patch, { account, options }: PassContext): number | undefined {
  if (options.halfUnpriced === true) return undefined;
  return account.microsecondsWith(new Patch()) - account.microsecondsWith(patch);
}

interface Choice {
  readonly chosen: ReadonlySet<FloatNode>;
  /** At any price: products gain nothing by it. */
  readonly isForced: boolean;
}

const none: Choice = { chosen: new Set(), isForced: false };

/**
 * Where half is asked for by name and gains nowhere, the model is brought to it all the same: once, so that what was left
 * FP32 for its Casts' sake stays so.
 */
function choose(graph: FloatGraph, evidence: Evidence, context: PassContext): Choice {
  const { halfOnlyWhereFaster, halfType } = context.options;
  const gaining = chooseHalf(graph, evidence, context);
  const isAsked = halfOnlyWhereFaster !== true && !holds(context.facts, halfType);
  const isForced = gaining.size === 0 && isAsked;
  return { chosen: isForced ? chooseHalf(graph, evidence, context, "products") : gaining, isForced };
}

function slowerNote(label: string): PassNote {
  const message = `left FP32: Casts to ${label} and back are predicted to take at least what half precision saves`;
  return { kind: "blocked", node: undefined, message, isByPrice: true };
}

/** A number in a mask is not the number that the model had. */
function maskNotes({ masks }: Evidence): PassNote[] {
  return [...masks.clamps].map(([value, least]) => ({
    kind: "changed",
    node: value.producer,
    message: `the mask constant "${value.name}" is clamped to ${least}: Softmax gives zero there all the same`,
  }));
}

function keptNotes(
  graph: FloatGraph,
  chosen: ReadonlySet<FloatNode>,
  { reasons }: Evidence,
  context: PassContext,
): PassNote[] {
  return graph.nodes.flatMap((entry) => {
    const known = reasons.get(entry);
    const reason = known ?? missing(entry, chosen, context);
    if (reason === undefined) return [];
    const isByPrice = known === undefined && canBeHalf(entry) ? ({ isByPrice: true } as const) : {};
    return { kind: "kept", node: entry.node, message: describe(entry.node, reason), ...isByPrice };
  });
}

/** A product that is not worth its Casts, or that its operator's types keep from half. */
function missing(
  entry: FloatNode,
  chosen: ReadonlySet<FloatNode>,
  { options: { halfType: type }, target }: PassContext,
): string | undefined {
  if (chosen.has(entry) || !entry.isProduct) return undefined;
  if (canBeHalf(entry)) return "Casts would take more than half precision saves here";
  const { domain, opType } = entry.node;
  const since = typesOf(domain, opType)?.since[type];
  // In a later opset it would be there, and not run.
  const lack = since === undefined ? undefined : kernelLackEver(entry.node, type, target);
  if (lack !== undefined) return lack;
  const first = since === undefined ? "" : ` before opset ${since}`;
  return `${operatorOf(entry.node)} has no ${formats[type].label} form${first}`;
}

function canBeHalf({ isProduct, inputs, outputs }: FloatNode): boolean {
  return isProduct && [...inputs, ...outputs].includes("half");
}

function describe(node: Node, reason: string): string {
  return `"${labelOf(node)}" stays FP32: ${reason}`;
}
