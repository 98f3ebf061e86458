/**
 * @file A dimension: a number, or an expression over named symbols (polynomial.ts), with division, maximum and minimum.
 */
import {
  type Atom,
  addDims,
  type Dim,
  fromAtom,
  maxKeyLength,
  mulDims,
  normalize,
  sameDim,
  subDims,
  type Term,
  termsOf,
  unknownDim,
} from "./polynomial.ts";

export {
  addDims,
  type Dim,
  isUnknown,
  mulDims,
  product,
  type Shape,
  SymbolicDim,
  sameDim,
  subDims,
  symbol,
  unknownDim,
} from "./polynomial.ts";

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

/** ⌊a / b⌋; exact division of every term is carried out, anything else stays one opaque atom. Throws on b = 0. */
export function floorDivDims(a: Dim, b: Dim): Dim {
  if (b === 0) throw new RangeError("division of a dimension by zero");
  if (typeof a === "number" && typeof b === "number") return Math.floor(a / b);
  if (b === 1) return a;
  const quotient = divideExactly(a, b);
  if (quotient !== undefined) return quotient;
  if (typeof b !== "number") return functionOf("floordiv", a, b);
  if (!Number.isSafeInteger(b)) return unknownDim();
  return b > 0 ? floorDivByNumber(a, b) : functionOf("floordiv", a, b);
}

/** One form for equal quotients: a multiple of `b` is divided apart from the rest, so ⌊(2N + 5) / 2⌋ is N + 2. */
function floorDivByNumber(a: Dim, b: number): Dim {
  const whole: Term[] = [];
  const rest: Term[] = [];
  for (const term of termsOf(a)) {
    const { coefficient, key } = term;
    const divides = coefficient % b === 0;
    const left = key === "" ? coefficient - b * Math.floor(coefficient / b) : divides ? 0 : coefficient;
    rest.push({ ...term, coefficient: left });
    whole.push({ ...term, coefficient: (coefficient - left) / b });
  }
  return addDims(normalize(whole), floorDivRest(normalize(rest), b));
}

/** Common factors cancel, and ⌊(⌊x / d⌋ + c) / b⌋ becomes ⌊(x + cd) / bd⌋. */
function floorDivRest(rest: Dim, b: number): Dim {
  if (typeof rest === "number") return Math.floor(rest / b);
  const terms = rest.terms.filter(({ key }) => key !== "");
  const constant = rest.terms.find(({ key }) => key === "")?.coefficient ?? 0;
  const common = terms.reduce((divisor, { coefficient }) => gcd(divisor, Math.abs(coefficient)), b);
  if (common > 1) {
    const reduced = terms.map((term) => ({ ...term, coefficient: term.coefficient / common }));
    return floorDivDims(addDims(normalize(reduced), Math.floor(constant / common)), b / common);
  }
  const inner = soleAtom(normalize(terms));
  if (inner?.kind !== "floordiv") return functionOf("floordiv", rest, b);
  const [x, d] = inner.args;
  if (typeof d !== "number" || d < 1 || !Number.isSafeInteger(d * b)) return functionOf("floordiv", rest, b);
  return floorDivDims(addDims(x, mulDims(constant, d)), d * b);
}

function gcd(a: number, b: number): number {
  // NaN never becomes 0.
  return b === 0 || !Number.isFinite(a % b) ? a : gcd(b, a % b);
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
  if (typeof dim === "number") return dim;
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
