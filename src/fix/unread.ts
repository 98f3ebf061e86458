/** @file Tensors of which nobody reads the elements: to say what half precision makes of a model takes no gigabyte of weights. */
import { bytesOf } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { TensorRef } from "../ir/model.ts";
import type { OpenTensor, TensorBytes } from "../ir/patch.ts";

/** How much may be read of a tensor. Whoever takes over the result of a pass decides that anew. */
export interface Reading {
  /** Any size where undefined. */
  mostBytes?: number | undefined;
  /** Of the largest tensor that was read. */
  largestBytes?: number;
}

/** Larger tensors fail where they are read, as weights do that are not there. */
export function readingUpTo(reading: Reading, open: OpenTensor): OpenTensor {
  return (tensor) => {
    const { name, dtype, dims } = tensor;
    const size = dtype === undefined ? 0 : bytesOf(dtype, elementsOf(tensor));
    reading.largestBytes = Math.max(size, reading.largestBytes ?? 0);
    if (size <= (reading.mostBytes ?? Number.POSITIVE_INFINITY)) return open(tensor);
    return unread(size, `tensor "${name}" [${dims.join(",")}] is not read here`);
  };
}

function elementsOf({ dims }: TensorRef): number {
  return dims.reduce((total, dim) => total * dim, 1);
}

function unread(size: number, message: string): TensorBytes {
  return {
    size,
    readInto: () => {
      throw new InputError("weights-missing", message);
    },
  };
}
