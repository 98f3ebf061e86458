/**
 * @file What folding may add to a file: nothing to speak of.
 *
 * A constant of at most `smallBytes` takes about what the node takes that computed it. Larger ones have to make room for
 * themselves: those that hang together by large tensors take no more than the stored ones among these that nobody needs
 * then. Where all that do not would together add at most `smallShare` of what the model stores, they are let pass; else
 * none is, and an Expand of one number, or one weight in several orders, is still computed.
 */
import { DisjointSets } from "../../ir/disjoint-sets.ts";
import { bytesOf } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import type { Known } from "./contents.ts";
import type { Draft } from "./draft.ts";

const smallBytes = 128;
const smallShare = 0.01;

/** A node whose outputs are all known, by their names. */
export interface Candidate {
  readonly node: Node;
  readonly values: ReadonlyMap<string, Known>;
}

/** Large constants are given up one layer at a time; after so many layers, all that hang together at once. */
const maxLayers = 8;

/** Those that can go without the file growing. */
export function withinBound(draft: Draft, candidates: readonly Candidate[]): readonly Candidate[] {
  if (new Growth(draft, candidates).total <= smallShare * storedBytes(draft)) return candidates;
  let left = candidates;
  for (let layer = 1; ; layer++) {
    const growth = new Growth(draft, left);
    const kept = left.filter((candidate) => !growth.isCausedBy(candidate, layer > maxLayers));
    if (kept.length === left.length) return kept;
    left = kept;
  }
}

/** Bytes that large constants add, by the tensors that they hang together with. */
class Growth {
  readonly #draft: Draft;
  readonly #nodes: ReadonlySet<Node>;
  /** Union-find over names. */
  readonly #groups = new DisjointSets<string>();
  /** By representative. */
  readonly #bytes = new Map<string, number>();

  constructor(draft: Draft, candidates: readonly Candidate[]) {
    this.#draft = draft;
    this.#nodes = new Set(candidates.map(({ node }) => node));
    const sizes = new Map<string, number>();
    for (const { values } of candidates) for (const [name, known] of values) sizes.set(name, sizeOf(known));
    const stored = new Map<string, number>();
    for (const candidate of candidates) this.#join(candidate, sizes, stored);
    for (const [name, size] of sizes) if (this.#isWritten(name)) this.#add(name, size);
    for (const [name, size] of stored) if (!this.#isWritten(name)) this.#add(name, -size);
  }

  /** What those add that take more than they free. */
  get total(): number {
    let total = 0;
    for (const bytes of this.#bytes.values()) total += Math.max(bytes, 0);
    return total;
  }

  /** Whether a large constant that the node leaves behind is among those that make the file grow. */
  isCausedBy({ values }: Candidate, isForAll: boolean): boolean {
    return [...values].some(
      ([name, known]) =>
        sizeOf(known) > smallBytes &&
        (isForAll || this.#isWritten(name)) &&
        (this.#bytes.get(this.#groups.rootOf(name)) ?? 0) > 0,
    );
  }

  #join({ node, values }: Candidate, sizes: ReadonlyMap<string, number>, stored: Map<string, number>): void {
    const [first = "", ...others] = values.keys();
    for (const name of others) this.#groups.join(first, name);
    for (const name of this.#draft.inputsOf(node)) {
      const size = sizes.get(name) ?? this.#draft.storedOf(name)?.bytes.size ?? 0;
      if (size <= smallBytes) continue;
      this.#groups.join(first, name);
      if (!sizes.has(name)) stored.set(name, size);
    }
  }

  #add(name: string, bytes: number): void {
    if (Math.abs(bytes) <= smallBytes) return;
    const root = this.#groups.rootOf(name);
    this.#bytes.set(root, (this.#bytes.get(root) ?? 0) + bytes);
  }

  /** Whether somebody who stays needs it. */
  #isWritten(name: string): boolean {
    if (!this.#draft.isFree(name)) return true;
    for (const reader of this.#draft.readersOf(name)) if (!this.#nodes.has(reader)) return true;
    return false;
  }
}

function sizeOf({ dtype, numbers }: Known): number {
  return bytesOf(dtype, numbers.length);
}

/** Of the model's initializers, by their dims. */
function storedBytes({ graph }: Draft): number {
  let bytes = 0;
  for (const { initializer } of graph.values.values()) {
    if (initializer?.dtype === undefined) continue;
    bytes += bytesOf(
      initializer.dtype,
      initializer.dims.reduce((total, dim) => total * dim, 1),
    );
  }
  return bytes;
}
