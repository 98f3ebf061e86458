/** @file Launches of products with few rows and weights of 4 bits, which are expanded on their way to the multiplier. */
import type { Emitter } from "../../ir/emitter.ts";
import type { Epilogue } from "../../ir/epilogue.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { isHalfStorage } from "../../ir/storage.ts";
import { alignmentOf, elementCount, type View } from "../../ir/view.ts";
import type { gemmStruct } from "../gemm/params.table.ts";
import { gemmFields } from "../gemm/params.ts";
import { problemOf } from "../gemm/problem.ts";
import { nbitsHopperStruct } from "../gemm-nbits-hopper/params.table.ts";
import { typeNames } from "../norm/rows.ts";
import { blockRows, formOf, type NBitsForm } from "./forms.ts";
import { nbitsStruct } from "./params.table.ts";

/** More rows are a tile's worth: their product is not bound by the weights' bytes. */
export const mostRows = 32;

const threads = 256;
/** Of a row of weights, what a box of gemm-nbits-hopper has. */
const boxBytes = 128;

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
  const { codes, scales, zeros, n, blockSize } = weights;
  const isReady = (given.strides[1] === 1 || given.shape[1] === 1) && alignmentOf(given, 1) === 16;
  const a = isReady ? given : emitter.packed(given, { order: [0, 1] });
  const [m = 1, k = 1] = a.shape;
  const form = formOf(weights, m, emitter.target);
  // The product's own strides of b are not read.
  const b = { ...codes, shape: [k, n], strides: [0, 0] };
  const problem = problemOf({ a, b, to, epilogue });
  const reads = [a, codes, scales, zeros, epilogue.residual, epilogue.scale, epilogue.bias];
  const weightBytes = [codes, scales, zeros].reduce((total, view) => total + bytesOf(view), 0);
  const { bandwidth, launchMicroseconds } = emitter.target;
  const product = gemmFields({
    ...{ problem, tilesM: 1, tilesN: Math.ceil(n / blockRows), splits: 1, kPerSplit: k },
    ...{ splitStride: 0, aGrain: 16, bGrain: 16 },
  });
  emitter.launch({
    kernel: {
      ...{ kind: "built", family: form.family },
      entry: `nbits4_${typeNames[halfOf(a)]}_${form.name}`,
    },
    grid: [form.blocks, 1, 1],
    block: [threads, 1, 1],
    sharedBytes: form.sharedBytes,
    params: paramsOf(form, weights, product),
    reads: reads.filter((view) => view !== undefined),
    writes: [to],
    flops: 2 * m * n * k,
    predictedMicroseconds: launchMicroseconds + endMicroseconds + weightBytes / (form.share * bandwidth.dram),
    detail: `${m}x${n}x${k}, 4 bits in blocks of ${blockSize}${zeros === undefined ? "" : ", zero points"}`,
  });
}

function paramsOf(
  { family }: NBitsForm,
  { codes, scales, zeros, blocks, blockSize, n }: NBitsWeights,
  p: ValuesOf<typeof gemmStruct>,
): ParamBlock {
  const q = { codes, scales, zeros, blocks, blockShift: Math.log2(blockSize), p };
  if (family === "gemm-nbits") return writeParams(nbitsStruct, q);
  const rowBytes = (blocks * blockSize) / 2;
  const map = {
    ...{ view: codes, sizes: [rowBytes, n, 1], strides: [rowBytes, rowBytes * n] },
    box: [boxBytes, blockRows, 1],
  };
  return writeParams(nbitsHopperStruct, { codes: map, q });
}

function halfOf({ type }: View): "float16" | "bfloat16" {
  if (!isHalfStorage(type)) throw new Error(`tc-lint bug: rows of ${type}`);
  return type;
}

function bytesOf(view: View | undefined): number {
  return view === undefined ? 0 : elementCount(view.shape) * (view.type === "uint8" ? 1 : 2);
}
