/** @file What is asked of the depthwise kernels, and what they answer with. */
import type { ActivationKind } from "../../ir/epilogue.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import type { Triple } from "../conv/spatial.ts";

/** A TILE of depthwise.cu. */
export interface TileRow {
  readonly taps: number;
  readonly stride: number;
  readonly wide: number;
  readonly high: number;
  /** Rows of x that are read before they are wanted, and blocks that one multiprocessor has registers for. */
  readonly ahead: number;
  readonly blocks: number;
}

/** A DIAGONAL of depthwise.cu. */
export interface DiagonalRow {
  readonly taps: number;
  readonly stride: number;
  /** Rows of the output that a warp makes at a time, of 16 columns of 8 channels. */
  readonly high: number;
  /** Of 256 threads, that one multiprocessor has registers for. */
  readonly blocks: number;
}

/** A RING of depthwise-hopper.cu. */
export interface RingRow {
  readonly taps: number;
  readonly stride: number;
  readonly high: number;
  /** Of a thread. */
  readonly registers: number;
}

/** How a convolution is cut into threads and blocks. */
export interface DepthwiseChoice {
  /** Of the entry's name. */
  readonly suffix: string;
  /** Of a table, where it is one of a table. */
  readonly row: TileRow | DiagonalRow | RingRow | undefined;
  /** Channels of one thread, and its positions along width and height; of diagonal kernels those of a block. */
  readonly vector: number;
  readonly wide: number;
  readonly high: number;
  /** [lanes along the channels, tiles] of kernels that work in tiles; others count threads. */
  readonly block: readonly [number, number] | undefined;
  readonly diagonal?: DiagonalBlocks | undefined;
  readonly sharedBytes: number;
}

/** Of diagonal kernels. */
export interface DiagonalBlocks {
  /** Of a launch; each makes tiles of the same channels. */
  readonly blocks: number;
  /** Bytes between positions in shared memory. */
  readonly pitch: number;
  /** From a block's first tile to its second; 0 where each makes one. */
  readonly stage: number;
  readonly ring?: Ring | undefined;
}

/** Of kernels whose tiles come by TMA: how they lie in shared memory. */
export interface Ring {
  readonly stages: number;
  /** Of a box: positions of x along width and height that one copy brings, those of one parity where the stride is 2. */
  readonly across: number;
  readonly down: number;
  /** From a row of x to the next, and from even columns to odd ones. */
  readonly rowBytes: number;
  readonly oddBytes: number;
  /** TMA puts 16 bytes of a position at their number XOR that of the position behind `shift` and `mask`. */
  readonly shift: number;
  readonly mask: number;
}

export interface DepthwiseProblem {
  readonly type: FloatStorage;
  readonly channels: number;
  readonly filters: number;
  readonly batch: number;
  /** Of the output. */
  readonly size: Triple;
  readonly kernel: Triple;
  readonly stride: Triple;
  readonly dilation: Triple;
  /** Bytes that runs of channels are aligned to in x. */
  readonly alignment: number;
  /** Channels that can be written at once. */
  readonly width: number;
  /** Whether weights and result are of x's type, without a residual and what follows it, without padding in depth. */
  readonly isPlain: boolean;
  /** Whether TMA can go through x and the result: neither repeats itself or runs backwards. */
  readonly isWalkable: boolean;
  /** Read and written. */
  readonly bytes: number;
  readonly activation: ActivationKind;
}

/** Over all positions. */
export function tileCount(
  { wide, high }: Pick<DepthwiseChoice, "wide" | "high">,
  { batch, size }: DepthwiseProblem,
): number {
  return batch * size[0] * Math.ceil(size[1] / high) * Math.ceil(size[2] / wide);
}
