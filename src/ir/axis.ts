/**
 * @file Axes as expressions over atoms: what zero-padding of one axis means for every other.
 *
 * An atom is an axis that nothing takes apart; it may be padded at its end. A product is a row-major merge of axes
 * (Reshape: heads × head_dim), a sum a concatenation. Axes that must agree are unified: an atom bound to an expression
 * is that expression from then on. What cannot be unified is blocked: its atoms keep their true size, for a reason.
 */

export class Atom {
  /** Bindings made so far, of all atoms: what was worked out before the last of them is worked out anew. */
  static #bindings = 0;
  readonly id: number;
  /** True size. */
  readonly size: number;
  /** Why it must not be padded; undefined while it may. */
  blocked: string | undefined;
  /**
   * Why it must not be padded without more: what reads it needs its true size, or gives it, and can have that from a Slice in front and a
   * Pad behind. Of what is blocked it does not matter.
   */
  held: string | undefined;
  #binding: Axis | undefined;
  /** The atoms of an axis that is this one: asked for at every node, so made once. */
  readonly alone: readonly Atom[] = [this];

  constructor(id: number, size: number, blocked: string | undefined) {
    this.id = id;
    this.size = size;
    this.blocked = blocked;
  }

  /** Set once the atom is known to be something else. */
  get binding(): Axis | undefined {
    return this.#binding;
  }

  bindTo(axis: Axis): void {
    this.#binding = axis;
    Atom.#bindings++;
  }

  /** Follows a chain of bindings to its end, and shortens it: long ones arise where many operands share one axis. */
  end(): Axis | undefined {
    let end = this.#binding;
    while (end?.kind === "atom" && end.atom.#binding !== undefined) end = end.atom.#binding;
    let next = this.#binding;
    for (let atom: Atom = this; next !== end && next?.kind === "atom"; ) {
      atom.#binding = end;
      atom = next.atom;
      next = atom.#binding;
    }
    return end;
  }

  static get bindings(): number {
    return Atom.#bindings;
  }
}

export interface AtomAxis {
  readonly kind: "atom";
  readonly atom: Atom;
}

/** Row-major: the last factor is the fastest. */
export interface ProductAxis {
  readonly kind: "product";
  readonly factors: readonly Axis[];
  known?: Known;
}

export interface SumAxis {
  readonly kind: "sum";
  readonly parts: readonly Axis[];
  known?: Known;
}

export type Axis = AtomAxis | ProductAxis | SumAxis;

/** What is worked out of a compound once: it is asked for at every node that touches the axis. */
interface Known {
  /** True size, which no binding changes. */
  readonly size: number;
  /** The number of bindings that the rest holds for. */
  bindings: number;
  whole: Axis | undefined;
  atoms: readonly Atom[] | undefined;
  members: ReadonlySet<Atom> | undefined;
}

/** Padded sizes of atoms; an atom without an entry keeps its true size. */
export type PaddedSizes = ReadonlyMap<Atom, number>;

/** The axis with bindings followed at its top, and nested products and sums of one kind flattened. */
export function resolveAxis(axis: Axis): Axis {
  const top = axis.kind === "atom" ? (axis.atom.end() ?? axis) : axis;
  if (top.kind === "atom") return top;
  const known = knownOf(top);
  known.whole ??= flattened(top, known.size);
  return known.whole;
}

function flattened(axis: ProductAxis | SumAxis, size: number): Axis {
  const inner = innerOf(axis);
  const flat = flatten(inner, axis.kind);
  if (flat.length === inner.length && flat.every((each, at) => each === inner[at])) return axis;
  const whole: Axis =
    axis.kind === "product" ? { kind: "product", factors: flat } : { kind: "sum", parts: flat };
  whole.known = { ...unknown, size, bindings: Atom.bindings, whole };
  return whole;
}

/** Nesting is as deep as cuts of cuts are: no recursion. */
function flatten(axes: readonly Axis[], kind: "product" | "sum"): Axis[] {
  const flat: Axis[] = [];
  const pending = axes.toReversed();
  for (let axis = pending.pop(); axis !== undefined; axis = pending.pop()) {
    const top = axis.kind === "atom" ? (axis.atom.end() ?? axis) : axis;
    if (top.kind !== kind) {
      flat.push(top.kind === "atom" ? top : resolveAxis(top));
      continue;
    }
    const inner = innerOf(top);
    for (let at = inner.length - 1; at >= 0; at--) {
      const each = inner[at];
      if (each !== undefined) pending.push(each);
    }
  }
  return flat;
}

function innerOf(axis: ProductAxis | SumAxis): readonly Axis[] {
  return axis.kind === "product" ? axis.factors : axis.parts;
}

const unknown = { whole: undefined, atoms: undefined, members: undefined } as const;

function knownOf(axis: ProductAxis | SumAxis): Known {
  const { known } = axis;
  const bindings = Atom.bindings;
  if (known?.bindings === bindings) return known;
  const size = known?.size ?? sizeOfCompound(axis);
  const fresh: Known = { ...unknown, size, bindings };
  axis.known = fresh;
  return fresh;
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
  return axis.kind === "atom" ? axis.atom.size : (axis.known?.size ?? knownOf(axis).size);
}

function sizeOfCompound(axis: ProductAxis | SumAxis): number {
  return axis.kind === "product"
    ? axis.factors.reduce((size, each) => size * sizeOfAxis(each), 1)
    : axis.parts.reduce((size, each) => size + sizeOfAxis(each), 0);
}

/** Unbound atoms of an axis, in order, each once. */
export function atomsOf(axis: Axis): readonly Atom[] {
  const whole = resolveAxis(axis);
  if (whole.kind === "atom") return whole.atom.alone;
  const known = knownOf(whole);
  known.atoms ??= [...new Set(innerOf(whole).flatMap(atomsOf))];
  return known.atoms;
}

/** Whether the axis has an unbound atom. */
export function hasAtom(axis: Axis, atom: Atom): boolean {
  const whole = resolveAxis(axis);
  if (whole.kind === "atom") return whole.atom === atom;
  const known = knownOf(whole);
  known.members ??= new Set(atomsOf(whole));
  return known.members.has(atom);
}

/** Size once atoms are padded. */
export function paddedSize(axis: Axis, sizes: PaddedSizes): number {
  if (sizes.size === 0) return sizeOfAxis(axis);
  const whole = resolveAxis(axis);
  if (whole.kind === "atom") return sizes.get(whole.atom) ?? whole.atom.size;
  let size = whole.kind === "product" ? 1 : 0;
  for (const each of innerOf(whole)) {
    const inner = paddedSize(each, sizes);
    size = whole.kind === "product" ? size * inner : size + inner;
  }
  return size;
}

/** Of what one size saves beside what another does: the plainer or smaller one wins, for predictions are no finer than this. */
export const goodEnough = 0.8;
