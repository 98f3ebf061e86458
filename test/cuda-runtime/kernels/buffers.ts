/** @file Memory of launches that are looked at, or done again by plain loops, on the CPU. */
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { placesOf } from "../lower/movement-machine.ts";

/** Memory as buffers have it, NaN where nothing was written. */
export class Buffers {
  readonly #all = new Map<number, Float64Array>();
  #count = 0;

  view(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    const bytes = 8 * elementCount(shape);
    const buffer = { id: this.#count++, kind: "temporary", bytes, name: "" } as const;
    return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
  }

  readonly memory = ({ buffer: { id, bytes } }: View): Float64Array => {
    const memory = this.#all.get(id) ?? new Float64Array(bytes / 8).fill(Number.NaN);
    this.#all.set(id, memory);
    return memory;
  };

  /** Row-major. */
  read(view: View): Float64Array {
    const memory = this.memory(view);
    return Float64Array.from(placesOf(view), (at) => memory[at] ?? Number.NaN);
  }

  write(view: View, values: ArrayLike<number>): void {
    const memory = this.memory(view);
    for (const [index, at] of placesOf(view).entries()) memory[at] = values[index] ?? Number.NaN;
  }
}
