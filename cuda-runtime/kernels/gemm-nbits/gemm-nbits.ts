/** @file Launches of products with few rows and weights of 4 bits, which are expanded on their way to the multiplier. */
import type { Emitter } from "../../ir/emitter.ts";
import type { Epilogue } from "../../ir/epilogue.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { isHalfStorage } from "../../ir/storage.ts";
import { alignmentOf, elementCount, type View } from "../../ir/view.ts";
import { gemmFields } from "../gemm/params.ts";
import { problemOf } from "../gemm/problem.ts";
import { typeNames } from "../norm/rows.ts";
import { nbitsStruct } from "./params.table.ts";

/** More rows are a tile's worth: their product is not bound by the weights' bytes. */
export const mostRows = 32;

/** As gemm-nbits.cu has them: rows of weights of a block, eight rows of a tile, entries by tiles. */
const blockRows = 16;
const tileRows = 8;
const tileCounts = [1, 2, 4] as const;
const threads = 256;

/** As few.cuh has them: rows that it takes, blocks that stay on a multiprocessor, what its rows take of shared memory. */
const few = { rows: 2, residents: 3, chunk: 128, zeroBytes: 64, mostBytes: 45 * 1024 } as const;

/** Of the memory's rate, what reading weights in these strips is taken to reach (estimated). */
const memoryShare = 0.92;
/** Beside the launch: the last block's sums. */
const endMicroseconds = 1;

export interface NBitsWeights {
  /** [n, blocks · blockSize / 2] bytes, packed. */
  readonly codes: View;
  /** [n, blocks], packed, of a's type. */
  readonly scales: View;
  /** [n, ceil(blocks / 2)] bytes, packed; undefined: 8 everywhere. */
  readonly zeros: View | undefined;
  readonly n: number;
  readonly blocks: number;
  readonly blockSize: number;
}

export interface NBitsRequest {
  /** [m, k], rows contiguous. */
  readonly a: View;
  readonly weights: NBitsWeights;
  /** [m, n], any strides. */
  readonly to: View;
  /** Its residual is a view [m, n]. */
  readonly epilogue: Epilogue;
}

/** Whether there is an entry for rows of this type, and weights in such blocks. */
export function takesNBits(
  a: View,
  { blockSize }: Pick<NBitsWeights, "blockSize">,
  target: PlanTarget,
): boolean {
  const [m = 1, k = 1] = a.shape;
  const hasType = a.type === "float16" ? target.features.half : target.features.bf16;
  const isWhole = blockSize >= 32 && Number.isInteger(Math.log2(blockSize));
  return isHalfStorage(a.type) && hasType && isWhole && k % 8 === 0 && m >= 1 && m <= mostRows;
}

export function emitNBits(emitter: Emitter, { a: given, weights, to, epilogue }: NBitsRequest): void {
  const { codes, scales, zeros, n, blocks, blockSize } = weights;
  const isReady = (given.strides[1] === 1 || given.shape[1] === 1) && alignmentOf(given, 1) === 16;
  const a = isReady ? given : emitter.packed(given, { order: [0, 1] });
  const [m = 1, k = 1] = a.shape;
  const tiles = Math.ceil(n / blockRows);
  const form = formOf(weights, m, tiles, emitter.target);
  // The product's own strides of b are not read.
  const b = { ...codes, shape: [k, n], strides: [0, 0] };
  const problem = problemOf({ a, b, to, epilogue });
  const reads = [a, codes, scales, zeros, epilogue.residual, epilogue.scale, epilogue.bias];
  const weightBytes = [codes, scales, zeros].reduce((total, view) => total + bytesOf(view), 0);
  const { bandwidth, launchMicroseconds } = emitter.target;
  emitter.launch({
    kernel: { kind: "built", family: "gemm-nbits", entry: `nbits4_${typeNames[halfOf(a)]}_${form.name}` },
    grid: [form.blocks, 1, 1],
    block: [threads, 1, 1],
    sharedBytes: form.sharedBytes,
    params: writeParams(nbitsStruct, {
      codes,
      scales,
      zeros,
      blocks,
      blockShift: Math.log2(blockSize),
      p: gemmFields({
        problem,
        tilesM: 1,
        tilesN: tiles,
        splits: 1,
        kPerSplit: k,
        splitStride: 0,
        aGrain: 16,
        bGrain: 16,
      }),
    }),
    reads: reads.filter((view) => view !== undefined),
    writes: [to],
    flops: 2 * m * n * k,
    predictedMicroseconds:
      launchMicroseconds + endMicroseconds + weightBytes / (memoryShare * bandwidth.dram),
    detail: `${m}x${n}x${k}, 4 bits in blocks of ${blockSize}${zeros === undefined ? "" : ", zero points"}`,
  });
}

/** Of an entry: the end of its name, and how it is launched. */
interface Form {
  readonly name: string;
  readonly blocks: number;
  readonly sharedBytes: number;
}

function formOf(weights: NBitsWeights, m: number, tiles: number, { multiprocessors }: PlanTarget): Form {
  const { scales, zeros, blocks, blockSize } = weights;
  const chunks = Math.ceil((blocks * blockSize) / few.chunk);
  // An element takes two bytes, and each 32 of them a sum.
  const sharedBytes = few.zeroBytes + m * chunks * few.chunk * (2 + 4 / 32);
  // Scales of two neighbouring blocks of 32 are read as one word.
  const hasPairs = blockSize > 32 || (blocks % 2 === 0 && alignmentOf(scales, 1) >= 4);
  if (m <= few.rows && hasPairs && sharedBytes <= few.mostBytes) {
    const name = zeros === undefined ? "few" : "few_zeros";
    return { name, blocks: Math.min(tiles, few.residents * multiprocessors), sharedBytes };
  }
  const count = tileCounts.find((tile) => tile * tileRows >= m) ?? 4;
  return { name: `m${count}`, blocks: tiles, sharedBytes: 0 };
}

function halfOf({ type }: View): "float16" | "bfloat16" {
  if (!isHalfStorage(type)) throw new Error(`tc-lint bug: rows of ${type}`);
  return type;
}

function bytesOf(view: View | undefined): number {
  return view === undefined ? 0 : elementCount(view.shape) * (view.type === "uint8" ? 1 : 2);
}
