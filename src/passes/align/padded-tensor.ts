/** @file Elements of a zero-padded tensor, computed range by range from the elements of the true one. */

import type { IndexRun } from "../../ir/axis-runs.ts";
import { bytesOf, type DType } from "../../ir/dtype.ts";
import { invariant } from "../../ir/errors.ts";
import type { TensorBytes } from "../../ir/patch.ts";

/** How the padded tensor reads the true one. */
export interface PaddingMap {
  readonly dtype: DType;
  /** True sizes. */
  readonly dims: readonly number[];
  /** For each axis: where its true elements are once it is padded. */
  readonly runs: readonly (readonly IndexRun[])[];
  /** One element, little-endian, for padded lanes. */
  readonly fill: Uint8Array;
}

/**
 * The padded tensor as bytes that can be read at any offset. Works on whole elements of at least a byte
 * (4-bit types are never padded).
 */
export class PaddedTensor implements TensorBytes {
  readonly size: number;
  readonly #source: TensorBytes;
  readonly #fill: Uint8Array;
  /** Axes up to the last that is padded; what is behind it moves as one unit. */
  readonly #axes: readonly PaddedAxis[];
  readonly #unitBytes: number;
  /** True row-major strides, in units. */
  readonly #strides: readonly number[];
  readonly #rowBytes: number;

  constructor(source: TensorBytes, { dtype, dims, runs, fill }: PaddingMap) {
    const width = bytesOf(dtype, 1);
    const expected = dims.reduce((total, dim) => total * dim, 1) * width;
    invariant(source.size === expected, `a tensor of ${source.size} bytes is padded as one of ${expected}`);
    const axes = runs.map((each) => new PaddedAxis(each));
    const last = axes.findLastIndex(({ length }, axis) => length !== dims[axis]);
    const rank = Math.max(last + 1, 1);
    this.#source = source;
    this.#fill = fill;
    this.#axes = axes.slice(0, rank);
    this.#unitBytes = dims.slice(rank).reduce((total, dim) => total * dim, width);
    this.#strides = stridesOf(dims.slice(0, rank));
    this.#rowBytes = (this.#axes.at(-1)?.length ?? 1) * this.#unitBytes;
    this.size = axes.reduce((total, { length }) => total * length, 1) * width;
  }

  readInto(offset: number, target: Uint8Array): void {
    let done = 0;
    while (done < target.length) {
      const at = offset + done;
      const row = Math.floor(at / this.#rowBytes);
      const from = at - row * this.#rowBytes;
      const length = Math.min(this.#rowBytes - from, target.length - done);
      this.#readRow(row, from, target.subarray(done, done + length));
      done += length;
    }
  }

  /** Part of one padded row (all axes but the last padded one fixed), from byte `from` on. */
  #readRow(row: number, from: number, target: Uint8Array): void {
    const start = this.#startOf(row);
    if (start === undefined) return this.#fillLanes(target, from);
    const width = this.#unitBytes;
    if (from % width !== 0 || target.length % width !== 0) return this.#readUnaligned(row, from, target);
    const first = from / width;
    const last = first + target.length / width;
    for (let column = first; column < last; ) {
      const { index, left } = this.#axes.at(-1)?.at(column) ?? single;
      const end = Math.min(last, column + left);
      const part = target.subarray((column - first) * width, (end - first) * width);
      if (index < 0) this.#fillLanes(part, 0);
      else this.#source.readInto((start + index) * width, part);
      column = end;
    }
  }

  /** A read that begins or ends inside a unit: whole units around it, then the part asked for. */
  #readUnaligned(row: number, from: number, target: Uint8Array): void {
    const width = this.#unitBytes;
    const begin = Math.floor(from / width) * width;
    const end = Math.ceil((from + target.length) / width) * width;
    const whole = new Uint8Array(end - begin);
    this.#readRow(row, begin, whole);
    target.set(whole.subarray(from - begin, from - begin + target.length));
  }

  /** Offset in units of a padded row in the true tensor; undefined for a padded one. */
  #startOf(row: number): number | undefined {
    let [rest, start] = [row, 0];
    for (let axis = this.#axes.length - 2; axis >= 0; axis--) {
      const size = this.#axes[axis]?.length ?? 1;
      const { index } = this.#axes[axis]?.at(rest % size) ?? single;
      if (index < 0) return undefined;
      start += index * (this.#strides[axis] ?? 0);
      rest = Math.floor(rest / size);
    }
    return start;
  }

  #fillLanes(target: Uint8Array, phase: number): void {
    const fill = this.#fill;
    if (fill.every((byte) => byte === 0)) target.fill(0);
    else for (let i = 0; i < target.length; i++) target[i] = fill[(phase + i) % fill.length] ?? 0;
  }
}

function stridesOf(dims: readonly number[]): number[] {
  const strides = dims.map(() => 1);
  for (let axis = dims.length - 2; axis >= 0; axis--)
    strides[axis] = (strides[axis + 1] ?? 1) * (dims[axis + 1] ?? 1);
  return strides;
}

interface Place {
  /** True index, -1 in a padded lane. */
  readonly index: number;
  /** Positions from this one to the end of its run. */
  readonly left: number;
}

/** A scalar. */
const single: Place = { index: 0, left: 1 };

/** The runs of one axis, found by padded position. */
class PaddedAxis {
  readonly length: number;
  readonly #runs: readonly IndexRun[];
  readonly #starts: readonly number[];

  constructor(runs: readonly IndexRun[]) {
    const starts: number[] = [];
    let length = 0;
    for (const run of runs) {
      starts.push(length);
      length += run.length;
    }
    this.#runs = runs;
    this.#starts = starts;
    this.length = length;
  }

  at(position: number): Place {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    const run = this.#runs[low];
    if (run === undefined) return single;
    const offset = position - (this.#starts[low] ?? 0);
    return { index: run.from < 0 ? -1 : run.from + offset, left: run.length - offset };
  }
}
