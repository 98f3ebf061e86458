/** @file Boosted regression trees as a compact table: two bytes a node, in preorder. */

import { Buffer } from "node:buffer";
import { inflateRawSync } from "node:zlib";

/** Nodes as they are walked. */
export interface Linked {
  /** Feature, bin and distance of the right child, 0 for a leaf: one load a step. */
  readonly nodes: Int32Array;
  /** Of each tree, in order. */
  readonly roots: Int32Array;
}

export interface LinkedNodes {
  readonly read: () => Linked;
}

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
  /**
   * Feature (255: leaf), then bin (or leaf value): a row whose bin is at most that goes left, to the next node. In the program that is
   * built, what reads them as they were linked.
   */
  readonly nodes: string | LinkedNodes;
  /** `nodes` were deflated (RFC 1951) before they became base64. */
  readonly deflated?: boolean | undefined;
}

/** Many times the largest forest: a calibration file of a user's may hold anything. */
const mostBytes = 4_000_000;

const leafMark = 255;
/** Greater than every byte: a leaf never goes to the next node, but stays, by its distance of 0. */
const leafBin = 256;
/** Trees that are walked at once: their loads do not wait for each other. */
const lanes = 4;

/** Of a node's word, from its lowest bit: the distance of the right child, the bin above it, the feature above that. */
const distanceBits = 12;
const featureShift = distanceBits + 8;
const mostDistance = 2 ** distanceBits - 1;

export class Forest {
  readonly #thresholds: readonly Float32Array[];
  readonly #base: number;
  readonly #step: number;
  /** Of trees, filled up to whole groups of `lanes` with the last node, which is a leaf. */
  readonly #roots: Int32Array;
  readonly #nodes: Int32Array;
  /** What the leaves that fill the last group up add. */
  readonly #offset: number;
  /** By feature; `leafBin` for leaves. */
  readonly #bins = new Uint16Array(leafMark + 1).fill(leafBin, leafMark);

  constructor(packed: PackedForest) {
    this.#thresholds = thresholdsOf(packed);
    this.#base = packed.base;
    this.#step = packed.step;
    const { nodes, roots } = linked(packed);
    this.#nodes = nodes;
    const filled = Math.ceil(roots.length / lanes) * lanes;
    this.#roots = new Int32Array(filled).fill(nodes.length - 1);
    this.#roots.set(roots);
    const fill = leafValue(nodes.at(-1) ?? 0);
    this.#offset = 128 * roots.length + fill * (filled - roots.length);
  }

  predict(features: readonly number[]): number {
    const thresholds = this.#thresholds;
    for (let feature = 0; feature < thresholds.length; feature++) {
      const own = thresholds[feature];
      if (own !== undefined) this.#bins[feature] = binOf(own, features[feature] ?? 0);
    }
    return this.#base + (this.#sum() - this.#offset) * this.#step;
  }

  /** Of all leaves, as bytes. No step of a walk depends on a comparison that the CPU would have to guess, but whether it is the last of its group. */
  #sum(): number {
    const [nodes, bins, roots] = [this.#nodes, this.#bins, this.#roots];
    let sum = 0;
    for (let tree = 0; tree < roots.length; tree += lanes) {
      let a = roots[tree] ?? 0;
      let b = roots[tree + 1] ?? 0;
      let c = roots[tree + 2] ?? 0;
      let d = roots[tree + 3] ?? 0;
      for (let moved = 1; moved !== 0; ) {
        const ofA = strideOf(nodes[a] ?? 0, bins);
        const ofB = strideOf(nodes[b] ?? 0, bins);
        const ofC = strideOf(nodes[c] ?? 0, bins);
        const ofD = strideOf(nodes[d] ?? 0, bins);
        a += ofA;
        b += ofB;
        c += ofC;
        d += ofD;
        moved = ofA | ofB | ofC | ofD;
      }
      sum += leafValue(nodes[a] ?? 0) + leafValue(nodes[b] ?? 0);
      sum += leafValue(nodes[c] ?? 0) + leafValue(nodes[d] ?? 0);
    }
    return sum;
  }
}

/** How far the next node on a walk is: 1 to the left, where the bin is at most the node's, and the node's distance to the right. */
function strideOf(node: number, bins: Uint16Array): number {
  const isRight = (((node >> distanceBits) & 255) - (bins[node >> featureShift] ?? 0)) >> 31;
  return 1 + (((node & mostDistance) - 1) & isRight);
}

function leafValue(node: number): number {
  return (node >> distanceBits) & 255;
}

/** Throws where they are not those of as many whole trees. */
export function linked(packed: PackedForest): Linked {
  if (typeof packed.nodes !== "string") return packed.nodes.read();
  const bytes = nodeBytes(packed.nodes, packed.deflated === true);
  const nodes = new Int32Array(bytes.length >> 1);
  const roots = link(nodes, bytes, packed.counts.length);
  if (roots.length < packed.trees) throw new Error("forest table: a tree is cut short");
  if (roots.length > packed.trees) throw new Error("forest table: trees and nodes do not match");
  return { nodes, roots };
}

/** Writes nodes, from the last one on: what follows a node is then known. Returns the roots. */
function link(nodes: Int32Array, bytes: Uint8Array, features: number): Int32Array {
  if (bytes.length !== 2 * nodes.length) throw new Error("forest table: a tree is cut short");
  // Roots of whole trees behind a node, the nearest last: at most one in two nodes.
  const roots = new Int32Array(nodes.length);
  let count = 0;
  for (let index = nodes.length - 1; index >= 0; index--) {
    const feature = bytes[2 * index] ?? 0;
    let distance = 0;
    if (feature !== leafMark) {
      if (feature >= features) throw new Error("forest table: no such feature");
      if (count < 2) throw new Error("forest table: a tree is cut short");
      distance = (roots[count - 2] ?? 0) - index;
      count -= 2;
      if (distance > mostDistance) throw new Error("forest table: a tree is too large");
    }
    nodes[index] = (feature << featureShift) | ((bytes[2 * index + 1] ?? 0) << distanceBits) | distance;
    roots[count++] = index;
  }
  return roots.slice(0, count);
}

function nodeBytes(nodes: string, deflated: boolean): Buffer {
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
  let low = 0;
  let high = thresholds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((thresholds[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
