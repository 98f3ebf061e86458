/** @file Memory-bound work of nodes and of chains of elementwise nodes. */
import type { Scope } from "../facts/scope.ts";
import { operatorIn, worksOf } from "../facts/works.ts";
import { type Dim, isUnknown, mulDims, product, sameDim } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { isRepeating, isSlicing, isTiling, traitsOf } from "../ops/ask.ts";
import { movesOneInput } from "../ops/movers.ts";
import { findOp } from "../ops/registry.ts";
import { bindWork, type TrafficPattern, type TrafficWork, type Work } from "../ops/work.ts";
import type { ConstantValues } from "./constants.ts";
import { type Extent, extentOf, passOver } from "./extent.ts";

/** How a node moves memory; undefined for a call, a control structure or an unknown operator. */
export function patternOf(node: Node, scope: Scope): TrafficPattern | "none" | undefined {
  if (scope.children.has(node)) return undefined;
  const op = operatorIn(node, scope);
  return op === undefined ? undefined : (op.traffic ?? "copy");
}

/** Whether a node gives out all that it takes in, in the same shape: a Pad by zeros, a Slice of the whole. */
export function copiesWhole(node: Node, scope: Scope): boolean {
  return movesOneInput(node) && everyAxis(node, scope, isSameSize);
}

/** Whether `holds` of each axis before and behind a node that has as many of either. */
function everyAxis({ inputs, outputs }: Node, scope: Scope, holds: (from: Dim, to: Dim) => boolean): boolean {
  const [from, to] = [scope.shape(inputs[0]), scope.shape(outputs[0])];
  if (from === undefined || from.length !== to?.length) return false;
  return from.every((dim, axis) => {
    const other = to[axis];
    return other !== undefined && holds(dim, other);
  });
}

function isSameSize(from: Dim, to: Dim): boolean {
  return !isUnknown(from) && sameDim(from, to);
}

/** What PyTorch and fusing compilers answer with a view: axes of one element are repeated alike by either operator. */
export function isViewed(node: Node, scope: Scope): boolean {
  if (isTiling(node)) return everyAxis(node, scope, (from, to) => from === 1 || isSameSize(from, to));
  return isSlicing(node) || isRepeating(node);
}

/** An output of the model is memory of its own, so no view. */
export function givesOutput({ outputs }: Node): boolean {
  return outputs.some((output) => output?.isOutput);
}

/** The work of one memory-bound node, by its operator's own account where it gives one. */
export function memoryWork(node: Node, scope: Scope, pattern: TrafficPattern): readonly Work[] {
  const op = findOp(node.domain, node.opType);
  if (op?.work !== undefined) return worksOf(node, scope) ?? [];
  const work = plainWork(node, scope, pattern);
  return work === undefined ? [] : [work];
}

/** The same with every symbol bound; none where one is not known. */
export function boundMemoryWork(
  node: Node,
  scope: Scope,
  pattern: TrafficPattern,
  bindings: ReadonlyMap<string, number>,
): readonly Work<number>[] {
  return memoryWork(node, scope, pattern).flatMap((work) => bindWork(work, bindings) ?? []);
}

/** Reads as many bytes as it writes: right for what moves elements (a gather reads the rows it takes). */
function plainWork(node: Node, scope: Scope, pattern: TrafficPattern): TrafficWork | undefined {
  // What one kernel cuts apart, it reads once and writes once.
  const isCut = node.outputs.length > 1 && traitsOf(node)?.elements === "moved";
  const whole = isCut ? node.inputs[0] : node.outputs[0];
  const fact = whole === undefined ? undefined : scope.fact(whole);
  if (fact?.kind !== "tensor" || fact.dtype === undefined || fact.shape === undefined) return undefined;
  const columns = fact.shape.at(-1) ?? 1;
  const rows = product(fact.shape.slice(0, -1));
  const bytes = mulDims(mulDims(rows, columns), Math.max(1, dtypes[fact.dtype].bits / 8));
  return {
    kind: "traffic",
    pattern,
    rows,
    columns,
    bytesRead: bytes,
    bytesWritten: bytes,
    dtype: fact.dtype,
  };
}

