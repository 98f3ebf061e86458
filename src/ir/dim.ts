/**
 * @file A dimension: a number, or an expression over named symbols.
 *
 * Expressions are polynomials with integer coefficients over atoms, kept in one canonical form, so that
 * `2*N`, `N+N` and `N*2` are the same object by `key`. An atom is a symbol the model names (`batch`), an unknown
 * that only running the model would tell (`?7`), or an exact function of dims (floor division, maximum, minimum).
 */

export type Dim = number | SymbolicDim;
export type Shape = readonly Dim[];

type Atom =
  | { readonly kind: "symbol"; readonly name: string; readonly key: string }
  | { readonly kind: "unknown"; readonly key: string }
  | { readonly kind: "floordiv" | "max" | "min"; readonly args: readonly [Dim, Dim]; readonly key: string };

/** coefficient × product of atoms (an atom repeated is a power). `key` joins the sorted atom keys. */
interface Term {
  readonly coefficient: number;
  readonly atoms: readonly Atom[];
  readonly key: string;
}

/** Expressions larger than this become unknown: shapes stay small, hostile models do not. */
const maxTerms = 16;
const maxKeyLength = 400;

export class SymbolicDim {
  /** Canonical text; equal dims have equal keys. */
  readonly key: string;
  /** @internal */
  readonly terms: readonly Term[];

  constructor(terms: readonly Term[]) {
    this.terms = terms;
    this.key = terms.map(termText).join(" + ");
  }

  toString(): string {
    return this.key;
  }
}

function termText({ coefficient, key }: Term): string {
  if (key === "") return String(coefficient);
  return coefficient === 1 ? key : `${coefficient}*${key}`;
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

function fromAtom(atom: Atom): SymbolicDim {
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

/** Adds to `into` the names of the symbols that `dim` depends on. */
export function collectSymbols(dim: Dim, into: Set<string>): void {
  if (typeof dim === "number") return;
  for (const term of dim.terms) {
    for (const atom of term.atoms) {
      if (atom.kind === "symbol") into.add(atom.name);
      else if (atom.kind !== "unknown") for (const arg of atom.args) collectSymbols(arg, into);
    }
  }
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
  const left = termsOf(a);
  const right = termsOf(b);
  if (left.length * right.length > maxTerms * maxTerms) return unknownDim();
  return normalize(left.flatMap((x) => right.map((y) => multiplyTerms(x, y))));
}

export function product(dims: readonly Dim[]): Dim {
  let result: Dim = 1;
  for (const dim of dims) result = mulDims(result, dim);
  return result;
}

/** ⌊a / b⌋; exact division of every term is carried out, anything else stays one opaque atom. Throws on b = 0. */
export function floorDivDims(a: Dim, b: Dim): Dim {
  if (b === 0) throw new RangeError("division of a dimension by zero");
  if (typeof a === "number" && typeof b === "number") return Math.floor(a / b);
  if (b === 1) return a;
  const quotient = divideExactly(a, b);
  if (quotient !== undefined) return quotient;
  return functionOf("floordiv", a, b);
}

/** a / b when b divides a for every value of the symbols, else undefined. */
export function divideExactly(a: Dim, b: Dim): Dim | undefined {
  if (b === 0) return undefined;
  if (a === 0) return 0;
  if (typeof a === "number" && typeof b === "number") return a % b === 0 ? a / b : undefined;
  if (sameDim(a, b)) return 1;
  const [divisor, ...more] = termsOf(b);
  if (divisor === undefined || more.length > 0) return divideSum(a, b);
  const result: Term[] = [];
  for (const term of termsOf(a)) {
    const quotient = divideTerm(term, divisor);
    if (quotient === undefined) return undefined;
    result.push(quotient);
  }
  return normalize(result);
}

/** Division by a sum succeeds where `a` is a number (or a monomial) times that sum. */
function divideSum(a: Dim, b: Dim): Dim | undefined {
  if (typeof a === "number" || typeof b === "number") return undefined;
  const [lead] = a.terms;
  const [leadOfDivisor] = b.terms;
  if (lead === undefined || leadOfDivisor === undefined) return undefined;
  const factor = divideTerm(lead, leadOfDivisor);
  if (factor === undefined) return undefined;
  const candidate = normalize([factor]);
  return sameDim(mulDims(candidate, b), a) ? candidate : undefined;
}

export function ceilDivDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return Math.ceil(a / b);
  return floorDivDims(addDims(a, subDims(b, 1)), b);
}

export function maxDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return Math.max(a, b);
  if (isNonNegative(subDims(a, b))) return a;
  if (isNonNegative(subDims(b, a))) return b;
  return absorbed("max", a, b) ?? functionOf("max", a, b);
}

