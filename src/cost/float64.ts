/** @file The same work in FP32: what FP64, of which nothing was measured, takes at the least. Its operands are twice as large, and no units multiply it faster. */
import type { Precision } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import type { TrafficWork, Work } from "../ops/work.ts";

const single: ReadonlyMap<DType, DType> = new Map([
  ["float64", "float32"],
  ["complex128", "complex64"],
]);

/** A file in FP32 may run in TF32 where the stack does that unasked, and may be told not to. */
export const singlePrecisions = ["as-is", "fp32"] as const satisfies readonly Precision[];

/** None of work that is not in FP64. A convolution in both layouts: what they make of FP64 was never measured. */
export function inSingle(work: Work<number>): readonly Work<number>[] {
  const dtype = single.get(work.dtype);
  if (dtype === undefined) return [];
  if (work.kind === "traffic") return [{ ...halved(work), dtype }];
  if (work.kind !== "conv") return [{ ...work, dtype }];
  return (["nchw", "nhwc"] as const).map((layout) => ({ ...work, dtype, layout }));
}

function halved(work: TrafficWork<number>): TrafficWork<number> {
  const { bytesRead, bytesWritten, mostBytes } = work;
  const most = mostBytes === undefined ? {} : { mostBytes: mostBytes / 2 };
  return { ...work, bytesRead: bytesRead / 2, bytesWritten: bytesWritten / 2, ...most };
}
