/** @file The weight between two rows: passed over span, and what keeps it from a division by zero and within its limits. */
import { type Node, operatorOf } from "../../src/ir/model.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { plainWeight } from "../kernels/resample/resample.ts";
import type { PatternGraph } from "./graph.ts";
import { sameLookup } from "./resample-lookup.ts";
import {
  limited,
  type Meaning,
  type Span,
  sameIndex,
  sameRows,
  sameWeight,
  type Term,
  type TermOf,
} from "./resample-terms.ts";

type Given = readonly (Term | undefined)[];

/** passed / span */
export function divided([passed, by]: Given): Meaning | undefined {
  if (passed?.kind !== "passed" || by?.kind !== "span" || !sameLookup(passed.lookup, by.span.lookup))
    return undefined;
  const { lookup, low, high, rule } = by.span;
  if (!sameIndex(passed.index, low)) return undefined;
  return { kind: "weight", weight: { lookup, low, high, rule: { ...plainWeight, ...rule } } };
}

interface Limits {
  readonly term: Term;
  readonly least: number;
  readonly most: number;
}

/** Min and Max of one value and numbers; Clip. */
function limitsOf(node: Node, given: Given, graph: PatternGraph): Limits | undefined {
  const [term, ...more] = given.filter((each) => each !== undefined);
  if (term === undefined || more.length > 0) return undefined;
  if (operatorOf(node) === "Clip") {
    if (given[0] === undefined || node.inputs.length > 3 || graph.opset < 11) return undefined;
    const [, low, high] = node.inputs;
    const least = low === undefined ? -Infinity : graph.number(low);
    const most = high === undefined ? Infinity : graph.number(high);
    return least === undefined || most === undefined ? undefined : { term, least, most };
  }
  const [a, b, ...others] = node.inputs;
  const number = graph.number(given[0] === undefined ? a : b);
  if (number === undefined || others.length > 0 || Number.isNaN(number)) return undefined;
  return operatorOf(node) === "Max"
    ? { term, least: number, most: Infinity }
    : { term, least: -Infinity, most: number };
}

export function limitedBy(node: Node, given: Given, graph: PatternGraph): Meaning | undefined {
  const limits = limitsOf(node, given, graph);
  if (limits === undefined) return undefined;
  const { term, least, most } = limits;
  const within = (value: number) => Math.min(Math.max(value, least), most);
  if (term.kind === "index") {
    const isWhole = [least, most].every((limit) => Number.isInteger(limit) || !Number.isFinite(limit));
    return isWhole ? { ...term, index: limited(term.index, least, most) } : undefined;
  }
  if (term.kind === "span") {
    const { rule } = term.span;
    if (most !== Infinity || rule.spanLeast !== -Infinity || rule.zeroSpan !== 0) return undefined;
    return { kind: "span", span: { ...term.span, rule: { ...rule, spanLeast: least } } };
  }
  if (term.kind !== "weight" || term.weight.rule.type !== "float32") return undefined;
  const { rule } = term.weight;
  const limitedRule = { ...rule, least: within(rule.least), most: within(rule.most) };
  return { kind: "weight", weight: { ...term.weight, rule: limitedRule } };
}

/** Equal(span, 0), Greater(span, 0), Less(0, span). */
export function isEmptySpan(node: Node, given: Given, graph: PatternGraph): Meaning | undefined {
  const [a, b] = given;
  const term = a ?? b;
  const number = graph.number(a === undefined ? node.inputs[0] : node.inputs[1]);
  if (term?.kind !== "span" || number !== 0 || !isBare(term.span)) return undefined;
  const operator = operatorOf(node);
  if (operator === "Equal") return { kind: "empty", span: term.span, empty: "noSpan", isNot: false };
  const isPositive = (operator === "Greater" && a === term) || (operator === "Less" && b === term);
  return isPositive ? { kind: "empty", span: term.span, empty: "notPositive", isNot: true } : undefined;
}

function isBare({ rule }: Span): boolean {
  return rule.spanAdd === 0 && rule.spanLeast === -Infinity && rule.zeroSpan === 0;
}

/** Less(weight, 0.5) */
export function weightNear(node: Node, [weight]: Given, graph: PatternGraph): Meaning | undefined {
  const isNear =
    operatorOf(node) === "Less" && weight?.kind === "weight" && graph.number(node.inputs[1]) === 0.5;
  return isNear ? { kind: "near", weight: weight.weight } : undefined;
}

/** Where(condition, a, b) */
export function chosen(node: Node, [condition, a, b]: Given, graph: PatternGraph): Meaning | undefined {
  if (condition?.kind === "near") return nearer(condition, a, b);
  if (condition?.kind !== "empty") return undefined;
  const [otherwise, replaced] = condition.isNot ? [a, node.inputs[2]] : [b, node.inputs[1]];
  const number = (condition.isNot ? b : a) === undefined ? graph.number(replaced) : undefined;
  if (number === undefined || otherwise === undefined) return undefined;
  return withoutEmpty(condition, otherwise, number);
}

function withoutEmpty(condition: TermOf<"empty">, term: Term, number: number): Meaning | undefined {
  const isOfSpan = (span: Pick<Span, "lookup" | "low" | "high">) =>
    sameLookup(span.lookup, condition.span.lookup) &&
    sameIndex(span.low, condition.span.low) &&
    sameIndex(span.high, condition.span.high);
  if (term.kind === "span" && isOfSpan(term.span)) {
    if (condition.empty !== "noSpan" || !isBare(term.span)) return undefined;
    return { kind: "span", span: { ...term.span, rule: { ...term.span.rule, zeroSpan: number } } };
  }
  if (term.kind !== "weight" || !isOfSpan(term.weight)) return undefined;
  const { rule } = term.weight;
  const isWithin = number >= rule.least && number <= rule.most && rule.type === "float32";
  if (!isWithin || rule.empty.kind !== "none") return undefined;
  const empty = { kind: condition.empty, weight: number };
  return { kind: "weight", weight: { ...term.weight, rule: { ...rule, empty } } };
}

/** low + weight · (high − low) up to a half, from the other end behind it. */
function nearer({ weight }: TermOf<"near">, a: Term | undefined, b: Term | undefined): Meaning | undefined {
  const isLerp =
    a?.kind === "result" && a.blend === "oneProduct" && b?.kind === "fromHigh" && sameRows(a.rows, b.rows);
  return isLerp && sameWeight(a.weight, weight) && sameWeight(b.weight, weight)
    ? { kind: "result", rows: a.rows, weight, blend: "nearerEnd" }
    : undefined;
}

/** A weight in the rows' own type. */
export function castWeight(term: TermOf<"weight">, type: string | undefined): Meaning | undefined {
  const { rule } = term.weight;
  if (type === "float32") return term;
  const isHalf = type === "float16" || type === "bfloat16";
  if (!isHalf || !isFloatStorage(type) || (rule.type !== "float32" && rule.type !== type)) return undefined;
  return { kind: "weight", weight: { ...term.weight, rule: { ...rule, type } } };
}
