/** @file Symbols whose size the file's own numbers settle: the channels of an input are those of the weights that read it. */
import { collectSymbols, type Dim, evaluateDim } from "../ir/dim.ts";

/** Two sizes that must be one in every run of the model: an expression over symbols, and a number. */
export interface Equality {
  readonly dim: Dim;
  readonly size: number;
}

/** By symbol, where one size alone is the number; none where equalities contradict each other, for then no size runs. */
export function settledSizes(equalities: Iterable<Equality>): ReadonlyMap<string, number> {
  const settled = new Map<string, number>();
  const contradicted = new Set<string>();
  for (const { dim, size } of equalities) {
    const symbols = new Set<string>();
    collectSymbols(dim, symbols);
    const [name, ...others] = symbols;
    const found = name === undefined || others.length > 0 ? undefined : solved(dim, name, size);
    if (name === undefined || found === undefined) continue;
    if ((settled.get(name) ?? found) !== found) contradicted.add(name);
    settled.set(name, found);
  }
  for (const name of contradicted) settled.delete(name);
  return settled;
}

/** The one size of a symbol that makes `dim` the number: what is rounded (a half of 7 or 8) is not settled. */
function solved(dim: Dim, name: string, size: number): number | undefined {
  const at = (value: number) => evaluateDim(dim, new Map([[name, value]]));
  const [none, one] = [at(0), at(1)];
  if (none === undefined || one === undefined || none === one) return undefined;
  const value = (size - none) / (one - none);
  const isOnly = at(value) === size && at(value - 1) !== size && at(value + 1) !== size;
  return Number.isSafeInteger(value) && value > 0 && isOnly ? value : undefined;
}
