/** @file Padded sizes while they are being chosen, and the sizes of axes, which follow them atom by atom. */
import {
  type Atom,
  type Axis,
  atomsOf,
  type PaddedSizes,
  paddedSize,
  partsOf,
  resolveAxis,
} from "../../ir/axis.ts";
import { push } from "../../ir/group.ts";

/** Is told when an axis that it follows has changed. */
export interface Follower {
  refresh(): void;
}

/** An axis with its padded size at any time. */
export interface LiveAxis {
  readonly size: number;
  readonly followers: Follower[];
}

/** What an atom is to an axis: so many parts of a concatenation are the atom itself, the others only contain it. */
interface Share {
  readonly axis: { size: number; readonly followers: Follower[] };
  readonly plain: number;
  readonly compound: readonly Axis[];
}

const noShares: readonly Share[] = [];
const noAxes: readonly Axis[] = [];

/**
 * A change of one atom costs what depends on that atom, not what it is concatenated with. Relations must have been
 * solved: no axis is taken apart any more.
 */
export class LiveSizes {
  #sizes = new Map<Atom, number>();
  readonly #axes = new Map<Atom | Axis, LiveAxis>();
  readonly #shares = new Map<Atom, Share[]>();

  /** Atoms that are padded, in the order in which they came to be. */
  get sizes(): PaddedSizes {
    return this.#sizes;
  }

  sizeOf(atom: Atom): number {
    return this.#sizes.get(atom) ?? atom.size;
  }

  set(atom: Atom, size: number): void {
    const before = this.sizeOf(atom);
    if (before === size) return;
    const shares = this.#shares.get(atom) ?? noShares;
    for (const { axis, plain, compound } of shares)
      axis.size += plain * (size - before) - this.#sizeOfAll(compound);
    if (size === atom.size) this.#sizes.delete(atom);
    else this.#sizes.set(atom, size);
    for (const { axis, compound } of shares) axis.size += this.#sizeOfAll(compound);
    for (const { axis } of shares) for (const follower of axis.followers) follower.refresh();
  }

  /** Takes over `sizes`, and their order. */
  assign(sizes: PaddedSizes): void {
    for (const atom of [...this.#sizes.keys()]) if (!sizes.has(atom)) this.set(atom, atom.size);
    for (const [atom, size] of sizes) this.set(atom, size);
    this.#sizes = new Map(sizes);
  }

  axis(axis: Axis): LiveAxis {
    const whole = resolveAxis(axis);
    const key = whole.kind === "atom" ? whole.atom : whole;
    const known = this.#axes.get(key);
    if (known !== undefined) return known;
    const live = { size: paddedSize(whole, this.#sizes), followers: [] };
    this.#axes.set(key, live);
    if (whole.kind === "atom") {
      push(this.#shares, whole.atom, { axis: live, plain: 1, compound: noAxes });
      return live;
    }
    const parts = new Map<Atom, Axis[]>();
    for (const part of partsOf(whole)) for (const atom of atomsOf(part)) push(parts, atom, part);
    for (const [atom, own] of parts) {
      const compound = own.filter(({ kind }) => kind !== "atom");
      push(this.#shares, atom, { axis: live, plain: own.length - compound.length, compound });
    }
    return live;
  }

  #sizeOfAll(axes: readonly Axis[]): number {
    let total = 0;
    for (const axis of axes) total += paddedSize(axis, this.#sizes);
    return total;
  }
}
