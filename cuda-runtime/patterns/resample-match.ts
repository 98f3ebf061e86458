/** @file One node after another of a graph: what each makes of what is known of its inputs. */
import { maxOf } from "../../src/ir/lists.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import type { PatternGraph } from "./graph.ts";
import { gathered } from "./resample-gather.ts";
import { comparedBy, lookupOf, type Role, sameLookup } from "./resample-lookup.ts";
import {
  aligned,
  combinedRoles,
  isViewNode,
  type Roles,
  rolesOfSeen,
  seenFrom,
  throughView,
} from "./resample-roles.ts";
import {
  type Meaning,
  sameIndex,
  sameRows,
  sameWeight,
  shifted,
  type Term,
  type Weight,
} from "./resample-terms.ts";
import { castWeight, chosen, divided, isEmptySpan, limitedBy, weightNear } from "./resample-weight.ts";

export type Terms = ReadonlyMap<Value, Term>;

/** What a node makes; undefined: nothing that belongs to a resampling. */
type Reading = (node: Node, terms: Terms, graph: PatternGraph) => Meaning | undefined;

const readings: Readonly<Record<string, Reading>> = {
  Less: compared,
  LessOrEqual: compared,
  Greater: compared,
  GreaterOrEqual: compared,
  Equal: (node, terms, graph) => isEmptySpan(node, inputTerms(node, terms), graph),
  Cast: cast,
  Clip: (node, terms, graph) => limitedBy(node, inputTerms(node, terms), graph),
  Max: (node, terms, graph) => limitedBy(node, inputTerms(node, terms), graph),
  Min: (node, terms, graph) => limitedBy(node, inputTerms(node, terms), graph),
  Div: (node, terms) => divided(inputTerms(node, terms)),
  Where: (node, terms, graph) => chosen(node, inputTerms(node, terms), graph),
  Sub: subtracted,
  Mul: multiplied,
  Add: added,
};

/** Terms of all values that belong to resamplings. */
export function termsOf(graph: PatternGraph): Terms {
  const terms = new Map<Value, Term>();
  for (const node of graph.nodes()) {
    const [output, ...more] = node.outputs;
    if (output === undefined || more.length > 0) continue;
    const term = termOf(node, output, terms, graph);
    if (term !== undefined) terms.set(output, term);
  }
  return terms;
}

function termOf(node: Node, output: Value, terms: Terms, graph: PatternGraph): Term | undefined {
  const given = inputTerms(node, terms).filter((term) => term !== undefined);
  const operator = operatorOf(node);
  const isStart = operator.startsWith("Less") || operator.startsWith("Greater");
  const [first] = given;
  if (first === undefined && !isStart) return undefined;
  const nodes = new Set([...given.flatMap((term) => [...term.nodes]), node]);
  if (first !== undefined && isViewNode(node)) {
    const roles = first.kind === "compared" ? undefined : throughView(node, first.roles, graph);
    return roles && { ...first, roles: roles as Roles<Role>, nodes };
  }
  if (operator === "ReduceSum") return summed(node, first, nodes, graph);
  if (operator === "Gather" || operator === "GatherElements") {
    const taken = first?.kind === "index" && node.inputs[1] && gathered(node, first, graph);
    return taken ? { ...taken.meaning, roles: taken.roles, nodes } : undefined;
  }
  const meaning = own(readings, operator)?.(node, terms, graph);
  const rank = graph.shape(output)?.length;
  if (meaning === undefined || rank === undefined) return undefined;
  const roles = rolesOf(node, meaning, terms, rank, graph);
  return roles && { ...meaning, roles, nodes };
}

function inputTerms(node: Node, terms: Terms): readonly (Term | undefined)[] {
  return node.inputs.map((value) => (value === undefined ? undefined : terms.get(value)));
}

/** Of an elementwise result. */
function rolesOf(
  node: Node,
  meaning: Meaning,
  terms: Terms,
  rank: number,
  graph: PatternGraph,
): Roles<Role> | undefined {
  if (meaning.kind === "compared") return new Array<undefined>(rank).fill(undefined);
  let roles: Roles | undefined = aligned([], rank);
  for (const value of node.inputs) {
    if (value === undefined) return undefined;
    const own = terms.get(value)?.roles ?? otherRoles(value, meaning, graph);
    roles = roles && own && combinedRoles(roles, own, rank);
  }
  return roles as Roles<Role> | undefined;
}

/** Of targets, or of a number. */
function otherRoles(value: Value, meaning: Meaning, graph: PatternGraph): Roles | undefined {
  if (meaning.kind !== "passed") return [];
  return rolesOfSeen(seenFrom(value, graph), meaning.lookup.targets.roles, graph);
}

function summed(
  node: Node,
  term: Term | undefined,
  nodes: ReadonlySet<Node>,
  graph: PatternGraph,
): Term | undefined {
  if (term?.kind !== "compared") return undefined;
  // Of bytes or halves a sum would not be exact.
  const [sum] = node.outputs;
  if (!isCountType(sum, graph)) return undefined;
  const found = lookupOf(node, term.compared, graph);
  if (found === undefined) return undefined;
  const { lookup, roles } = found;
  return { kind: "index", lookup, index: { shift: 0, least: 0, most: lookup.source }, roles, nodes };
}

