/**
 * @file Lanes of a weight that half does not hold: what is made of 1e-8 alone rounds to nothing, however large the lanes
 * beside it are.
 */

import { intAttributeIn } from "../../facts/attributes.ts";
import { isOp } from "../../ops/ask.ts";
import type { FloatNode, FloatValue } from "./graph.ts";

/** Rounding to half costs a normal number at most 2⁻¹¹ of it; a lane may lose eight times that. */
const mostLost = 2 ** -8;
/** Of the largest element: what lies below that is beyond FP32 itself, twice over. Channels that training has left dead are there. */
const deadShare = 2 ** -48;

/** The axis of a weight along which its reader's outputs lie; undefined where it is no weight, or read in two ways. */
export function laneAxisOf({ value, readers }: FloatValue, rank: number): number | undefined {
  const axes = new Set(readers.map(({ user }) => axisOf(user, value.name, rank)));
  const [axis] = axes;
  return axes.size === 1 && axis !== undefined && axis < rank ? axis : undefined;
}

function axisOf({ node, scope }: FloatNode, name: string, rank: number): number | undefined {
  const position = node.inputs.findIndex((input) => input?.name === name);
  if (rank < 2) return undefined;
  if (isOp(node, "Gather")) return position === 0 ? 0 : undefined;
  if (position !== 1) return undefined;
  if (isOp(node, "Conv")) return 0;
  if (isOp(node, "ConvTranspose")) return 1;
  if (isOp(node, "MatMul")) return rank - 1;
  if (isOp(node, "Gemm")) return intAttributeIn(node, "transB", scope) === 1 ? 0 : 1;
  return undefined;
}

/**
 * Energy of each lane, and of what float16 makes of it, element by element in row-major order; of a lane that cannot lose too much any more, of as much as
 * tells that.
 */
export class LaneCount {
  readonly #inner: number;
  readonly #energy: Float64Array;
  readonly #lost: Float64Array;
  /** A lane of more energy than that does not lose too much, whatever is in the rest of it. */
  readonly #enough: number;
  /** Lanes of less so far. */
  #open: number;
  #lane = 0;
  #within = 0;

  constructor(dims: readonly number[], axis: number) {
    const lanes = dims[axis] ?? 1;
    this.#inner = dims.slice(axis + 1).reduce((total, dim) => total * dim, 1);
    this.#energy = new Float64Array(lanes);
    this.#lost = new Float64Array(lanes);
    this.#open = lanes;
    const elements = dims.reduce((total, dim) => total * dim, 1) / lanes;
    // Each loses half of the smallest number at the most. Twice that, for what rounding does to the sums.
    this.#enough = (2 * elements * (smallest / 2) ** 2) / mostLost ** 2;
  }

  add(elements: Float32Array): void {
    // Elements that follow one another are of one lane, as many as there are behind its axis.
    for (let index = 0; index < elements.length && this.#open > 0; ) {
      const end = Math.min(elements.length, index + this.#inner - this.#within);
      if ((this.#energy[this.#lane] ?? 0) <= this.#enough) this.#addTo(this.#lane, elements, index, end);
      this.#within += end - index;
      index = end;
      if (this.#within < this.#inner) return;
      this.#within = 0;
      this.#lane = this.#lane + 1 === this.#energy.length ? 0 : this.#lane + 1;
    }
  }

  #addTo(lane: number, elements: Float32Array, start: number, end: number): void {
    let [energy, lost] = [this.#energy[lane] ?? 0, this.#lost[lane] ?? 0];
    for (let index = start; index < end && energy <= this.#enough; index++) {
      const size = Math.abs(elements[index] ?? 0);
      energy += size * size;
      if (size >= smallestNormal) continue;
      const error = size - Math.round(size / smallest) * smallest;
      lost += error * error;
    }
    if (energy > this.#enough) this.#open -= 1;
    this.#energy[lane] = energy;
    this.#lost[lane] = lost;
  }

  /** How many lanes lose too much. `largest` is the largest magnitude in the tensor. */
  vanishing(largest: number): number {
    let count = 0;
    for (const [lane, energy] of this.#energy.entries()) {
      const lost = this.#lost[lane] ?? 0;
      if (lost > mostLost ** 2 * energy && energy > (deadShare * largest) ** 2) count += 1;
    }
    return count;
  }
}

/** Of float16. */
const smallestNormal = 2 ** -14;
const smallest = 2 ** -24;
