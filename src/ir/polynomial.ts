/**
 * @file Expressions over named symbols, and their sums and products. `dim.ts` has what the rest of the code imports.
 *
 * Expressions are polynomials with integer coefficients over atoms, kept in one canonical form, so that
 * `2*N`, `N+N` and `N*2` are the same object by `key`. An atom is a symbol the model names (`batch`), an unknown
 * that only running the model would tell (`?7`), or an exact function of dims (floor division, maximum, minimum).
 */

export type Dim = number | SymbolicDim;
export type Shape = readonly Dim[];

export type Atom =
  | { readonly kind: "symbol"; readonly name: string; readonly key: string }
  | { readonly kind: "unknown"; readonly key: string }
  | { readonly kind: "floordiv" | "max" | "min"; readonly args: readonly [Dim, Dim]; readonly key: string };

/** coefficient × product of atoms (an atom repeated is a power). `key` joins the sorted atom keys. */
export interface Term {
  readonly coefficient: number;
  readonly atoms: readonly Atom[];
  readonly key: string;
}

/** Expressions larger than this become unknown: shapes stay small, hostile models do not. */
const maxTerms = 16;
export const maxKeyLength = 400;

export class SymbolicDim {
  /** Canonical text; equal dims have equal keys. */
  readonly key: string;
  /** @internal */
  readonly terms: readonly Term[];

  constructor(terms: readonly Term[]) {
    this.terms = terms;
    this.key = terms.map(termText).join("");
  }

  toString(): string {
    return this.key;
  }
}

/** With the sign that joins it to the terms before: `2*N`, then ` - 1`. */
function termText({ coefficient, key }: Term, index: number): string {
  const size = Math.abs(coefficient);
  const text = key === "" ? String(size) : size === 1 ? key : `${size}*${key}`;
  if (index === 0) return coefficient < 0 ? `-${text}` : text;
  return coefficient < 0 ? ` - ${text}` : ` + ${text}`;
}

/** A symbol by the name the model gives it. */
export function symbol(name: string): SymbolicDim {
  return fromAtom({ kind: "symbol", name, key: name });
}

let unknowns = 0;

/** A size that cannot be known before the model runs; equal only to itself. */
export function unknownDim(): SymbolicDim {
  unknowns += 1;
  return fromAtom({ kind: "unknown", key: `?${unknowns}` });
}

export function fromAtom(atom: Atom): SymbolicDim {
  return new SymbolicDim([{ coefficient: 1, atoms: [atom], key: atom.key }]);
}

export function sameDim(a: Dim, b: Dim): boolean {
  if (typeof a === "number" || typeof b === "number") return a === b;
  return a === b || a.key === b.key;
}

/** Whether the dim depends on something no binding of symbols can tell. */
export function isUnknown(dim: Dim): boolean {
  if (typeof dim === "number") return false;
  return dim.terms.some((term) => term.atoms.some(atomIsUnknown));
}

function atomIsUnknown(atom: Atom): boolean {
  if (atom.kind === "unknown") return true;
  if (atom.kind === "symbol") return false;
  return isUnknown(atom.args[0]) || isUnknown(atom.args[1]);
}

export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return exact(a + b);
  if (a === 0) return b;
  if (b === 0) return a;
  return normalize([...termsOf(a), ...termsOf(b)]);
}

export function subDims(a: Dim, b: Dim): Dim {
  return addDims(a, mulDims(b, -1));
}

export function mulDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return exact(a * b);
  if (a === 0 || b === 0) return 0;
  if (a === 1) return b;
  if (b === 1) return a;
  if (typeof b === "number") return scaled(a, b);
  if (typeof a === "number") return scaled(b, a);
  const left = termsOf(a);
  const right = termsOf(b);
  if (left.length * right.length > maxTerms * maxTerms) return unknownDim();
  return normalize(left.flatMap((x) => right.map((y) => multiplyTerms(x, y))));
}

/** Its terms stay as many, and in their order. */
function scaled(dim: Dim, factor: number): Dim {
  const terms = termsOf(dim).map((term) => ({ ...term, coefficient: term.coefficient * factor }));
  if (!terms.every(({ coefficient }) => Number.isSafeInteger(coefficient))) return unknownDim();
  const result = new SymbolicDim(terms);
  return result.key.length > maxKeyLength ? unknownDim() : result;
}

export function product(dims: readonly Dim[]): Dim {
  // Numbers first: each of them would make another expression.
  let numbers: Dim = 1;
  let open: Dim = 1;
  for (let at = 0; at < dims.length; at++) {
    const dim = dims[at] ?? 1;
    if (typeof dim === "number") numbers = mulDims(numbers, dim);
    else open = mulDims(open, dim);
  }
  return mulDims(open, numbers);
}

function exact(value: number): Dim {
  return Number.isSafeInteger(value) ? value : unknownDim();
}

export function termsOf(dim: Dim): readonly Term[] {
  return typeof dim === "number" ? [{ coefficient: dim, atoms: [], key: "" }] : dim.terms;
}

function multiplyTerms(x: Term, y: Term): Term {
  const atoms = [...x.atoms, ...y.atoms].sort((p, q) => (p.key < q.key ? -1 : p.key > q.key ? 1 : 0));
  return { coefficient: x.coefficient * y.coefficient, atoms, key: atoms.map((atom) => atom.key).join("*") };
}

export function normalize(terms: readonly Term[]): Dim {
  const merged = new Map<string, Term>();
  for (const term of terms) {
    const before = merged.get(term.key);
    const coefficient = term.coefficient + (before?.coefficient ?? 0);
    if (!Number.isSafeInteger(coefficient)) return unknownDim();
    merged.set(term.key, { ...term, coefficient });
  }
  const kept = [...merged.values()].filter((term) => term.coefficient !== 0);
  if (kept.length === 0) return 0;
  const [only] = kept;
  if (kept.length === 1 && only !== undefined && only.key === "") return only.coefficient;
  if (kept.length > maxTerms) return unknownDim();
  // Constants last, else alphabetical: "2*N + 1".
  kept.sort((x, y) => (x.key === "" ? 1 : y.key === "" ? -1 : x.key < y.key ? -1 : 1));
  const dim = new SymbolicDim(kept);
  return dim.key.length > maxKeyLength ? unknownDim() : dim;
}
