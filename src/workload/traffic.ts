/** @file Memory-bound work of nodes and of chains of elementwise nodes. */
import type { Scope } from "../facts/scope.ts";
import { worksOf } from "../facts/works.ts";
import { type Dim, evaluateDim, mulDims, product } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { findOp } from "../ops/registry.ts";
import type { TrafficPattern, TrafficWork, Work } from "../ops/work.ts";
import type { ConstantValues } from "./constants.ts";

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
  let [bytesRead, bytesWritten, elements, columns] = [0, 0, 0, 1];
  const seen = new Set<Value>();
  let dtype: TrafficWork["dtype"] | undefined;
  for (const node of nodes) {
    for (const input of node.inputs) {
      if (
        input === undefined ||
        seen.has(input) ||
        (input.producer !== undefined && inside.has(input.producer))
      )
        continue;
      seen.add(input);
      const size = sizeOf(input, scope, bindings);
      // Scalars and small constant vectors stay in cache.
      if (size !== undefined && !(constants.isFixedValue(input) && size.elements <= 65_536))
        bytesRead += size.bytes;
    }
    for (const output of node.outputs) {
      const size = output === undefined ? undefined : sizeOf(output, scope, bindings);
      if (output === undefined || size === undefined) continue;
      if (size.elements >= elements) [elements, columns, dtype] = [size.elements, size.columns, size.dtype];
      const leaves = output.isOutput || output.consumers.some((reader) => !inside.has(reader));
      if (leaves) bytesWritten += size.bytes;
    }
  }
  if (dtype === undefined || elements === 0) return undefined;
  const rows = elements / Math.max(columns, 1);
  return { kind: "traffic", pattern: "elementwise", rows, columns, bytesRead, bytesWritten, dtype };
}

interface Size {
  readonly elements: number;
  readonly columns: number;
  readonly bytes: number;
  readonly dtype: TrafficWork["dtype"];
}

function sizeOf(value: Value, scope: Scope, bindings: ReadonlyMap<string, number>): Size | undefined {
  const fact = scope.fact(value);
  if (fact?.kind !== "tensor" || fact.dtype === undefined || fact.shape === undefined) return undefined;
  const elements = evaluateDim(product(fact.shape), bindings);
  const last: Dim = fact.shape.at(-1) ?? 1;
  const columns = evaluateDim(last, bindings);
  if (elements === undefined || columns === undefined) return undefined;
  return { elements, columns, bytes: (elements * dtypes[fact.dtype].bits) / 8, dtype: fact.dtype };
}
