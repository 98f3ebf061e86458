/** @file Memory-bound work of operators that walk their data in rows. */
import { addDims, ceilDivDims, type Dim, isUnknown, mulDims, product } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Fact, WorkContext } from "./op.ts";
import type { TrafficPattern, Work } from "./work.ts";

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
