/** @file Inputs and outputs of one model as another takes and gives them: of another type, or with their axes in another order. */
import type { DType } from "../ir/dtype.ts";
import type { Model } from "../ir/model.ts";
import { convert, type Tensors, transpose } from "./tensor.ts";

export class CandidateForms {
  readonly #candidate: Model;
  readonly #permutations: ReadonlyMap<string, readonly number[]>;

  /** @param permutations Of inputs and outputs that it has transposed: its axis i is the original's axis p[i]. */
  constructor(candidate: Model, permutations: ReadonlyMap<string, readonly number[]>) {
    this.#candidate = candidate;
    this.#permutations = permutations;
  }

  /** Inputs of the original as the candidate takes them. */
  asCandidate(inputs: Tensors): Tensors {
    return new Map(
      [...inputs].map(([name, tensor]) => {
        const permutation = this.#permutations.get(name);
        const dtype = this.typeOf(name);
        const placed = permutation === undefined ? tensor : transpose(tensor, permutation);
        return [name, dtype === undefined ? placed : convert(placed, dtype, `input "${name}"`)];
      }),
    );
  }

  /** Outputs of the candidate as the original gives them, but for their types. */
  asOriginal(outputs: Tensors): Tensors {
    return new Map(
      [...outputs].map(([name, tensor]) => {
        const permutation = this.#permutations.get(name);
        return [name, permutation === undefined ? tensor : transpose(tensor, inverse(permutation))];
      }),
    );
  }

  /** Of an input of the candidate, as it declares it. */
  typeOf(input: string): DType | undefined {
    const declared = this.#candidate.graph.values.get(input)?.declared;
    return declared?.kind === "tensor" ? declared.dtype : undefined;
  }
}

function inverse(permutation: readonly number[]): number[] {
  return permutation.map((_, axis) => permutation.indexOf(axis));
}
