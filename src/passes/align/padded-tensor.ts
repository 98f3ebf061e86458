/** @file Elements of a zero-padded tensor, computed range by range from the elements of the true one. */
import { bytesOf, type DType } from "../../ir/dtype.ts";
import { invariant } from "../../ir/errors.ts";
import type { TensorBytes } from "../../ir/patch.ts";

/** How the padded tensor reads the true one. */
export interface PaddingMap {
  readonly dtype: DType;
  /** True sizes. */
  readonly dims: readonly number[];
  /** For each axis: true index of every padded index, -1 in a padded lane. */
  readonly maps: readonly Int32Array[];
  /** One element, little-endian, for padded lanes. */
  readonly fill: Uint8Array;
}

/**
 * The padded tensor as bytes that can be read at any offset. Works on whole elements of at least a byte
 * (4-bit types are never padded).
 */
export class PaddedTensor implements TensorBytes {
  readonly size: number;
  readonly dims: readonly number[];
  readonly #source: TensorBytes;
  readonly #fill: Uint8Array;
  /** Axes up to the last that is padded; what is behind it moves as one unit. */
  readonly #maps: readonly Int32Array[];
  readonly #unitBytes: number;
  /** True row-major strides, in units. */
  readonly #strides: readonly number[];
  readonly #rowBytes: number;

  constructor(source: TensorBytes, { dtype, dims, maps, fill }: PaddingMap) {
    const width = bytesOf(dtype, 1);
    const expected = dims.reduce((total, dim) => total * dim, 1) * width;
    invariant(source.size === expected, `a tensor of ${source.size} bytes is padded as one of ${expected}`);
    const whole = maps.findLastIndex(
      (map, axis) => map.length !== dims[axis] || map.some((from, to) => from !== to),
    );
    const rank = Math.max(whole + 1, 1);
    this.#source = source;
    this.#fill = fill;
    this.#maps = maps.slice(0, rank);
    this.#unitBytes = dims.slice(rank).reduce((total, dim) => total * dim, width);
    this.#strides = stridesOf(dims.slice(0, rank));
    this.dims = maps.map((map) => map.length);
    this.#rowBytes = (this.#maps.at(-1)?.length ?? 1) * this.#unitBytes;
    this.size = this.dims.reduce((total, dim) => total * dim, 1) * width;
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
    const columns = this.#maps.at(-1) ?? Int32Array.of(0);
    const width = this.#unitBytes;
    if (from % width !== 0 || target.length % width !== 0) return this.#readUnaligned(row, from, target);
    const first = from / width;
    const last = first + target.length / width;
    for (let column = first; column < last; ) {
      const index = columns[column] ?? -1;
      let end = column + 1;
      while (end < last && (columns[end] ?? -1) === (index < 0 ? -1 : index + end - column)) end++;
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
    for (let axis = this.#maps.length - 2; axis >= 0; axis--) {
      const size = this.#maps[axis]?.length ?? 1;
      const index = this.#maps[axis]?.[rest % size] ?? -1;
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
