/** @file How large a value is with every symbol bound, and what a pass over all of it moves. */
import { evaluateDim } from "../ir/dim.ts";
import { bytesOf, type DType } from "../ir/dtype.ts";
import type { Fact } from "../ops/op.ts";
import { imageRank } from "../ops/traffic.ts";
import type { TrafficPattern, TrafficWork } from "../ops/work.ts";

export interface Extent {
  readonly elements: number;
  /** Elements of the innermost axis; 1 for a scalar. */
  readonly columns: number;
  /** How many axes. */
  readonly rank: number;
  /** Packed. */
  readonly bytes: number;
  readonly dtype: DType;
}

/** Undefined where a value is no tensor, or its type or size is not known. */
export function extentOf(fact: Fact | undefined, bindings: ReadonlyMap<string, number>): Extent | undefined {
  if (fact?.kind !== "tensor" || fact.dtype === undefined || fact.shape === undefined) return undefined;
  const { dtype, shape } = fact;
  let elements = 1;
  let columns = 1;
  // By index: asked of every value, again and again.
  for (let axis = 0; axis < shape.length; axis++) {
    const size = evaluateDim(shape[axis] ?? 1, bindings);
    if (size === undefined) return undefined;
    elements *= size;
    columns = size;
  }
  return { elements, columns, rank: shape.length, bytes: bytesOf(dtype, elements), dtype };
}

/**
 * Reads every element and writes as many. Lane by lane, an image is one row: where its channels are makes no difference to what
 * goes over them in the order of memory.
 */
export function passOver(extent: Extent, pattern: TrafficPattern): TrafficWork<number> {
  const { elements, bytes, dtype } = extent;
  const columns = pattern === "elementwise" && extent.rank >= imageRank ? elements : extent.columns;
  const rows = elements / Math.max(columns, 1);
  return { kind: "traffic", pattern, rows, columns, bytesRead: bytes, bytesWritten: bytes, dtype };
}

/**
 * The pass that brings [N, C, …] to [N, …, C], or back, as a Transpose describes itself; undefined where both are the same bytes,
 * or the size is not known.
 */
export function layoutPass(
  fact: Fact | undefined,
  bindings: ReadonlyMap<string, number>,
): TrafficWork<number> | undefined {
  const extent = extentOf(fact, bindings);
  if (fact?.kind !== "tensor" || extent === undefined) return undefined;
  const [, channels = 1, ...spatial] = (fact.shape ?? []).map((dim) => evaluateDim(dim, bindings));
  const positions = spatial.reduce<number>((total, size = 1) => total * size, 1);
  // Nothing along either order stays together.
  return channels === 1 || positions === 1 ? undefined : passOver({ ...extent, columns: 1 }, "copy");
}
