/** @file Boosted regression trees as a compact table: two bytes a node, in preorder. */

import { inflateRawSync } from "node:zlib";

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
  /** `nodes` were deflated (RFC 1951) before they became base64. */
  readonly deflated?: boolean | undefined;
}

/** Many times the largest forest: a calibration file of a user's may hold anything. */
const mostBytes = 4_000_000;

const leafMark = 255;

export class Forest {
  readonly #thresholds: readonly Float32Array[];
  readonly #base: number;
  readonly #step: number;
  readonly #roots: Int32Array;
  /** feature << 16 | bin << 8 | distance of the right child: one load a step. */
  readonly #nodes: Int32Array;
  readonly #bins: Uint8Array;

  constructor(packed: PackedForest) {
    this.#thresholds = thresholdsOf(packed);
    this.#base = packed.base;
    this.#step = packed.step;
    this.#bins = new Uint8Array(packed.counts.length);
    const bytes = nodeBytes(packed);
    this.#nodes = new Int32Array(bytes.length / 2);
    this.#roots = new Int32Array(packed.trees);
    let next = 0;
    for (let tree = 0; tree < packed.trees; tree++) {
      this.#roots[tree] = next;
      next = this.#link(bytes, next);
    }
    if (next !== this.#nodes.length) throw new Error("forest table: trees and nodes do not match");
  }

  /** Writes the nodes of the subtree at `index`; returns the index behind it. */
  #link(bytes: Uint8Array, index: number): number {
    const [feature, bin] = [bytes[2 * index], bytes[2 * index + 1]];
    if (feature === undefined || bin === undefined) throw new Error("forest table: a tree is cut short");
    if (feature !== leafMark && feature >= this.#bins.length)
      throw new Error("forest table: no such feature");
    const right = feature === leafMark ? index : this.#link(bytes, index + 1);
    if (right - index > 255) throw new Error("forest table: a tree is too large");
    this.#nodes[index] = (feature << 16) | (bin << 8) | (right - index);
    return feature === leafMark ? index + 1 : this.#link(bytes, right);
  }

  predict(features: readonly number[]): number {
    const [nodes, bins, roots] = [this.#nodes, this.#bins, this.#roots];
    for (const [feature, thresholds] of this.#thresholds.entries()) {
      bins[feature] = binOf(thresholds, features[feature] ?? 0);
    }
    let sum = 0;
    for (let tree = 0; tree < roots.length; tree++) {
      let index = roots[tree] ?? 0;
      let node = nodes[index] ?? 0;
      while (node < leafMark << 16) {
        index += (bins[node >> 16] ?? 0) <= ((node >> 8) & 255) ? 1 : node & 255;
        node = nodes[index] ?? 0;
      }
      sum += ((node >> 8) & 255) - 128;
    }
    return this.#base + sum * this.#step;
  }
}

function nodeBytes({ nodes, deflated = false }: PackedForest): Buffer {
  const bytes = Buffer.from(nodes, "base64");
  return deflated ? inflateRawSync(bytes, { maxOutputLength: mostBytes }) : bytes;
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
