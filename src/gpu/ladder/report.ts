/** @file What climbing ladders found, ready for JSON. */
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";

export const ladderNames = ["conv", "resample", "attention"] as const;
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
  /** What has to move at least, in the rung's time. */
  readonly gigabytesPerSecond: number;
  /** Between DRAM and the GPU, by model: of each launch, operands and results once over. */
  readonly dramBytes: number;
  /** Undefined where there is no row for the GPU to say what its Tensor Cores do. */
  readonly rooflineShare: number | undefined;
  /** The largest of sampled elements against FP64, relative to the largest of these. */
  readonly error: number;
  /** Beyond which it is wrong. */
  readonly tolerance: number;
  readonly isRight: boolean;
}

/** A way that no rung takes: the time that it could not be faster than. */
export interface Bound {
  readonly name: string;
  readonly note: string;
  readonly microseconds: number;
}

/** The same work by PyTorch. */
export interface Peer {
  readonly name: string;
  /** Undefined where it was not asked, or could not. */
  readonly microseconds: number | undefined;
}

export interface WorkReport {
  readonly ladder: LadderName;
  /** `FP16 N 32, C 64, 56 × 56, K 64, 3 × 3`. */
  readonly work: string;
  /** Whether Tensor Cores bound it; else memory does. */
  readonly isProduct: boolean;
  readonly flops: number;
  /** That have to move, each once. */
  readonly leastBytes: number;
  readonly rooflineMicroseconds: number | undefined;
  readonly rungs: readonly Rung[];
  readonly bounds: readonly Bound[];
  readonly peer: Peer;
}

export interface LadderReport {
  readonly gpu: DeviceInfo;
  readonly row: string | undefined;
  readonly driver: string;
  /** Read plus written by a copy, in the same run: the memory's side of the roofline. */
  readonly copyGigabytesPerSecond: number;
  /** Versions of PyTorch and of what it calls, where it was asked. */
  readonly torch: string | undefined;
  readonly works: readonly WorkReport[];
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
  readonly ladders: readonly LadderName[];
}

export function isWhollyRight({ works }: LadderReport): boolean {
  return works.every(({ rungs }) => rungs.every(({ isRight }) => isRight));
}
