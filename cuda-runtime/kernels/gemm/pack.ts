/** @file An operand of a product, copied to rows along k that begin at lines of the L2 cache. */
import { lineBytes } from "../../cost/cache-lines.ts";
import type { Emitter } from "../../ir/emitter.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { imaginedView, sliced, type View } from "../../ir/view.ts";
import { copyMicroseconds } from "../transpose/transpose.ts";
import type { Operand, Problem } from "./problem.ts";

type Sizes = Pick<Problem, "batch" | "k">;

interface Packing {
  /** The operand as it lies: [...axes of the batch along which it steps, outer, k]. */
  readonly from: View;
  /** Of the memory that it is copied to, and its row in elements. Kernels do not read what lies between rows. */
  readonly shape: readonly number[];
  readonly padded: number;
  /** Axes of the batch, as in `shape`. */
  readonly axes: readonly number[];
}

const grainBytes = 16;

/**
 * Bytes that packed rows of so many begin at multiples of: whole lines, or as short a part of one as a row lies in. TMA fetches rows of 8,208 bytes at half
 * the rate of rows of 8,192 or 8,320, since each of its pieces of 128 bytes is in two lines and five sectors (bench/measurements/h100-gemm-lines.jsonl).
 */
export function packedLineBytes(rowBytes: number): number {
  for (let bytes = grainBytes; bytes < lineBytes; bytes *= 2) if (rowBytes <= bytes) return bytes;
  return lineBytes;
}

/** Elements from a packed row of so many to the next one. */
export function packedPitch(elements: number, elementBytes: number): number {
  const line = packedLineBytes(elements * elementBytes) / elementBytes;
  return Math.ceil(elements / line) * line;
}

function packingOf({ batch, k }: Sizes, operand: Operand, outer: number): Packing {
  const { view } = operand;
  const axes = [...batch.keys()].filter((axis) => operand.batch[axis] !== 0);
  const sizes = axes.map((axis) => batch[axis] ?? 1);
  const padded = packedPitch(k, bytesOfType(view.type));
  const from: View = {
    ...view,
    shape: [...sizes, outer, k],
    strides: [...axes.map((axis) => operand.batch[axis] ?? 0), operand.outer, operand.k],
  };
  return { from, shape: [...sizes, outer, padded], padded, axes };
}

/** The part of the memory that is written. */
function writtenOf(memory: View, k: number): View {
  return sliced(memory, memory.shape.length - 1, 0, k);
}

export function packedOperand(emitter: Emitter, sizes: Sizes, operand: Operand, outer: number): Operand {
  const { from, shape, padded, axes } = packingOf(sizes, operand, outer);
  const to = writtenOf(emitter.temporary(from.type, shape), sizes.k);
  emitter.copy(from, to);
  const strides = sizes.batch.map((_, axis) => {
    const kept = axes.indexOf(axis);
    return kept < 0 ? 0 : (to.strides[kept] ?? 0);
  });
  return { view: to, outer: padded, k: 1, batch: strides };
}

/** What the copy is predicted to take. */
export function packMicroseconds(operand: Operand, outer: number, sizes: Sizes, target: PlanTarget): number {
  const { from, shape } = packingOf(sizes, operand, outer);
  return copyMicroseconds(from, writtenOf(imaginedView(from.type, shape), sizes.k), target);
}
