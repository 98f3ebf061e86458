/** @file Memory-bound work of nodes and of chains of elementwise nodes. */
import type { Scope } from "../facts/scope.ts";
import { worksOf } from "../facts/works.ts";
import { mulDims, product } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { findOp } from "../ops/registry.ts";
import type { TrafficPattern, TrafficWork, Work } from "../ops/work.ts";
import type { ConstantValues } from "./constants.ts";
import { type Extent, extentOf, passOver } from "./extent.ts";

/** How a node moves memory; undefined for a call, a control structure or an unknown operator. */
export function patternOf(node: Node, scope: Scope): TrafficPattern | "none" | undefined {
  if (scope.children.has(node)) return undefined;
  const op = findOp(node.domain, node.opType);
  return op === undefined ? undefined : (op.traffic ?? "copy");
}

/** The work of one memory-bound node, by its operator's own account where it gives one. */
export function memoryWork(node: Node, scope: Scope, pattern: TrafficPattern): readonly Work[] {
  const op = findOp(node.domain, node.opType);
  if (op?.work !== undefined) return worksOf(node, scope) ?? [];
  const work = plainWork(node, scope, pattern);
  return work === undefined ? [] : [work];
}

/** Reads as many bytes as it writes: right for what moves elements (a gather reads the rows it takes). */
function plainWork(node: Node, scope: Scope, pattern: TrafficPattern): TrafficWork | undefined {
  const [output] = node.outputs;
  const fact = output === undefined ? undefined : scope.fact(output);
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
  for (const input of readsOf(nodes, inside)) {
    const extent = extentOf(scope.fact(input), bindings);
    // Scalars and small constant vectors stay in cache.
    if (extent !== undefined && !(constants.isFixedValue(input) && extent.elements <= 65_536))
      bytesRead += extent.bytes;
  }
  let largest: Extent | undefined;
  for (const { outputs } of nodes) {
    for (const output of outputs) {
      const extent = output === undefined ? undefined : extentOf(scope.fact(output), bindings);
      if (output === undefined || extent === undefined) continue;
      if (extent.elements >= (largest?.elements ?? 0)) largest = extent;
      if (leaves(output, inside)) bytesWritten += extent.bytes;
    }
  }
  if (largest === undefined || largest.elements === 0) return undefined;
  return { ...passOver(largest, "elementwise"), bytesRead, bytesWritten };
}

/** Values that a kernel of `nodes` reads and does not make, each once; `inside` are the same nodes. */
export function readsOf(nodes: readonly Node[], inside: ReadonlySet<Node>): ReadonlySet<Value> {
  const reads = new Set<Value>();
  for (const { inputs } of nodes) {
    for (const input of inputs) {
      if (input === undefined || (input.producer !== undefined && inside.has(input.producer))) continue;
      reads.add(input);
    }
  }
  return reads;
}

/** Whether a value that a kernel makes is written: something outside needs it. */
export function leaves(value: Value, inside: ReadonlySet<Node>): boolean {
  return value.isOutput || value.consumers.some((reader) => !inside.has(reader));
}
