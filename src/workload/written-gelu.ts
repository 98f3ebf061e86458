/** @file GELU written out: half of x by one more than erf(x/√2), or than tanh of a cubic of x. */
import type { Scope } from "../facts/scope.ts";
import type { DType } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { ConstantValues } from "./constants.ts";
import { chainWork } from "./traffic.ts";
import type { Bound } from "./values.ts";
import { type OneOperator, WrittenGraph, type WrittenOut } from "./written-out.ts";
import { type Polynomial, polynomialOf } from "./written-polynomial.ts";

export type GeluForm = "erf" | "tanh";

export interface WrittenGelu extends WrittenOut {
  readonly form: GeluForm;
  readonly isExact: boolean;
}

/** What erf, or tanh, is taken of. */
const inside: Readonly<Record<GeluForm, Polynomial>> = {
  erf: [0, Math.SQRT1_2],
  tanh: [0, Math.sqrt(2 / Math.PI), 0, 0.044715 * Math.sqrt(2 / Math.PI)],
};

/** How far a number of a type may lie from what it stands for, of its size. */
const rounding: Partial<Record<DType, number>> = {
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
  float32: 2 ** -24,
  float64: 2 ** -53,
};

/** Of a coefficient: products of a few numbers that were rounded, and roundings of those who wrote them down in decimals. */
const roundings = 8;
/** What recognisers let pass, as ONNX Runtime's do: 1.4142 in place of √2. */
const recognised = 2e-5;

/** Wherever they are, also where sizes are not known; `bound` gives those that are not in the file. */
export function writtenGelus(scope: Scope, { bindings }: Bound): WrittenGelu[] {
  return geluPatterns(scope).flatMap(({ node, nodes, form, isExact }) => {
    const fused = chainWork(nodes, scope, ConstantValues.of(scope), bindings);
    return fused === undefined ? [] : [{ node, scope, nodes, fused, form, isExact }];
  });
}

export interface GeluPattern extends OneOperator {
  /** The Erf or Tanh. */
  readonly node: Node;
  readonly form: GeluForm;
  /** Whether its numbers are GELU's to the rounding of their type: else it is near enough for a recogniser. */
  readonly isExact: boolean;
}

/** At any sizes. */
export function geluPatterns(scope: Scope): GeluPattern[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("Erf", "Tanh").flatMap((node) => geluAround(node, graph) ?? []);
}

function geluAround(node: Node, graph: WrittenGraph): GeluPattern | undefined {
  const form = node.opType === "Erf" ? "erf" : "tanh";
  const plus = graph.readerOf(node.outputs[0], "Add");
  if (plus === undefined || !plus.inputs.some((each) => graph.number(each) === 1)) return undefined;
  for (const { x, nodes: products } of gatesOf(plus, graph)) {
    const inner = polynomialOf(node.inputs[0], x, graph);
    const isWithin = (share: number) =>
      inner !== undefined && isNear(inner.coefficients, inside[form], share);
    const rounded = roundings * roundingOf(graph.dtype(x));
    if (inner === undefined || !isWithin(Math.max(recognised, rounded))) continue;
    const nodes = graph.closed([...inner.nodes, node, plus, ...products]);
    if (nodes === undefined || !graph.keepsShape(nodes, x)) continue;
    const isExact = isWithin(rounded);
    const attributes = { approximate: named[form] };
    return { node, form, isExact, nodes, x, operator: "Gelu", since: 20, attributes };
  }
  return undefined;
}

const named: Readonly<Record<GeluForm, string>> = { erf: "none", tanh: "tanh" };

function roundingOf(dtype: DType | undefined): number {
  return (dtype === undefined ? undefined : rounding[dtype]) ?? 0;
}

function isNear(found: Polynomial, meant: Polynomial, relative: number): boolean {
  return (
    found.length === meant.length &&
    meant.every((each, power) => Math.abs((found[power] ?? 0) - each) <= relative * each)
  );
}

/** What may be x where x, ½ and one more are multiplied, and the two products. */
interface Gate {
  readonly x: Value;
  readonly nodes: readonly Node[];
}

function gatesOf(plus: Node, graph: WrittenGraph): Gate[] {
  const first = factorOf(plus.outputs[0], graph);
  const second = first && factorOf(first.node.outputs[0], graph);
  const gates: Gate[] = [];
  if (first === undefined) return gates;
  const nodes = second === undefined ? [] : [first.node, second.node];
  if (second !== undefined && second.by === "half" && first.by !== "half") gates.push({ x: first.by, nodes });
  if (second !== undefined && first.by === "half" && second.by !== "half")
    gates.push({ x: second.by, nodes });
  const maker = first.by === "half" ? undefined : graph.makerOf(first.by, "Mul", "Div");
  const halved = maker && graph.variable(maker);
  if (maker !== undefined && halved !== undefined && halves(maker, halved, graph))
    gates.push({ x: halved, nodes: [maker, first.node] });
  return gates;
}

/** The one node that multiplies a value, and by what. */
function factorOf(value: Value | undefined, graph: WrittenGraph) {
  const node = graph.readerOf(value, "Mul", "Div");
  if (node === undefined || value === undefined) return undefined;
  if (halves(node, value, graph)) return { node, by: "half" } as const;
  const other = node.inputs.find((each) => each !== value);
  return other === undefined || node.opType !== "Mul" ? undefined : { node, by: other };
}

function halves({ opType, inputs: [left, right] }: Node, value: Value, graph: WrittenGraph): boolean {
  if (opType === "Div") return left === value && graph.number(right) === 2;
  return graph.number(left === value ? right : left) === 0.5;
}
