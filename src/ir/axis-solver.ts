/** @file The solver of axis relations: makes atoms, merges, joins and takes apart, and equates. */
import {
  Atom,
  type Axis,
  atomsOf,
  factorsOf,
  hasAtom,
  type ProductAxis,
  partsOf,
  resolveAxis,
  sizeOfAxis,
} from "./axis.ts";

/** Compounds larger than this are blocked rather than followed: real networks stay far below. */
const maxLeaves = 4096;

/** What is still to be made one where two axes have met so far. */
type Rest = readonly [Axis, Axis];

/** Makes atoms, and equates axes. One for each graph that is solved. */
export class AxisSolver {
  readonly atoms: Atom[] = [];

  atom(size: number, blocked?: string): Axis {
    const atom = new Atom(this.atoms.length, size, blocked ?? (size === 1 ? "a single element" : undefined));
    this.atoms.push(atom);
    return { kind: "atom", atom };
  }

  /** One that is padded only where somebody puts a Slice or a Pad. */
  heldAtom(size: number, reason: string): Axis {
    const axis = this.atom(size);
    this.hold(axis, reason);
    return axis;
  }

  /** A row-major merge. Single elements vanish in it. */
  product(factors: readonly Axis[]): Axis {
    const flat = factors.flatMap((factor) => factorsOf(factor)).filter((factor) => sizeOfAxis(factor) !== 1);
    const [only] = flat;
    if (only === undefined) return this.atom(1);
    return flat.length === 1 ? only : { kind: "product", factors: flat };
  }

  /** A concatenation. */
  sum(parts: readonly Axis[]): Axis {
    const flat = parts.flatMap((part) => partsOf(part)).filter((part) => sizeOfAxis(part) !== 0);
    const [only] = flat;
    if (only === undefined) return this.atom(0, "no elements");
    if (flat.length > Math.max(maxLeaves, this.atoms.length)) return this.#unfollowed(flat);
    return flat.length === 1 ? only : { kind: "sum", parts: flat };
  }