function typeOf(value: Value | undefined, graph: PatternGraph): string | undefined {
  const fact = value && graph.scope.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

/** Float32 counts to 2^24. */
const largestCount = 2 ** 24;

function isCountType(value: Value | undefined, graph: PatternGraph): boolean {
  return ["int32", "int64", "float32"].includes(typeOf(value, graph) ?? "");
}

function compared(node: Node, terms: Terms, graph: PatternGraph): Meaning | undefined {
  const given = inputTerms(node, terms);
  if (given.some((term) => term !== undefined))
    return isEmptySpan(node, given, graph) ?? weightNear(node, given, graph);
  const pair = comparedBy(node, graph);
  return pair === undefined || pair.shape.length === 0 || maxOf(pair.shape) > largestCount
    ? undefined
    : { kind: "compared", compared: pair };
}

function cast(node: Node, terms: Terms, graph: PatternGraph): Meaning | undefined {
  const [term] = inputTerms(node, terms);
  const [output] = node.outputs;
  switch (term?.kind) {
    case "compared":
    case "index":
      return isCountType(output, graph) ? term : undefined;
    case "weight":
      return castWeight(term, typeOf(output, graph));
    case "row":
    case "between":
      // All arithmetic on rows is in float32.
      return typeOf(output, graph) === "float32" ? term : undefined;
    case "result":
      return graph.isFloat(output) && typeOf(output, graph) === typeOf(term.rows.data, graph)
        ? term
        : undefined;
    default:
      return undefined;
  }
}

function subtracted(node: Node, terms: Terms, graph: PatternGraph): Meaning | undefined {
  const [a, b] = inputTerms(node, terms);
  const [left, right] = node.inputs;
  if (b === undefined) {
    const by = graph.number(right);
    return a?.kind === "index" && by !== undefined && Number.isInteger(by)
      ? { ...a, index: shifted(a.index, -by) }
      : undefined;
  }
  if (a === undefined) {
    if (b.kind === "weight") return graph.number(left) === 1 ? { kind: "rest", weight: b.weight } : undefined;
    const isTarget =
      b.kind === "time" && left !== undefined && isTargetOf(left, b.lookup.targets.value, graph);
    return isTarget ? { kind: "passed", lookup: b.lookup, index: b.index } : undefined;
  }
  return difference(a, b);
}

function isTargetOf(value: Value, targets: Value, graph: PatternGraph): boolean {
  return seenFrom(value, graph).root === targets;
}

function difference(a: Term, b: Term): Meaning | undefined {
  if (a.kind === "time" && b.kind === "time" && sameLookup(a.lookup, b.lookup)) {
    const rule = { spanAdd: 0, spanLeast: -Infinity, zeroSpan: 0 };
    return { kind: "span", span: { lookup: a.lookup, low: b.index, high: a.index, rule } };
  }
  if (a.kind !== "row") return undefined;
  if (b.kind === "row" && sameRows(a.rows, b.rows))
    return { kind: "between", rows: a.rows, low: b.index, high: a.index };
  const isFromHigh =
    b.kind === "step" && b.isRest && sameRows(a.rows, b.rows) && sameIndex(a.index, b.weight.high);
  return isFromHigh ? { kind: "fromHigh", rows: a.rows, weight: b.weight } : undefined;
}

/** Whether the weight is one between these rows. */
function isBetween(weight: Weight, low: Term & { kind: "between" }): boolean {
  return (
    sameLookup(weight.lookup, low.rows.lookup) &&
    sameIndex(weight.low, low.low) &&
    sameIndex(weight.high, low.high)
  );
}

function multiplied(node: Node, terms: Terms): Meaning | undefined {
  const [a, b] = inputTerms(node, terms);
  const factors = [a, b];
  const factor = factors.find((term) => term?.kind === "weight" || term?.kind === "rest");
  const other = factors.find((term) => term !== factor);
  if (factor?.kind !== "weight" && factor?.kind !== "rest") return undefined;
  const { weight } = factor;
  const isRest = factor.kind === "rest";
  if (other?.kind === "between" && isBetween(weight, other))
    return { kind: "step", rows: other.rows, weight, isRest };
  if (other?.kind !== "row" || !sameLookup(weight.lookup, other.rows.lookup)) return undefined;
  return { kind: "share", rows: other.rows, index: other.index, weight, isRest };
}

function added(node: Node, terms: Terms, graph: PatternGraph): Meaning | undefined {
  const [a, b] = inputTerms(node, terms);
  if (a !== undefined && b !== undefined) return sumOf(a, b) ?? sumOf(b, a);
  const term = a ?? b;
  const by = graph.number(a === undefined ? node.inputs[0] : node.inputs[1]);
  if (by === undefined) return undefined;
  if (term?.kind === "index")
    return Number.isInteger(by) ? { ...term, index: shifted(term.index, by) } : undefined;
  return term?.kind === "span" && isPlainSpan(term.span.rule)
    ? { kind: "span", span: { ...term.span, rule: { ...term.span.rule, spanAdd: by } } }
    : undefined;
}

function isPlainSpan({
  spanAdd,
  spanLeast,
  zeroSpan,
}: {
  spanAdd: number;
  spanLeast: number;
  zeroSpan: number;
}) {
  return spanAdd === 0 && spanLeast === -Infinity && zeroSpan === 0;
}

/** The row that comes first, and what is added to it. */
function sumOf(a: Term, b: Term): Meaning | undefined {
  if (a.kind === "row" && b.kind === "step" && !b.isRest) {
    const isFromLow = sameRows(a.rows, b.rows) && sameIndex(a.index, b.weight.low);
    return isFromLow ? { kind: "result", rows: a.rows, weight: b.weight, blend: "oneProduct" } : undefined;
  }
  if (a.kind !== "share" || b.kind !== "share" || !a.isRest || b.isRest) return undefined;
  const isOne =
    sameRows(a.rows, b.rows) &&
    sameWeight(a.weight, b.weight) &&
    sameIndex(a.index, a.weight.low) &&
    sameIndex(b.index, a.weight.high);
  return isOne ? { kind: "result", rows: a.rows, weight: a.weight, blend: "twoProducts" } : undefined;
}
