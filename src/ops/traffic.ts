/** @file Memory-bound work of operators that walk their data in rows. */
import { addDims, ceilDivDims, type Dim, isUnknown, mulDims, product } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { BodyKernel, Fact, TensorFact, WorkContext } from "./op.ts";
import type { TrafficPattern, TrafficVariant, Work } from "./work.ts";

/** Bytes of a tensor's elements, packed; undefined where type or size is not known. */
function bytesOfFact(fact: Fact | undefined): Dim | undefined {
  if (fact?.kind !== "tensor" || fact.dtype === undefined || fact.shape === undefined) return undefined;
  const bytes = ceilDivDims(mulDims(product(fact.shape), dtypes[fact.dtype].bits), 8);
  return isUnknown(bytes) ? undefined : bytes;
}

/**
 * One traffic work: every input read and every output written once. The type is the first input's.
 * Undefined where a size is not known.
 */
export function rowTraffic(
  context: WorkContext,
  pattern: TrafficPattern,
  rows: Dim | undefined,
  columns: Dim | undefined,
): readonly Work[] | undefined {
  const [input] = context.inputs;
  const dtype = input?.kind === "tensor" ? input.dtype : undefined;
  const bytesRead = totalBytes(context.inputs.filter((fact) => fact !== undefined));
  // An output the node does not name is undefined; the first is always there.
  const named = context.outputs
    .slice(0, context.outputCount)
    .filter((fact, at) => at === 0 || fact !== undefined);
  const bytesWritten = totalBytes(named);
  if (rows === undefined || columns === undefined || dtype === undefined) return undefined;
  if (bytesRead === undefined || bytesWritten === undefined) return undefined;
  return [{ kind: "traffic", pattern, rows, columns, bytesRead, bytesWritten, dtype }];
}

function totalBytes(facts: readonly (Fact | undefined)[]): Dim | undefined {
  let total: Dim | undefined = 0;
  for (const fact of facts) {
    const bytes = bytesOfFact(fact);
    if (bytes === undefined) return undefined;
    total = addDims(total, bytes);
  }
  return total;
}

/** Of [N, C, H, W], and of its other order: lane by lane, an image is one row, wherever its channels are. */
export const imageRank = 4;

/** A node of a function that makes `result` lane by lane; scalars and parameters of a channel stay in cache, and are not among `reads`. */
export function laneKernel(result: TensorFact, ...reads: readonly TensorFact[]): BodyKernel | undefined {
  const { shape = [] } = result;
  const walked = shape.length >= imageRank ? { rows: 1, columns: product(shape) } : rowsOf(result);
  return kernelOf("elementwise", { result, reads, ...walked });
}

/** One that reduces the last axis of `of`. */
export function rowKernel(result: TensorFact, of: TensorFact): BodyKernel | undefined {
  return kernelOf("reduction", { result, reads: [of], ...rowsOf(of) });
}

/** One that brings elements elsewhere: it reads as much as it writes. */
export function moveKernel(result: TensorFact, pass: TrafficVariant): BodyKernel | undefined {
  const kernel = kernelOf("copy", { result, reads: [result], ...rowsOf(result) });
  return kernel && { ...kernel, pass };
}

/** Along the last axis. */
function rowsOf({ shape = [] }: TensorFact): Pick<Walked, "rows" | "columns"> {
  return { rows: product(shape.slice(0, -1)), columns: shape.at(-1) ?? 1 };
}

/** All of them, or nothing. */
export function allKernels(kernels: readonly (BodyKernel | undefined)[]): readonly BodyKernel[] | undefined {
  const known = kernels.filter((kernel) => kernel !== undefined);
  return known.length === kernels.length ? known : undefined;
}

interface Walked {
  readonly result: TensorFact;
  readonly reads: readonly TensorFact[];
  readonly rows: Dim;
  readonly columns: Dim;
}

function kernelOf(pattern: TrafficPattern, { result, reads, rows, columns }: Walked): BodyKernel | undefined {
  const dtype = (pattern === "reduction" ? reads[0] : result)?.dtype;
  const [bytesRead, bytesWritten] = [totalBytes(reads), totalBytes([result])];
  if (dtype === undefined || bytesRead === undefined || bytesWritten === undefined) return undefined;
  return { work: { kind: "traffic", pattern, rows, columns, bytesRead, bytesWritten, dtype } };
}
