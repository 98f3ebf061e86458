/** @file What climbing a ladder found, ready for JSON. */
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";

export const ladderNames = ["conv"] as const;
export type LadderName = (typeof ladderNames)[number];

/** One kernel for the same work, as it was measured. */
export interface Rung {
  readonly name: string;
  /** Against the rung before, in a sentence. */
  readonly change: string;
  /** Entries that were launched. */
  readonly kernels: readonly string[];
  readonly microseconds: number;
  readonly teraflops: number;
  /** Operands and result once over, in the rung's time. */
  readonly gigabytesPerSecond: number;
  /** Of what the Tensor Cores and the memory allow; undefined where there is no row for the GPU. */
  readonly rooflineShare: number | undefined;
  /** The largest of sampled elements against FP64, relative to the largest of these. */
  readonly error: number;
  readonly isRight: boolean;
}

export interface LadderReport {
  readonly ladder: LadderName;
  /** `FP16 N 32, C 64, 56 × 56, K 64, 3 × 3`. */
  readonly work: string;
  readonly gpu: DeviceInfo;
  readonly row: string | undefined;
  readonly driver: string;
  readonly flops: number;
  /** That have to move, each once. */
  readonly leastBytes: number;
  /** Relative, beyond which a rung is wrong. */
  readonly tolerance: number;
  readonly rooflineMicroseconds: number | undefined;
  readonly rungs: readonly Rung[];
}

/** What the GPU's process answers. */
export interface LadderRun {
  readonly kind: "ladder";
  readonly report: LadderReport;
  readonly cacheProblem: string | undefined;
}

export interface LadderTask {
  readonly kind: "ladder";
  readonly device: number;
  readonly kernels: string;
  readonly ladder: LadderName;
}

export function isWhollyRight({ rungs }: LadderReport): boolean {
  return rungs.every(({ isRight }) => isRight);
}
