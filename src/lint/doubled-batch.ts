/** @file The same layer for a larger batch. */
import type { ProductWork } from "../ops/work.ts";

/** `factor` times the rows, images or sequences; weights stay. */
export function batched(work: ProductWork<number>, factor: number): ProductWork<number> {
  const isRows = work.kind === "gemm" && work.batch === 1;
  return isRows ? { ...work, m: work.m * factor } : { ...work, batch: work.batch * factor };
}

/** "256×1152×4304", "67→129 at 56×56": the sizes of a product in a message. */
export function describeSizes(work: ProductWork<number>): string {
  switch (work.kind) {
    case "gemm":
      return `${work.batch > 1 ? `${work.batch}×` : ""}${work.m}×${work.n}×${work.k}`;
    case "conv":
      return `${work.channels} → ${work.filters} channels at ${work.output.join("×")}`;
    case "attention":
      return `${work.heads} heads of ${work.headDim}, ${work.queryLength}×${work.keyLength}`;
    case "recurrent":
      return `${work.steps} steps of ${work.inputSize} → ${work.hiddenSize}`;
  }
}
