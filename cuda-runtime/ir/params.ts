/** @file A kernel's one parameter: a packed C struct, its pointers filled in once addresses are known. */

import { textOf } from "../../src/ir/message.ts";
import { OperandError } from "./operand-error.ts";
import { bytesOfType } from "./storage.ts";
import type { View } from "./view.ts";

export interface PointerSlot {
  /** Byte offset of the pointer in the struct. */
  readonly at: number;
  readonly view: View;
}

/** A descriptor of a tensor for TMA (CUtensorMap), and the box of it that one copy takes. */
export interface TensorMap {
  readonly view: View;
  /** Elements along each axis, the innermost first; that one's are neighbours in memory. */
  readonly sizes: readonly number[];
  /** In elements, of the axes behind the innermost; multiples of 16 bytes. */
  readonly strides: readonly number[];
  readonly box: readonly number[];
  /** Elements from one that a box takes to the next, an entry an axis; undefined: all. `box` counts those between as well. */
  readonly steps?: readonly number[] | undefined;
  /** Of a map of images (channels, spatial axes, batch), whose boxes are [channels, positions] of a sliding window. */
  readonly walk?: ImageWalk | undefined;
}

/** How TMA goes through an image for the positions of a convolution's output; an entry a spatial axis, the innermost first. */
export interface ImageWalk {
  /** Where a window's first tap is first; negative in the padding. */
  readonly lower: readonly number[];
  /** Where it is last, counted from the axis' last element. */
  readonly upper: readonly number[];
  readonly strides: readonly number[];
}

export interface TensorMapSlot extends TensorMap {
  /** Byte offset of the descriptor in the struct. */
  readonly at: number;
}

export interface ParamBlock {
  /** Pointers and descriptors are zero until they are filled in. */
  readonly bytes: Uint8Array;
  readonly pointers: readonly PointerSlot[];
  readonly tensorMaps?: readonly TensorMapSlot[] | undefined;
}

/** Of a CUtensorMap. */
export const tensorMapBytes = 128;
export const tensorMapAlignment = 64;

/** All that is filled in once addresses are known. */
export function addressesIn({ pointers, tensorMaps = [] }: ParamBlock): readonly PointerSlot[] {
  return [...pointers, ...tensorMaps];
}

/** The same with other views in place of its own. */
export function withViews(params: ParamBlock, viewOf: (view: View) => View): ParamBlock {
  const moved = <Slot extends PointerSlot>(slot: Slot): Slot => ({ ...slot, view: viewOf(slot.view) });
  return {
    ...params,
    pointers: params.pointers.map(moved),
    tensorMaps: params.tensorMaps?.map(moved),
  };
}

/** The kernels' limit on axes, after neighbouring ones are merged. */
export const maxRank = 8;

/** The value itself. Throws OperandError where it is no whole number of 32 bits with a sign. */
export function checked32(value: number): number {
  if (Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31) return value;
  throw new OperandError(textOf`${value} is no 32-bit integer, which is what its kernel counts in`);
}

/**
 * Writes fields in the order of the struct, each at its natural alignment, as a C compiler lays them out. For structs that
 * are made up as a kernel is generated; those of the kernels that are built have tables (param-table.ts).
 */
export class ParamWriter {
  #bytes = new Uint8Array(128);
  #data = new DataView(this.#bytes.buffer);
  #end = 0;
  readonly #pointers: PointerSlot[] = [];

  /** Address of the view's first element; a null pointer for undefined. */
  pointer(view: View | undefined): this {
    const at = this.#reserve(8);
    if (view !== undefined) this.#pointers.push({ at, view });
    return this;
  }

  i32(...values: readonly number[]): this {
    for (const value of values) {
      const checked = checked32(value);
      // The place first: reserving may replace #data by a larger one.
      const at = this.#reserve(4);
      this.#data.setInt32(at, checked, true);
    }
    return this;
  }

  done(): ParamBlock {
    // The struct ends at a multiple of its largest field's alignment; 8 suits all.
    const bytes = this.#bytes.slice(0, Math.ceil(this.#end / 8) * 8);
    return { bytes, pointers: this.#pointers };
  }

  #reserve(size: number): number {
    const at = Math.ceil(this.#end / size) * size;
    this.#end = at + size;
    while (this.#end + 8 > this.#bytes.length) this.#grow();
    return at;
  }

  #grow(): void {
    const larger = new Uint8Array(2 * this.#bytes.length);
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#data = new DataView(larger.buffer);
  }
}

/** Byte offset of a view's first element in its buffer. */
export function byteOffsetOf(view: View): number {
  return view.offset * bytesOfType(view.type);
}
