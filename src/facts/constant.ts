/** @file Tensors stored in the model as facts: their elements are read when an operator first asks. */
import type { Dim } from "../ir/dim.ts";
import type { ModelReader, TensorRef } from "../ir/model.ts";
import { maxFoldedElements, type TensorFact } from "../ops/op.ts";

export function constantFact(tensor: TensorRef, reader: ModelReader): TensorFact {
  const { dtype, dims } = tensor;
  if (dims.reduce((total, dim) => total * dim, 1) > maxFoldedElements) {
    return { kind: "tensor", dtype, shape: dims };
  }
  let elements: readonly Dim[] | undefined;
  let isRead = false;
  return {
    kind: "tensor",
    dtype,
    shape: dims,
    // Own and enumerable, so that a copy by spreading keeps the elements.
    get elements() {
      if (!isRead) {
        elements = reader.elements(tensor, maxFoldedElements);
        isRead = true;
      }
      return elements;
    },
  };
}
