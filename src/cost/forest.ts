/** @file Boosted regression trees as a compact table: two bytes a node, in preorder. */

/** As `npm run fit` writes it. Byte strings are base64. */
export interface PackedForest {
  /** How many thresholds each feature has. */
  readonly counts: readonly number[];
  /** Little-endian float32, ascending within a feature, one feature behind the other. */
  readonly thresholds: string;
  /** The value before any tree. */
  readonly base: number;
  /** A leaf's byte, less 128, counts this much. */
  readonly step: number;
  readonly trees: number;
  /** Feature (255: leaf), then bin (or leaf value): a row whose bin is at most that goes left, to the next node. */
  readonly nodes: string;
}

const leafMark = 255;

export class Forest {
  readonly #thresholds: readonly Float32Array[];
  readonly #base: number;
  readonly #step: number;
  readonly #roots: Int32Array;
  readonly #nodes: Uint8Array;
  /** Of an inner node, where its right child is. */
  readonly #right: Int32Array;
  readonly #bins: Uint8Array;

  constructor(packed: PackedForest) {
    this.#thresholds = thresholdsOf(packed);
    this.#base = packed.base;
    this.#step = packed.step;
    this.#nodes = Uint8Array.from(Buffer.from(packed.nodes, "base64"));
    this.#right = new Int32Array(this.#nodes.length / 2);
    this.#roots = new Int32Array(packed.trees);
    this.#bins = new Uint8Array(packed.counts.length);
    let next = 0;
    for (let tree = 0; tree < packed.trees; tree++) {
      this.#roots[tree] = next;
      next = this.#link(next);
    }
    if (next * 2 !== this.#nodes.length) throw new Error("forest table: trees and nodes do not match");
  }

  /** Sets right children of the subtree at `index`; returns the index behind it. */
  #link(index: number): number {
    if (index * 2 >= this.#nodes.length) throw new Error("forest table: a tree is cut short");
    if (this.#nodes[index * 2] === leafMark) return index + 1;
    const right = this.#link(index + 1);
    this.#right[index] = right;
    return this.#link(right);
  }

  predict(features: readonly number[]): number {
    const [nodes, right, bins] = [this.#nodes, this.#right, this.#bins];
    for (const [feature, thresholds] of this.#thresholds.entries()) {
      bins[feature] = binOf(thresholds, features[feature] ?? 0);
    }
    let sum = 0;
    for (const root of this.#roots) {
      let index = root;
      let feature = nodes[2 * index] ?? leafMark;
      while (feature !== leafMark) {
        const left = (bins[feature] ?? 0) <= (nodes[2 * index + 1] ?? 0);
        index = left ? index + 1 : (right[index] ?? 0);
        feature = nodes[2 * index] ?? leafMark;
      }
      sum += (nodes[2 * index + 1] ?? 0) - 128;
    }
    return this.#base + sum * this.#step;
  }
}

function thresholdsOf({ counts, thresholds }: PackedForest): readonly Float32Array[] {
  const bytes = Uint8Array.from(Buffer.from(thresholds, "base64"));
  const all = new Float32Array(bytes.buffer);
  let next = 0;
  return counts.map((count) => {
    next += count;
    return all.subarray(next - count, next);
  });
}

/** How many thresholds lie below `value`. */
function binOf(thresholds: Float32Array, value: number): number {
  let [low, high] = [0, thresholds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((thresholds[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
