/** @file What a launch over tables of taps takes, and where channels are worth lying at multiples of a vector for it. */
import { passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import type { TapTable } from "./taps.ts";

/** Of a launch: threads, elements that each computes, and elements of the input that each of these is made of. */
export interface TapsWork {
  readonly bytes: number;
  readonly threads: number;
  readonly lanes: number;
  readonly taps: number;
}

/**
 * Of a thread: where its element lies, for each tap the tables, and for each of its lanes a conversion and a multiply-add. Linear in both axes is
 * 240 so: 21 channels from 17 × 17 to 129 × 129 took 4.1 µs on an H200 (bench/measurements/h200-runtime-steps.jsonl), and 95 of 32 images
 * on an H100. What a lane takes is estimated.
 */
const instructions = { thread: 150, tap: 20, lane: 3 } as const;

export function tapsMicroseconds({ bytes, threads, lanes, taps }: TapsWork, target: PlanTarget): number {
  const each = instructions.thread + taps * (instructions.tap + lanes * instructions.lane);
  return passMicroseconds({ bytes, instructions: threads * each }, target);
}

export function tapsOf(tables: readonly (TapTable | undefined)[]): number {
  return tables.reduce((product, table) => product * (table?.taps ?? 1), 1);
}

/** Readers of rows with gaps may be slower than of rows without: where it is not twice as fast, rows stay. */
const leastGain = 2;
const vectorBytes = 16;

/**
 * How long rows of the innermost axis are worth being made, so that a thread takes a vector of them: the next multiple of its lanes. Undefined
 * where they are one, where that axis is resized itself, or where the copy of the input costs more than it saves.
 *
 * @param axis The innermost of `from`'s memory, and of the output's.
 */
export function widerRow(
  { from, axis, shape }: { readonly from: View; readonly axis: number; readonly shape: readonly number[] },
  tables: readonly (TapTable | undefined)[],
  target: PlanTarget,
): number | undefined {
  const size = shape[axis] ?? 1;
  const lanes = vectorBytes / bytesOfType(from.type);
  const wide = Math.ceil(size / lanes) * lanes;
  if (wide === size || wide >= 2 * size || tables[axis] !== undefined) return undefined;
  const element = bytesOfType(from.type);
  const [read, written] = [elementCount(from.shape) * element, elementCount(shape) * element];
  const taps = tapsOf(tables);
  const plain = { bytes: read + written, threads: elementCount(shape), lanes: 1, taps };
  const growth = wide / size;
  const vectors = {
    bytes: growth * (read + written),
    threads: (growth * plain.threads) / lanes,
    lanes,
    taps,
  };
  const copied = passMicroseconds({ bytes: (1 + growth) * read }, target) + tapsMicroseconds(vectors, target);
  return leastGain * copied < tapsMicroseconds(plain, target) ? wide : undefined;
}
