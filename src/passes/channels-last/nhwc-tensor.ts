/** @file A stored [N,C,positions…] tensor read as [N,positions…,C], a slab at a time. */
import { invariant } from "../../ir/errors.ts";
import type { TensorBytes } from "../../ir/patch.ts";

export interface SlabSizes {
  readonly outer: number;
  readonly channels: number;
  readonly positions: number;
  readonly elementBytes: number;
}

/** Holds one slab (channels × positions) in memory. Throws what reading the source throws. */
export class NhwcTensor implements TensorBytes {
  readonly size: number;
  readonly #source: TensorBytes;
  readonly #sizes: SlabSizes;
  readonly #slabBytes: number;
  #slab = -1;
  #turned = new Uint8Array(0);

  constructor(source: TensorBytes, sizes: SlabSizes) {
    const { outer, channels, positions, elementBytes } = sizes;
    this.#source = source;
    this.#sizes = sizes;
    this.#slabBytes = channels * positions * elementBytes;
    this.size = outer * this.#slabBytes;
    invariant(source.size === this.size, `a tensor of ${source.size} bytes is turned as one of ${this.size}`);
  }

  readInto(offset: number, target: Uint8Array): void {
    invariant(offset >= 0 && offset + target.length <= this.size, "a turned tensor is read past its end");
    const { channels, positions } = this.#sizes;
    if (channels === 1 || positions === 1) return this.#source.readInto(offset, target);
    for (let done = 0; done < target.length; ) {
      const slab = Math.floor((offset + done) / this.#slabBytes);
      const from = offset + done - slab * this.#slabBytes;
      const part = this.#read(slab).subarray(from, from + target.length - done);
      target.set(part, done);
      done += part.length;
    }
  }

  #read(slab: number): Uint8Array {
    if (slab === this.#slab) return this.#turned;
    const { channels, positions, elementBytes } = this.#sizes;
    const stored = new Uint8Array(this.#slabBytes);
    this.#source.readInto(slab * this.#slabBytes, stored);
    const turned = new Uint8Array(this.#slabBytes);
    let to = 0;
    for (let position = 0; position < positions; position++) {
      for (let channel = 0; channel < channels; channel++) {
        const from = (channel * positions + position) * elementBytes;
        for (let byte = 0; byte < elementBytes; byte++) turned[to++] = stored[from + byte] ?? 0;
      }
    }
    this.#slab = slab;
    this.#turned = turned;
    return turned;
  }
}
