/** @file The ways from a softmax to the products around it: what may lie between. */

import { type Dim, type Shape, sameDim } from "../ir/dim.ts";
import type { Node, Value } from "../ir/model.ts";
import { isView } from "../ops/ask.ts";
import type { MaskUse } from "./attention-mask.ts";
import { intsAttributeIn } from "./attributes.ts";
import type { Scope } from "./scope.ts";

/** A value that holds scores, and which of its last two axes runs over keys. */
export interface Position {
  readonly value: Value;
  readonly keysLast: boolean;
}

export interface Step {
  readonly node: Node;
  /** What the node masks or biases scores with. */
  readonly mask: MaskUse | undefined;
}

export interface Found<Match> {
  readonly node: Node;
  readonly match: Match;
  /** The value between path and product. */
  readonly at: Position;
  /** From the softmax on. */
  readonly path: readonly Step[];
}

type Matcher<Match> = (node: Node, at: Position) => Match | undefined;

interface Reached {
  readonly at: Position;
  readonly step: Step | undefined;
  readonly before: Reached | undefined;
}

/** Real exports need up to ten steps; masks and shared values open side ways. */
const maxVisited = 48;
const maxConsumers = 16;

/** One input in, the same lanes out. */
const unaryOps: ReadonlySet<string> = new Set([
  "Cast",
  "CastLike",
  "Clip",
  "Dropout",
  "Expand",
  "Neg",
  "Tanh",
  "QuantizeLinear",
  "DequantizeLinear",
]);

/** How the other operand of a two-operand step enters. */
const binaryOps: ReadonlyMap<string, MaskUse["kind"]> = new Map([
  ["Add", "added"],
  ["Sub", "other"],
  ["Mul", "other"],
  ["Div", "other"],
  ["Max", "other"],
  ["Min", "other"],
]);

/** The nearest producer that matches. */
export function searchUp<Match>(
  start: Position,
  scope: Scope,
  match: Matcher<Match>,
): Found<Match> | undefined {
  return search(start, match, ({ value }) => {
    const { producer } = value;
    return producer === undefined || producer.graph !== scope.graph
      ? []
      : [{ node: producer, next: () => stepsUp(producer, value, scope) }];
  });
}

/** The nearest consumer that matches. */
export function searchDown<Match>(
  start: Position,
  scope: Scope,
  match: Matcher<Match>,
): Found<Match> | undefined {
  return search(start, match, ({ value }) =>
    value.consumers
      .slice(0, maxConsumers)
      .filter((node) => node.graph === scope.graph)
      .map((node) => ({ node, next: () => stepsDown(node, value, scope) })),
  );
}

interface Neighbour {
  readonly node: Node;
  next(): readonly Move[];
}

interface Move {
  readonly to: Value;
  readonly swaps: boolean;
  readonly mask: MaskUse | undefined;
}

function search<Match>(
  start: Position,
  match: Matcher<Match>,
  neighboursOf: (at: Position) => readonly Neighbour[],
): Found<Match> | undefined {
  const queue: Reached[] = [{ at: start, step: undefined, before: undefined }];
  const seen = new Set<Value>([start.value]);
  for (const reached of queue) {
    for (const { node, next } of neighboursOf(reached.at)) {
      const matched = match(node, reached.at);
      if (matched !== undefined) return { node, match: matched, at: reached.at, path: pathTo(reached) };
      for (const { to, swaps, mask } of next()) {
        if (seen.has(to) || seen.size >= maxVisited) continue;
        seen.add(to);
        const keysLast = swaps ? !reached.at.keysLast : reached.at.keysLast;
        queue.push({ at: { value: to, keysLast }, step: { node, mask }, before: reached });
      }
    }
  }
  return undefined;
}

function pathTo(end: Reached): Step[] {
  const path: Step[] = [];
  for (let reached: Reached | undefined = end; reached !== undefined; reached = reached.before) {
    if (reached.step !== undefined) path.unshift(reached.step);
  }
  return path;
}

/** Inputs of `node` that hold the same scores as its output. */
function stepsUp(node: Node, output: Value, scope: Scope): Move[] {
  return passages(node).flatMap(({ input, maskInput, kind }) => {
    const from = node.inputs[input];
    if (from === undefined) return [];
    const swaps = swapsLastTwo(node, from, output, scope);
    return swaps === undefined ? [] : [{ to: from, swaps, mask: maskOf(node, maskInput, kind, scope) }];
  });
}

/** Outputs of `node` that hold the same scores as its input. */
function stepsDown(node: Node, from: Value, scope: Scope): Move[] {
  const [output] = node.outputs;
  if (output === undefined) return [];
  return passages(node).flatMap(({ input }) => {
    if (node.inputs[input] !== from) return [];
    const swaps = swapsLastTwo(node, from, output, scope);
    return swaps === undefined ? [] : [{ to: output, swaps, mask: undefined }];
  });
}

interface Passage {
  readonly input: number;
  readonly maskInput: number | undefined;
  readonly kind: MaskUse["kind"];
}

/** The inputs that may carry scores through a node, each with the input that then acts as mask. */
function passages(node: Node): readonly Passage[] {
  const { domain, opType } = node;
  if (domain !== "") return [];
  if (isView(node) || unaryOps.has(opType)) return [{ input: 0, maskInput: undefined, kind: "other" }];
  if (opType === "Where") {
    return [
      { input: 1, maskInput: 0, kind: "keeps" },
      { input: 2, maskInput: 0, kind: "replaces" },
    ];
  }
  const kind = binaryOps.get(opType);
  if (kind === undefined) return [];
  return [
    { input: 0, maskInput: 1, kind },
    { input: 1, maskInput: 0, kind },
  ];
}

/** A factor or limit for whole matrices of scores is no mask. */
function maskOf(
  node: Node,
  input: number | undefined,
  kind: MaskUse["kind"],
  scope: Scope,
): MaskUse | undefined {
  const value = input === undefined ? undefined : node.inputs[input];
  if (value === undefined) return undefined;
  const isUniform =
    scope
      .shape(value)
      ?.slice(-2)
      .every((dim) => dim === 1) ?? false;
  return isUniform ? undefined : { value, kind };
}

/** Whether the last two axes of `from` are those of `to`, or those swapped; undefined for neither. */
function swapsLastTwo(node: Node, from: Value, to: Value, scope: Scope): boolean | undefined {
  const [before, after] = [scope.shape(from), scope.shape(to)];
  if (before === undefined || after === undefined || before.length < 2 || after.length < 2) return undefined;
  if (node.opType === "Transpose") return transposedLastTwo(node, before, scope);
  const isKept = isView(node) ? sameDim : mayMeet;
  return [-2, -1].every((axis) => isKept(before.at(axis) ?? -1, after.at(axis) ?? -1)) ? false : undefined;
}

function transposedLastTwo(node: Node, shape: Shape, scope: Scope): boolean | undefined {
  const rank = shape.length;
  const permutation = intsAttributeIn(node, "perm", scope) ?? shape.map((_, axis) => rank - 1 - axis);
  const [row, column] = permutation.slice(-2);
  if (row === rank - 2 && column === rank - 1) return false;
  return row === rank - 1 && column === rank - 2 ? true : undefined;
}

/**
 * Sizes of one axis before and behind an operator, or of both operands: a mask whose length has a symbol of its own leaves the larger of both, which
 * is either's size as a product meets it.
 */
export function mayMeet(a: Dim, b: Dim): boolean {
  return sameDim(a, b) || typeof a !== "number" || typeof b !== "number";
}
