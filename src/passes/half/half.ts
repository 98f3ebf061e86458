/** @file The half pass: weights and products to half precision, with FP32 where there is evidence for it. */
import type { Node } from "../../ir/model.ts";
import { labelOf, operatorOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { type HalfType, typesOf } from "./accepts.ts";
import { chooseHalf } from "./choose.ts";
import { emitHalf } from "./emit.ts";
import { type Evidence, findEvidence } from "./evidence.ts";
import { formats } from "./formats.ts";
import { buildFloatGraph, type FloatGraph, type FloatNode } from "./graph.ts";

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
  const chosen = chooseHalf(graph, evidence, context);
  if (chosen.size === 0) return { patch: new Patch(), notes: keptNotes(graph, chosen, evidence, halfType) };
  const { patch, casts, constants } = emitHalf(graph, chosen, evidence, context);
  const message = `${chosen.size} of ${graph.nodes.length} nodes and ${constants} constants in ${label}, with ${casts} Casts`;
  const microseconds = savingOf(graph, chosen, context);
  const changed: PassNote = { kind: "changed", node: undefined, message, microseconds };
  return {
    patch,
    notes: [changed, ...maskNotes(evidence), ...keptNotes(graph, chosen, evidence, halfType)],
    parts: [...chosen].map(({ node }) => labelOf(node)),
  };
}

/** Of the products, in one run; what half saves in traffic pays for the Casts. */
function savingOf(
  graph: FloatGraph,
  chosen: ReadonlySet<FloatNode>,
  { products, pricing, options }: PassContext,
): number {
  let total = 0;
  for (const { node, sizes, runs } of products) {
    const entry = graph.byNode.get(node);
    if (entry === undefined || !chosen.has(entry)) continue;
    total += pricing.savingOf([sizes], [{ ...sizes, dtype: options.halfType }]).microseconds * runs;
  }
  return total;
}

/** A number in a mask is not the number that the model had. */
function maskNotes({ masks }: Evidence): PassNote[] {
  return [...masks.clamps].map(([value, least]) => ({
    kind: "changed",
    node: value.producer,
    message: `the mask constant "${value.name}" is clamped to ${least}: the softmax it ends in is zero there all the same`,
  }));
}

function keptNotes(
  graph: FloatGraph,
  chosen: ReadonlySet<FloatNode>,
  { reasons }: Evidence,
  type: HalfType,
): PassNote[] {
  return graph.nodes.flatMap((entry) => {
    const reason = reasons.get(entry) ?? missing(entry, chosen, type);
    return reason === undefined
      ? []
      : { kind: "kept", node: entry.node, message: describe(entry.node, reason) };
  });
}

/** A product that its operator's types keep from half. */
function missing(entry: FloatNode, chosen: ReadonlySet<FloatNode>, type: HalfType): string | undefined {
  if (chosen.has(entry) || !entry.isProduct) return undefined;
  const { domain, opType } = entry.node;
  const since = typesOf(domain, opType)?.since[type];
  const first = since === undefined ? "" : ` before opset ${since}`;
  return `${operatorOf(entry.node)} has no ${formats[type].label} form${first}`;
}

function describe(node: Node, reason: string): string {
  return `"${labelOf(node)}" stays FP32: ${reason}`;
}
