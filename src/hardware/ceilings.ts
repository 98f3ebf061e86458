/** @file What one real machine reached, apart from what the datasheets in `gpus.ts` promise. */

export interface Ceilings {
  /** TFLOP/s in an 8192³ product of random data. */
  readonly tensorTflops: { readonly fp16: number; readonly bf16: number; readonly tf32: number };
  readonly cudaTflops: number;
  /** Read plus write of one pass over gigabytes. */
  readonly dramGBps: number;
  readonly source: string;
}

const rows: Readonly<Record<string, Ceilings>> = {
  h200: {
    tensorTflops: { fp16: 760.4, bf16: 794.2, tf32: 404.4 },
    cudaTflops: 50.7,
    dramGBps: 4260.8,
    source: "PyTorch 2.11, CUDA 13.0, driver 580.159.04, random data, 2026-11-21",
  },
};

/** Measured ceilings of a GPU row, by its id; undefined where nobody measured. */
export function ceilingsOf(gpuId: string): Ceilings | undefined {
  return Object.hasOwn(rows, gpuId) ? rows[gpuId] : undefined;
}
