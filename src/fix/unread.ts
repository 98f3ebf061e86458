/** @file Tensors of which nobody reads the elements: to say what half precision makes of a model takes no gigabyte of weights. */
import { bytesOf } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { TensorRef } from "../ir/model.ts";
import type { OpenTensor, TensorBytes } from "../ir/patch.ts";

/** Larger tensors than `mostBytes` fail where they are read, as weights do that are not there. */
export function readingUpTo(mostBytes: number, open: OpenTensor): OpenTensor {
  return (tensor) => {
    const { name, dtype, dims } = tensor;
    const size = dtype === undefined ? 0 : bytesOf(dtype, elementsOf(tensor));
    if (size <= mostBytes) return open(tensor);
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
