/** @file The kernels for products of few rows by weights of 4 bits: which takes what, how it is launched, how fast it reads. */
import type { PlanTarget } from "../../ir/step.ts";
import { alignmentOf } from "../../ir/view.ts";
import type { NBitsWeights } from "./gemm-nbits.ts";

/** As gemm-nbits.cu has them: rows of weights of a block, eight rows of a tile, entries by tiles. */
export const blockRows = 16;
const tileRows = 8;
const tileCounts = [1, 2, 4] as const;

/** As few.cuh has them: rows that it takes, blocks that stay on a multiprocessor, what its rows take of shared memory. */
const few = { rows: 2, residents: 3, chunk: 128, zeroBytes: 64, mostBytes: 45 * 1024 } as const;

/** As gemm-nbits-hopper/product.cuh has them: warps' rings with their barriers and zeros, and what it keeps of its own beside them. */
const stream = { residents: 2, chunk: 256, ringBytes: 8 * 4 * (2048 + 8) + 64, ownBytes: 2048 } as const;

/** Of an entry: the end of its name, and how it is launched. */
export interface NBitsForm {
  readonly family: "gemm-nbits" | "gemm-nbits-hopper";
  readonly name: string;
  readonly blocks: number;
  readonly sharedBytes: number;
  /** Of the memory's rate, what it reads weights at. */
  readonly share: number;
}

export function formOf(weights: NBitsWeights, m: number, target: PlanTarget): NBitsForm {
  const tiles = Math.ceil(weights.n / blockRows);
  return streamOf(weights, m, tiles, target) ?? fewOf(weights, m, tiles, target) ?? tiledOf(m, tiles);
}

/** Rows of a by k, and a sum of each 32 elements. */
function rowBytes({ blocks, blockSize }: NBitsWeights, m: number, chunk: number): number {
  const chunks = Math.ceil((blocks * blockSize) / chunk);
  return m * chunks * chunk * (2 + 4 / 32);
}

/** Scales of 128 codes are read at once. */
function streamOf(
  weights: NBitsWeights,
  m: number,
  tiles: number,
  target: PlanTarget,
): NBitsForm | undefined {
  const { codes, scales, zeros, blocks, blockSize } = weights;
  if (!target.features.wgmma || m > few.rows || (blocks * blockSize) % 128 !== 0) return undefined;
  const isAligned = alignmentOf(codes, 1) === 16 && alignmentOf(scales, 1) >= (blockSize === 32 ? 8 : 2);
  const sharedBytes = stream.ringBytes + rowBytes(weights, m, stream.chunk);
  const ofBlock = sharedBytes + stream.ownBytes + target.reservedSharedBytes;
  const residents = Math.min(stream.residents, Math.floor(target.sharedBytes / ofBlock));
  if (!isAligned || residents < 1) return undefined;
  const name = zeros === undefined ? "stream" : "stream_zeros";
  const blocksThatStay = Math.min(tiles, residents * target.multiprocessors);
  return { family: "gemm-nbits-hopper", name, blocks: blocksThatStay, sharedBytes, share: streamShare };
}

function fewOf(
  weights: NBitsWeights,
  m: number,
  tiles: number,
  { multiprocessors }: PlanTarget,
): NBitsForm | undefined {
  const { scales, zeros, blocks, blockSize } = weights;
  const sharedBytes = few.zeroBytes + rowBytes(weights, m, few.chunk);
  // Scales of two neighbouring blocks of 32 are read as one word.
  const hasPairs = blockSize > 32 || (blocks % 2 === 0 && alignmentOf(scales, 1) >= 4);
  if (m > few.rows || !hasPairs || sharedBytes > few.mostBytes) return undefined;
  const name = zeros === undefined ? "few" : "few_zeros";
  const blocksThatStay = Math.min(tiles, few.residents * multiprocessors);
  return { family: "gemm-nbits", name, blocks: blocksThatStay, sharedBytes, share: memoryShare };
}

function tiledOf(m: number, tiles: number): NBitsForm {
  const count = tileCounts.find((tile) => tile * tileRows >= m) ?? 4;
  return { family: "gemm-nbits", name: `m${count}`, blocks: tiles, sharedBytes: 0, share: memoryShare };
}

/** What reading weights in strips of registers is taken to reach (estimated), and what the rings of boxes do (128,256 × 4,096 on an H100). */
const memoryShare = 0.92;
const streamShare = 0.97;
