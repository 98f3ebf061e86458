/**
 * @file Axes as expressions over atoms: what zero-padding of one axis means for every other.
 *
 * An atom is an axis that nothing takes apart; it may be padded at its end. A product is a row-major merge of axes
 * (Reshape: heads × head_dim), a sum a concatenation. Axes that must agree are unified: an atom bound to an expression
 * is that expression from then on. What cannot be unified is blocked: its atoms keep their true size, for a reason.
 */

export class Atom {
  readonly id: number;
  /** True size. */
  readonly size: number;
  /** Why it must not be padded; undefined while it may. */
  blocked: string | undefined;
  /** Set once the atom is known to be a compound. */
  binding: Axis | undefined;

  constructor(id: number, size: number, blocked: string | undefined) {
    this.id = id;
    this.size = size;
    this.blocked = blocked;
  }
}

export type Axis =
  | { readonly kind: "atom"; readonly atom: Atom }
  /** Row-major: the last factor is the fastest. */
  | { readonly kind: "product"; readonly factors: readonly Axis[] }
  | { readonly kind: "sum"; readonly parts: readonly Axis[] };

/** Padded sizes of atoms; an atom without an entry keeps its true size. */
export type PaddedSizes = ReadonlyMap<Atom, number>;

/** The axis with bindings followed at its top, and nested products and sums of one kind flattened. */
export function resolveAxis(axis: Axis): Axis {
  if (axis.kind === "atom") return axis.atom.binding === undefined ? axis : resolveAxis(axis.atom.binding);
  if (axis.kind === "product")
    return { kind: "product", factors: axis.factors.flatMap((factor) => factorsOf(factor)) };
  return { kind: "sum", parts: axis.parts.flatMap((part) => partsOf(part)) };
}

/** The factors of a product; any other axis is its own only factor. */
export function factorsOf(axis: Axis): readonly Axis[] {
  const whole = resolveAxis(axis);
  return whole.kind === "product" ? whole.factors : [whole];
}

/** The parts of a concatenation; any other axis is its own only part. */
export function partsOf(axis: Axis): readonly Axis[] {
  const whole = resolveAxis(axis);
  return whole.kind === "sum" ? whole.parts : [whole];
}

/** True size. */
export function sizeOfAxis(axis: Axis): number {
  if (axis.kind === "atom") return axis.atom.size;
  const inner = axis.kind === "product" ? axis.factors : axis.parts;
  return inner.reduce(
    (size, each) => (axis.kind === "product" ? size * sizeOfAxis(each) : size + sizeOfAxis(each)),
    axis.kind === "product" ? 1 : 0,
  );
}

/** Unbound atoms of an axis, in order, each once. */
export function atomsOf(axis: Axis): Atom[] {
  const found = new Set<Atom>();
  collect(axis, found);
  return [...found];
}

function collect(axis: Axis, into: Set<Atom>): void {
  if (axis.kind === "atom") {
    if (axis.atom.binding === undefined) into.add(axis.atom);
    else collect(axis.atom.binding, into);
    return;
  }
  for (const inner of axis.kind === "product" ? axis.factors : axis.parts) collect(inner, into);
}

/** Size once atoms are padded. */
export function paddedSize(axis: Axis, sizes: PaddedSizes): number {
  const whole = resolveAxis(axis);
  if (whole.kind === "atom") return sizes.get(whole.atom) ?? whole.atom.size;
  if (whole.kind === "product")
    return whole.factors.reduce((size, factor) => size * paddedSize(factor, sizes), 1);
  return whole.parts.reduce((size, part) => size + paddedSize(part, sizes), 0);
}

/** For every padded index the true index, or -1 in a padded lane. Length is `paddedSize`. */
export function indexMap(axis: Axis, sizes: PaddedSizes): Int32Array {
  const whole = resolveAxis(axis);
  const map = new Int32Array(paddedSize(whole, sizes));
  if (whole.kind === "atom") {
    for (let i = 0; i < map.length; i++) map[i] = i < whole.atom.size ? i : -1;
    return map;
  }
  if (whole.kind === "sum") {
    let [at, before] = [0, 0];
    for (const part of whole.parts) {
      for (const index of indexMap(part, sizes)) map[at++] = index < 0 ? -1 : before + index;
      before += sizeOfAxis(part);
    }
    return map;
  }
  const [outer, ...inner] = whole.factors;
  if (outer === undefined) return Int32Array.of(0);
  const rest: Axis = { kind: "product", factors: inner };
  const [high, low, step] = [indexMap(outer, sizes), indexMap(rest, sizes), sizeOfAxis(rest)];
  let at = 0;
  for (const i of high) for (const j of low) map[at++] = i < 0 || j < 0 ? -1 : i * step + j;
  return map;
}