/** One kernel for a chain: reads what comes from outside, writes what leaves. */
export function chainWork(
  nodes: readonly Node[],
  scope: Scope,
  constants: ConstantValues,
  bindings: ReadonlyMap<string, number>,
): TrafficWork<number> | undefined {
  const inside = new Set(nodes);
  let [bytesRead, bytesWritten] = [0, 0];
  for (const { of, moved } of readsOf(nodes, inside, scope, bindings)) {
    const whole = extentOf(scope.fact(of), bindings);
    // Scalars and small constant vectors stay in cache.
    if (whole === undefined || (constants.isFixedValue(of) && whole.elements <= 65_536)) continue;
    for (const value of moved) bytesRead += extentOf(scope.fact(value), bindings)?.bytes ?? 0;
  }
  let largest: Extent | undefined;
  for (const { outputs } of nodes) {
    for (let at = 0; at < outputs.length; at++) {
      const output = outputs[at];
      const extent = output === undefined ? undefined : extentOf(scope.fact(output), bindings);
      if (output === undefined || extent === undefined) continue;
      if (extent.elements >= (largest?.elements ?? 0)) largest = extent;
      if (leaves(output, inside)) bytesWritten += extent.bytes;
    }
  }
  if (largest === undefined || largest.elements === 0) return undefined;
  return { ...passOver(largest, "elementwise"), bytesRead, bytesWritten };
}

/** What a kernel reads of a value that it does not make. */
export interface Read {
  readonly of: Value;
  /** Values as large as what is read: itself, or what is taken of it. */
  readonly moved: readonly Value[];
}

/**
 * What a kernel of `nodes` reads, value by value; `inside` are the same nodes. Of a value that is only taken from (rows of a table by
 * index, a slice) it reads what is taken, where that is less than all of it.
 */
export function readsOf(
  nodes: readonly Node[],
  inside: ReadonlySet<Node>,
  scope: Scope,
  bindings: ReadonlyMap<string, number>,
): readonly Read[] {
  /** What is taken of each; undefined where somebody reads all of it. */
  const takenOf = new Map<Value, Value[] | undefined>();
  for (const node of nodes) {
    for (let at = 0; at < node.inputs.length; at++) {
      const input = node.inputs[at];
      if (input === undefined || (input.producer !== undefined && inside.has(input.producer))) continue;
      const before = takenOf.has(input) ? takenOf.get(input) : [];
      takenOf.set(input, before && takesFrom(node, at) ? [...before, ...outputsOf(node)] : undefined);
    }
  }
  return [...takenOf].map(([of, taken]) => {
    if (taken === undefined) return { of, moved: [of] };
    const [whole, parts] = [[of], taken].map((values) => elementsOf(values, scope, bindings));
    return { of, moved: parts !== undefined && whole !== undefined && parts < whole ? taken : [of] };
  });
}

/** Whether each element of a node's outputs is one of this operand's, so that it reads no more of it than it writes. */
function takesFrom(node: Node, at: number): boolean {
  const traits = traitsOf(node);
  return traits?.elements === "moved" && traits.uses?.[at] === undefined;
}

function outputsOf({ outputs }: Node): readonly Value[] {
  return outputs.filter((output) => output !== undefined);
}

/** Undefined where one is not known. */
function elementsOf(
  values: readonly Value[],
  scope: Scope,
  bindings: ReadonlyMap<string, number>,
): number | undefined {
  let elements = 0;
  for (const value of values) {
    const extent = extentOf(scope.fact(value), bindings);
    if (extent === undefined) return undefined;
    elements += extent.elements;
  }
  return elements;
}

/** Whether a value that a kernel makes is written: something outside needs it. */
export function leaves(value: Value, inside: ReadonlySet<Node>): boolean {
  return value.isOutput || value.consumers.some((reader) => !inside.has(reader));
}