  /** A value that is concatenated with itself, again and again, has more parts than there are atoms to make them. */
  #unfollowed(parts: readonly Axis[]): Axis {
    const reason = `is one of ${parts.length.toLocaleString("en-US")} parts of an axis, most of them the same`;
    for (const part of new Set(parts)) this.block(part, reason);
    return this.atom(
      parts.reduce((total, part) => total + sizeOfAxis(part), 0),
      reason,
    );
  }

  /** Forbids padding everywhere in an axis. The first reason stays; what only holds an axis is none. */
  block(axis: Axis, reason: string): void {
    for (const atom of atomsOf(axis)) atom.blocked ??= reason;
  }

  /** Leaves padding of an axis to whoever puts Slices and Pads. The first reason stays. */
  hold(axis: Axis, reason: string): void {
    for (const atom of atomsOf(axis)) atom.held ??= reason;
  }

  /** An axis that a part of `atom` comes to be. */
  #partOf(atom: Atom, size: number): Axis {
    const part = this.atom(size, atom.blocked);
    if (atom.held !== undefined) this.hold(part, atom.held);
    return part;
  }

  /** Makes two axes one. Where their structures cannot meet, both are blocked for `reason`. */
  unify(a: Axis, b: Axis, reason: string): void {
    let rest: Rest | undefined = [a, b];
    while (rest !== undefined) {
      const [first, second]: Rest = rest;
      const met = this.#meet(resolveAxis(first), resolveAxis(second), reason);
      rest = typeof met === "boolean" ? undefined : met;
      if (met !== false) continue;
      this.block(first, reason);
      this.block(second, reason);
    }
  }

  /** Cuts an axis after its first `size` elements; undefined where no cut falls there. */
  cut(axis: Axis, size: number): readonly [Axis, Axis] | undefined {
    const whole = resolveAxis(axis);
    const rest = sizeOfAxis(whole) - size;
    if (size <= 0 || rest <= 0) return undefined;
    if (whole.kind === "atom") {
      const [first, second] = this.#bindSum(whole.atom, [size, rest]);
      return first && second && [first, second];
    }
    return whole.kind === "sum" ? this.#cutSum(whole.parts, size) : this.#cutProduct(whole.factors, size);
  }

  /** Cuts an axis into parts of `sizes`; undefined where one of the cuts does not fall. */
  cutAll(axis: Axis, sizes: readonly number[]): readonly Axis[] | undefined {
    if (sizes.reduce((total, size) => total + size, 0) !== sizeOfAxis(axis)) return undefined;
    if (sizes.some((size) => size <= 0)) return undefined;
    const whole = resolveAxis(axis);
    if (whole.kind === "atom" && sizes.length > 1) return this.#bindSum(whole.atom, sizes);
    // What is left of the axis, the next part last.
    const left = partsOf(whole).toReversed();
    const found: Axis[] = [];
    for (const size of sizes) {
      const part = this.#take(left, size);
      if (part === undefined) return undefined;
      found.push(part);
    }
    return found;
  }

  /** Takes `size` elements from the end of `left`, where the parts of an axis are in reverse. */
  #take(left: Axis[], size: number): Axis | undefined {
    const taken: Axis[] = [];
    for (let missing = size; missing > 0; ) {
      const part = left.pop();
      if (part === undefined) return undefined;
      const here = sizeOfAxis(part);
      const halves = here <= missing ? undefined : this.cut(part, missing);
      if (here > missing && halves === undefined) return undefined;
      taken.push(halves?.[0] ?? part);
      if (halves !== undefined) for (const rest of partsOf(halves[1]).toReversed()) left.push(rest);
      missing -= Math.min(here, missing);
    }
    return this.sum(taken);
  }

  /** Splits an axis into `outer` × the rest; undefined where it does not come apart so. */
  split(axis: Axis, outer: number): readonly [Axis, Axis] | undefined {
    const whole = resolveAxis(axis);
    const size = sizeOfAxis(whole);
    if (outer <= 0 || size % outer !== 0) return undefined;
    if (outer === 1) return [this.atom(1), whole];
    if (outer === size) return [whole, this.atom(1)];
    if (whole.kind === "atom") return this.#bindProduct(whole.atom, outer, size / outer);
    if (whole.kind === "sum") return this.#splitSum(whole.parts, outer);
    return this.#splitFactors(whole.factors, outer);
  }

  #bindProduct(atom: Atom, outer: number, inner: number): readonly [Axis, Axis] {
    const parts = [this.#partOf(atom, outer), this.#partOf(atom, inner)] as const;
    atom.bindTo({ kind: "product", factors: parts });
    return parts;
  }

  #bindSum(atom: Atom, sizes: readonly number[]): readonly Axis[] {
    const parts = sizes.map((size) => this.#partOf(atom, size));
    atom.bindTo({ kind: "sum", parts });
    return parts;
  }

  /** a × c + b × c = (a + b) × c, when the inner factors can be the same. */
  #splitSum(parts: readonly Axis[], outer: number): readonly [Axis, Axis] | undefined {
    const total = parts.reduce((size, part) => size + sizeOfAxis(part), 0);
    const step = total / outer;
    if (parts.some((part) => sizeOfAxis(part) % step !== 0)) return undefined;
    const halves: (readonly [Axis, Axis])[] = [];
    for (const part of parts) {
      const apart = this.split(part, sizeOfAxis(part) / step);
      if (apart === undefined) return undefined;
      halves.push(apart);
    }
    const [first, ...more] = halves;
    if (first === undefined) return undefined;
    for (const [, inner] of more)
      this.unify(first[1], inner, "parts of a concatenation that is taken apart as a product");
    const counts = halves.map(([count]) => count);
    const isCount = counts.every((count) => sizeOfAxis(count) === 1);
    const whole = isCount ? this.atom(outer, "counts the parts of a concatenation") : this.sum(counts);
    return [whole, resolveAxis(first[1])];
  }

  #splitFactors(factors: readonly Axis[], outer: number): readonly [Axis, Axis] | undefined {
    const before: Axis[] = [];
    let left = outer;
    for (const [index, factor] of factors.entries()) {
      const size = sizeOfAxis(factor);
      if (left === 1) return [this.product(before), this.product(factors.slice(index))];
      if (left % size === 0) {
        before.push(factor);
        left /= size;
        continue;
      }
      const halves = size % left === 0 ? this.split(factor, left) : undefined;
      if (halves === undefined) return undefined;
      return [this.product([...before, halves[0]]), this.product([halves[1], ...factors.slice(index + 1)])];
    }
    return undefined;
  }

  #cutSum(parts: readonly Axis[], size: number): readonly [Axis, Axis] | undefined {
    const before: Axis[] = [];
    let left = size;
    for (const [index, part] of parts.entries()) {
      if (left === 0) return [this.sum(before), this.sum(parts.slice(index))];
      const here = sizeOfAxis(part);
      if (here <= left) {
        before.push(part);
        left -= here;
        continue;
      }
      const halves = this.cut(part, left);
      if (halves === undefined) return undefined;
      return [this.sum([...before, halves[0]]), this.sum([halves[1], ...parts.slice(index + 1)])];
    }
    return undefined;
  }

  /** (a + b) × c = a × c + b × c. */
  #cutProduct(factors: readonly Axis[], size: number): readonly [Axis, Axis] | undefined {
    const [outer, ...inner] = factors;
    const rest = this.product(inner);
    const step = sizeOfAxis(rest);
    if (outer === undefined || size % step !== 0) return undefined;
    const halves = this.cut(outer, size / step);
    return halves === undefined
      ? undefined
      : [this.product([halves[0], rest]), this.product([halves[1], rest])];
  }

  #meet(a: Axis, b: Axis, reason: string): boolean | Rest {
    if (a.kind === "atom" && b.kind === "atom" && a.atom === b.atom) return true;
    if (sizeOfAxis(a) !== sizeOfAxis(b)) return false;
    if (a.kind === "atom") return this.#bind(a.atom, b);
    if (b.kind === "atom") return this.#bind(b.atom, a);
    if (a.kind === "product" && b.kind === "product")
      return this.#meetParts(a.factors, b.factors, reason, (axis, size) => this.split(axis, size));
    if (a.kind === "sum" && b.kind === "sum")
      return this.#meetParts(a.parts, b.parts, reason, (axis, size) => this.cut(axis, size));
    const [sum, product] = a.kind === "sum" ? [a, b] : [b, a];
    if (sum.kind !== "sum" || product.kind !== "product") return false;
    return this.#meetMixed(sum.parts, product, reason);
  }

  #bind(atom: Atom, axis: Axis): boolean {
    if (hasAtom(axis, atom) || atomsOf(axis).length > maxLeaves) return false;
    if (atom.blocked !== undefined) this.block(axis, atom.blocked);
    else if (atom.held !== undefined) this.hold(axis, atom.held);
    atom.bindTo(axis);
    return true;
  }

  /** Parts in order against parts in order; `divide` cuts the larger of two at the size of the smaller. */
  #meetParts(
    f: readonly Axis[],
    g: readonly Axis[],
    reason: string,
    divide: (axis: Axis, size: number) => readonly [Axis, Axis] | undefined,
  ): boolean {
    let [left, right] = [new Front(f), new Front(g)];
    for (;;) {
      const [first, second] = [left.first, right.first];
      if (first === undefined || second === undefined) return first === second;
      const isLess = sizeOfAxis(first) < sizeOfAxis(second);
      if (isLess) [left, right] = [right, left];
      const [large, small] = isLess ? [second, first] : [first, second];
      const size = sizeOfAxis(small);
      const halves = sizeOfAxis(large) === size ? undefined : divide(large, size);
      if (halves === undefined && sizeOfAxis(large) !== size) return false;
      this.unify(halves?.[0] ?? large, small, reason);
      left.advance(halves?.[1]);
      right.advance(undefined);
    }
  }

  /** A concatenation against a merge: as equal parts, else cut where the concatenation is. */
  #meetMixed(parts: readonly Axis[], product: ProductAxis, reason: string): boolean | Rest {
    const [outer] = product.factors;
    const halves = outer === undefined ? undefined : this.#splitSum(parts, sizeOfAxis(outer));
    if (halves !== undefined && outer !== undefined) {
      this.unify(halves[0], outer, reason);
      return [halves[1], this.product(product.factors.slice(1))];
    }
    const [first, ...rest] = parts;
    if (first === undefined) return false;
    const pieces = this.cut(product, sizeOfAxis(first));
    if (pieces === undefined) return false;
    this.unify(first, pieces[0], reason);
    return [this.sum(rest), pieces[1]];
  }
}

/** Axes one after the other, of which the first may be what is left of one. */
class Front {
  first: Axis | undefined;
  readonly #axes: readonly Axis[];
  #at = 0;

  constructor(axes: readonly Axis[]) {
    this.#axes = axes;
    this.first = axes[0];
  }

  /** To what is left of the first, else to the next. */
  advance(left: Axis | undefined): void {
    this.first = left ?? this.#axes[++this.#at];
  }
}
