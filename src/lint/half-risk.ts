/** @file What half precision cannot hold: constants out of its range, and operators that leave it. */
import type { Scope } from "../facts/scope.ts";
import type { DType } from "../ir/dtype.ts";
import { finiteRange, maxOf } from "../ir/lists.ts";
import type { Node, Value } from "../ir/model.ts";
import { isSquare, movesElements, traitsOf } from "../ops/ask.ts";
import { ConstantValues } from "../workload/constants.ts";
import type { LintContext } from "./context.ts";
import { lowestBehind } from "./folded-masks.ts";
import { halfFlush, halfMax, halfMinNormal } from "./formats.ts";
import { constantElements, dtypeOf, isOp, patternOf, sizesOf } from "./graph.ts";
import { findIslands, type Island } from "./islands.ts";

export type Risk =
  /** A large negative number where masks are made: −∞ in half. */
  | { readonly kind: "mask"; readonly value: number }
  | { readonly kind: "overflow"; readonly value: number }
  /** Rounds to zero. */
  | { readonly kind: "flush"; readonly value: number }
  | { readonly kind: "subnormal"; readonly value: number }
  /** Overflows where the input's magnitude exceeds `limit`; for a sum, where the mean magnitude does. */
  | { readonly kind: "power"; readonly value: number; readonly limit: number }
  | { readonly kind: "exponential"; readonly value: number; readonly limit: number }
  | { readonly kind: "sum"; readonly value: number; readonly limit: number };

export interface RiskyNode {
  readonly node: Node;
  readonly scope: Scope;
  readonly risk: Risk;
}

/** Fewer terms than this overflow only where their mean is above 255: as likely in any other operator. */
const manyTerms = 256;

/** Bounds: an infinite bound bounds as well. */
const bounding: ReadonlySet<string> = new Set(["Clip", "Min", "Max"]);
const masking: ReadonlySet<string> = new Set(["Where", "Add", "Sub", "Mul"]);

/** In every graph, in order: nodes that run in half on the target and risk its range. What an island keeps in FP32 does not. */
export function* riskyNodes(context: LintContext): Generator<RiskyNode> {
  const guarded = new Set(findIslands(context.facts).flatMap(({ nodes }) => nodes));
  for (const scope of context.facts.scopes()) {
    for (const node of scope.graph.nodes) {
      if (guarded.has(node) || !node.outputs.some((value) => runsInHalf(value, scope, context))) continue;
      for (const risk of halfRisks(node, scope, context)) yield { node, scope, risk };
    }
  }
}

/** Of a node, were it computed in half. */
function halfRisks(node: Node, scope: Scope, context: LintContext): Risk[] {
  const constants = ConstantValues.of(scope);
  if (constants.has(node)) return [];
  const risk = operatorRisk(node, scope, constants, context);
  return [...constantRisks(node, scope), ...(risk === undefined ? [] : [risk])];
}

/** Whether an island is there for its range: half cannot hold what it computes or reads. */
export function isForRange({ nodes, scope }: Island, context: LintContext): boolean {
  return nodes.some((node) => halfRisks(node, scope, context).length > 0 || readsRiskyConstant(node, scope));
}

/** Moved on the way or not, whatever the node does with it. */
function readsRiskyConstant(node: Node, scope: Scope): boolean {
  const seen = new Set<Value | undefined>(node.inputs);
  for (const value of seen) {
    if (value === undefined || !isWider(dtypeOf(value, scope))) continue;
    const elements = constantElements(value, scope);
    if (elements !== undefined && constantRisk(node, elements) !== undefined) return true;
    const { producer } = value;
    if (producer !== undefined && movesElements(producer)) seen.add(producer.inputs[0]);
  }
  return false;
}

/** Half already, or made half by the target's precision. */
function runsInHalf(value: Value | undefined, scope: Scope, context: LintContext): boolean {
  const dtype = dtypeOf(value, scope);
  return dtype === "float16" || (context.target.precision === "fp16" && isWider(dtype));
}

function isWider(dtype: DType | undefined): boolean {
  return dtype === "float32" || dtype === "bfloat16" || dtype === "float64";
}

function constantRisks(node: Node, scope: Scope): Risk[] {
  if (patternOf(node, scope) !== "elementwise" || isOp(node, "QuantizeLinear", "DequantizeLinear")) return [];
  return node.inputs.flatMap((input) => {
    const dtype = dtypeOf(input, scope);
    if (!isWider(dtype) && dtype !== "float16") return [];
    const elements = constantElements(input, scope);
    if (elements !== undefined || input === undefined) return constantRisk(node, elements ?? []) ?? [];
    const lowest = isMasking(node) ? lowestBehind(input, scope) : 0;
    return lowest < -halfMax ? { kind: "mask", value: lowest } : [];
  });
}

function isMasking({ domain, opType }: Node): boolean {
  return domain === "" && masking.has(opType);
}

function constantRisk(node: Node, elements: readonly number[]): Risk | undefined {
  const { lowest, highest } = finiteRange(elements);
  const largest = -lowest > highest ? lowest : highest;
  if (Math.abs(largest) > halfMax) {
    if (node.domain === "" && bounding.has(node.opType)) return undefined;
    const isMask = lowest < -halfMax && isMasking(node);
    return isMask ? { kind: "mask", value: lowest } : { kind: "overflow", value: largest };
  }
  // Small elements among larger ones are noise of training; a tensor of nothing else is an epsilon or a scale.
  if (largest === 0 || Math.abs(largest) >= halfMinNormal) return undefined;
  return { kind: Math.abs(largest) <= halfFlush ? "flush" : "subnormal", value: largest };
}

function operatorRisk(
  node: Node,
  scope: Scope,
  constants: ConstantValues,
  context: LintContext,
): Risk | undefined {
  const [input, second] = node.inputs;
  if (input === undefined || constants.isFixedValue(input)) return undefined;
  if (isSquare(node)) return power(2);
  const risk = traitsOf(node)?.half.risk;
  switch (risk?.kind) {
    case "power": {
      const exponents = constantElements(second, scope);
      const exponent = exponents === undefined ? undefined : maxOf(exponents);
      return exponent === undefined || exponent <= 1 ? undefined : power(exponent);
    }
    case "exponential":
      if (isShiftedByMaximum(input)) return undefined;
      return { kind: "exponential", value: Math.E, limit: Math.log(halfMax) };
    case "sum":
      return sum(node, risk.of, scope, context);
    default:
      return undefined;
  }
}

function power(exponent: number): Risk {
  return { kind: "power", value: exponent, limit: halfMax ** (1 / exponent) };
}

/** exp(x − max x), as a softmax written out has it, is at most 1. */
function isShiftedByMaximum(value: Value): boolean {
  return isOp(value.producer, "Sub") && isOp(value.producer?.inputs[1]?.producer, "ReduceMax");
}

function sum(node: Node, of: "values" | "squares", scope: Scope, context: LintContext): Risk | undefined {
  const [[input], [output]] = [node.inputs, node.outputs];
  const before = input === undefined ? undefined : sizesOf(input, scope, context);
  const after = output === undefined ? undefined : sizesOf(output, scope, context);
  if (before === undefined || after === undefined) return undefined;
  const terms = elementsOf(before) / Math.max(elementsOf(after), 1);
  if (terms < manyTerms) return undefined;
  const mean = halfMax / terms;
  return { kind: "sum", value: terms, limit: of === "values" ? mean : Math.sqrt(mean) };
}

function elementsOf(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total * size, 1);
}
