/** @file Tensors as folding knows them: in the file, made by the pass, or known and not made yet. */
import type { DType } from "../../ir/dtype.ts";
import type { TensorBytes, TensorSpec } from "../../ir/patch.ts";

/** A constant tensor, in the file or made by the pass. */
export interface Stored {
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Opened when first read. */
  readonly bytes: TensorBytes;
  /** Its elements, where they can be had now; at most as many as the caller said. */
  readonly numbers: (limit: number) => readonly number[] | undefined;
}

/** A tensor made by the pass; `numbers` are its elements where they are known. */
export interface Made {
  readonly spec: TensorSpec;
  readonly numbers: readonly number[] | undefined;
}

/** A tensor whose elements are known, not yet made. */
export interface Known {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly numbers: readonly number[];
}