export function minDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return Math.min(a, b);
  if (isNonNegative(subDims(a, b))) return b;
  if (isNonNegative(subDims(b, a))) return a;
  return absorbed("min", a, b) ?? functionOf("min", a, b);
}

/** Whether the dim is at least 0 for every value of its symbols, which are sizes; false where that is not evident. */
function isNonNegative(dim: Dim): boolean {
  if (typeof dim === "number") return dim >= 0;
  return dim.terms.every((term) => term.coefficient > 0 && term.atoms.every(atomIsNonNegative));
}

function atomIsNonNegative(atom: Atom): boolean {
  // An unknown may stand for an element, and elements may be negative.
  if (atom.kind === "symbol" || atom.kind === "unknown") return atom.kind === "symbol";
  const [a, b] = atom.args;
  return atom.kind === "max" ? isNonNegative(a) || isNonNegative(b) : isNonNegative(a) && isNonNegative(b);
}

/** max(a, min(a, x)) is a, max(a, max(a, x)) is max(a, x), and so with max and min exchanged. */
function absorbed(kind: "max" | "min", a: Dim, b: Dim): Dim | undefined {
  for (const [outer, inner] of [
    [a, b],
    [b, a],
  ] as const) {
    const atom = soleAtom(inner);
    if (atom === undefined || (atom.kind !== "max" && atom.kind !== "min")) continue;
    if (atom.args.some((arg) => sameDim(arg, outer))) return atom.kind === kind ? inner : outer;
  }
  return undefined;
}

function soleAtom(dim: Dim): Atom | undefined {
  if (typeof dim === "number") return undefined;
  const [term, ...more] = dim.terms;
  return more.length === 0 && term?.coefficient === 1 && term.atoms.length === 1 ? term.atoms[0] : undefined;
}

/** The value of a dim with symbols bound; `undefined` where it depends on an unknown or an unbound symbol. */
export function evaluateDim(dim: Dim, bindings: ReadonlyMap<string, number>): number | undefined {
  const value = substituteDim(dim, (name) => bindings.get(name));
  return typeof value === "number" ? value : undefined;
}

/** Replaces the symbols that `sizeOfSymbol` knows, and simplifies. */
export function substituteDim(dim: Dim, sizeOfSymbol: (name: string) => Dim | undefined): Dim {
  if (typeof dim === "number") return dim;
  let sum: Dim = 0;
  for (const term of dim.terms) {
    let value: Dim = term.coefficient;
    for (const atom of term.atoms) value = mulDims(value, substituteAtom(atom, sizeOfSymbol));
    sum = addDims(sum, value);
  }
  return sum;
}

function substituteAtom(atom: Atom, sizeOfSymbol: (name: string) => Dim | undefined): Dim {
  if (atom.kind === "symbol") return sizeOfSymbol(atom.name) ?? fromAtom(atom);
  if (atom.kind === "unknown") return fromAtom(atom);
  const a = substituteDim(atom.args[0], sizeOfSymbol);
  const b = substituteDim(atom.args[1], sizeOfSymbol);
  if (atom.kind === "floordiv") return b === 0 ? unknownDim() : floorDivDims(a, b);
  return atom.kind === "max" ? maxDims(a, b) : minDims(a, b);
}

function functionOf(kind: "floordiv" | "max" | "min", a: Dim, b: Dim): Dim {
  // max and min commute: order the arguments so that equal expressions have equal keys.
  const [x, y] = kind !== "floordiv" && String(b) < String(a) ? [b, a] : [a, b];
  const key = `${kind}(${x}, ${y})`;
  return key.length > maxKeyLength ? unknownDim() : fromAtom({ kind, args: [x, y], key });
}

function exact(value: number): Dim {
  return Number.isSafeInteger(value) ? value : unknownDim();
}

function termsOf(dim: Dim): readonly Term[] {
  return typeof dim === "number" ? [{ coefficient: dim, atoms: [], key: "" }] : dim.terms;
}

function multiplyTerms(x: Term, y: Term): Term {
  const atoms = [...x.atoms, ...y.atoms].sort((p, q) => (p.key < q.key ? -1 : p.key > q.key ? 1 : 0));
  return { coefficient: x.coefficient * y.coefficient, atoms, key: atoms.map((atom) => atom.key).join("*") };
}

function divideTerm(term: Term, divisor: Term): Term | undefined {
  if (term.coefficient % divisor.coefficient !== 0) return undefined;
  const atoms = [...term.atoms];
  for (const atom of divisor.atoms) {
    const at = atoms.findIndex((candidate) => candidate.key === atom.key);
    if (at < 0) return undefined;
    atoms.splice(at, 1);
  }
  const coefficient = term.coefficient / divisor.coefficient;
  return { coefficient, atoms, key: atoms.map((atom) => atom.key).join("*") };
}

function normalize(terms: readonly Term[]): Dim {
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
