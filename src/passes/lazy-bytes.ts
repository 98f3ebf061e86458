/** @file Bytes whose source is opened when the first of them is read. */
import { bytesOf, type DType } from "../ir/dtype.ts";
import type { TensorBytes } from "../ir/patch.ts";

/** A pass may plan with tensors that are not there, as long as nobody writes its patch. */
export class LazyBytes implements TensorBytes {
  readonly size: number;
  readonly #open: () => TensorBytes;
  #bytes: TensorBytes | undefined;

  constructor(dtype: DType, dims: readonly number[], open: () => TensorBytes) {
    this.size = bytesOf(
      dtype,
      dims.reduce((total, dim) => total * dim, 1),
    );
    this.#open = open;
  }

  readInto(offset: number, target: Uint8Array): void {
    this.#bytes ??= this.#open();
    this.#bytes.readInto(offset, target);
  }
}
