/** @file Arithmetic with one variable and numbers, as the polynomial that it comes to: the same, however it is written. */
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import type { WrittenGraph } from "./written-out.ts";

/** Coefficients of x⁰, x¹ and so on; the last one is not 0. */
export type Polynomial = readonly number[];

export interface WrittenPolynomial {
  readonly coefficients: Polynomial;
  /** What computes it, in no order. */
  readonly nodes: ReadonlySet<Node>;
}

const highestPower = 3;
/** Formulas have six at most. */
const mostNodes = 8;

/** Of a value that is made of `x` and numbers alone; undefined where something else has a part in it. */
export function polynomialOf(value: Value | undefined, x: Value, graph: WrittenGraph) {
  const reading = new Reading(x, graph);
  const coefficients = reading.of(value);
  return coefficients && ({ coefficients, nodes: reading.nodes } satisfies WrittenPolynomial);
}

class Reading {
  readonly nodes = new Set<Node>();
  readonly #x: Value;
  readonly #graph: WrittenGraph;

  constructor(x: Value, graph: WrittenGraph) {
    this.#x = x;
    this.#graph = graph;
  }

  of(value: Value | undefined): Polynomial | undefined {
    if (value === this.#x) return [0, 1];
    const number = this.#graph.number(value);
    if (number !== undefined) return [number];
    const node = value?.producer;
    if (node === undefined || node.graph !== this.#graph.scope.graph) return undefined;
    this.nodes.add(node);
    const [type] = types.filter((each) => isOp(node, each));
    const rule = type === undefined ? undefined : arithmetic[type];
    if (rule === undefined || this.nodes.size > mostNodes || node.inputs.length !== 2) return undefined;
    const [left, right] = node.inputs.map((input) => this.of(input));
    const result = left && right && rule(left, right);
    return result && result.length - 1 <= highestPower ? result : undefined;
  }
}

type Rule = (left: Polynomial, right: Polynomial) => Polynomial | undefined;

const arithmetic: Readonly<Record<string, Rule>> = {
  Add: (left, right) => sum(left, right),
  Sub: (left, right) => sum(left, times(right, [-1])),
  Mul: times,
  Div: (left, right) => (right.length === 1 ? left.map((each) => each / (right[0] ?? 0)) : undefined),
  Pow: (left, right) => {
    const [exponent = 0] = right;
    if (right.length !== 1 || !Number.isInteger(exponent) || exponent < 1 || exponent > highestPower)
      return undefined;
    return Array.from({ length: exponent }, () => left).reduce(times);
  },
};

const types = Object.keys(arithmetic);

function sum(left: Polynomial, right: Polynomial): Polynomial {
  const length = Math.max(left.length, right.length);
  return trimmed(Array.from({ length }, (_, power) => (left[power] ?? 0) + (right[power] ?? 0)));
}

function times(left: Polynomial, right: Polynomial): Polynomial {
  const result = new Array<number>(left.length + right.length - 1).fill(0);
  for (const [power, factor] of left.entries())
    for (const [other, coefficient] of right.entries())
      result[power + other] = (result[power + other] ?? 0) + factor * coefficient;
  return trimmed(result);
}

function trimmed(coefficients: Polynomial): Polynomial {
  const last = coefficients.findLastIndex((each) => each !== 0);
  return coefficients.slice(0, Math.max(1, last + 1));
}
