/** @file Tensors stored in the model as facts: their elements are read when an operator first asks. */
import type { Dim } from "../ir/dim.ts";
import type { ModelReader, TensorRef } from "../ir/model.ts";
import { maxFoldedElements, type TensorFact } from "../ops/op.ts";

export function constantFact(tensor: TensorRef, reader: ModelReader): TensorFact {
  const { dtype, dims } = tensor;
  if (dims.reduce((total, dim) => total * dim, 1) > maxFoldedElements) {
    return { kind: "tensor", dtype, shape: dims };
  }
  return new StoredFact(tensor, reader);
}

class StoredFact implements TensorFact {
  /** One getter for all: with a closure each, every fact would be an object of a shape of its own. */
  static readonly #elementsOnDemand = {
    enumerable: true,
    get(this: StoredFact) {
      return this.#read();
    },
  };

  readonly kind = "tensor";
  readonly dtype: TensorFact["dtype"];
  readonly shape: readonly number[];
  /** Own and enumerable, so that a copy by spreading keeps the elements. */
  declare readonly elements: readonly Dim[] | undefined;
  readonly #tensor: TensorRef;
  readonly #reader: ModelReader;
  /** Undefined before they are read; null where they cannot be. */
  #elements: readonly Dim[] | null | undefined;

  constructor(tensor: TensorRef, reader: ModelReader) {
    this.dtype = tensor.dtype;
    this.shape = tensor.dims;
    this.#tensor = tensor;
    this.#reader = reader;
    Object.defineProperty(this, "elements", StoredFact.#elementsOnDemand);
  }

  #read(): readonly Dim[] | undefined {
    if (this.#elements === undefined) {
      this.#elements = this.#reader.elements(this.#tensor, maxFoldedElements) ?? null;
    }
    return this.#elements ?? undefined;
  }
}
