/** @file What the symbolic axes of a model's inputs stand for: samples, pixels, positions. */
import { collectSymbols, type Dim } from "./dim.ts";
import type { Model, Value } from "./model.ts";

/** Inputs that the caller must give: an initializer of the same name is a default. */
export function requiredInputs(model: Model): readonly Value[] {
  return model.graph.inputs.filter(({ initializer }) => initializer === undefined);
}

const batchName = /batch/i;

/** Where a symbol is on the inputs. */
interface SymbolUse {
  /** Nowhere but on first axes. */
  isFirst: boolean;
  /** On an input with another axis, not its first, that is called a batch. */
  isBesideBatch: boolean;
  /**
   * Nowhere but among the last two axes of inputs of four or more: a mask's are those of a sequence elsewhere, and what stands in
   * front of a width that the file fixes are positions of a cache.
   */
  isPixels: boolean;
}

/** Of each model, once: a model may have as many symbols as inputs, and all of them are asked about. */
const usesOf = new WeakMap<Model, ReadonlyMap<string, SymbolUse>>();

function symbolUses(model: Model): ReadonlyMap<string, SymbolUse> {
  const known = usesOf.get(model);
  if (known !== undefined) return known;
  const uses = new Map<string, SymbolUse>();
  for (const input of requiredInputs(model)) noteUses(shapeOf(input), uses);
  usesOf.set(model, uses);
  return uses;
}

function noteUses(shape: readonly Dim[], uses: Map<string, SymbolUse>): void {
  const isBesideBatch = shape.some((dim, axis) => axis > 0 && batchName.test(String(dim)));
  for (const [axis, dim] of shape.entries()) {
    const symbols = new Set<string>();
    collectSymbols(dim, symbols);
    for (const symbol of symbols) {
      const use = uses.get(symbol) ?? { isFirst: true, isBesideBatch: false, isPixels: true };
      uses.set(symbol, use);
      use.isFirst &&= axis === 0;
      use.isBesideBatch ||= isBesideBatch;
      use.isPixels &&= shape.length >= 4 && axis >= shape.length - 2 && !isBeforeFixed(shape, axis);
    }
  }
}

function isBeforeFixed(shape: readonly Dim[], axis: number): boolean {
  return typeof shape[axis + 1] === "number";
}

/** Symbols of the inputs that the caller must give. */
export function symbolsOfInputs(model: Model): ReadonlySet<string> {
  return new Set(symbolUses(model).keys());
}

/**
 * Whether a symbol counts independent samples: by its name, or because it is only ever the first axis, beside no other that
 * is called a batch: [seq, batch, features].
 */
export function isBatchSymbol(model: Model, symbol: string): boolean {
  if (batchName.test(symbol)) return true;
  const use = symbolUses(model).get(symbol);
  return use === undefined || (use.isFirst && !use.isBesideBatch);
}

/** Samples of one run: the size of the inputs' batch; undefined where they have none, or several that differ. */
export function samplesOf(model: Model, sizes: ReadonlyMap<string, number>): number | undefined {
  const batches = [...symbolUses(model).keys()].filter((symbol) => isBatchSymbol(model, symbol));
  const [samples, ...others] = new Set(batches.map((symbol) => sizes.get(symbol)));
  return others.length === 0 ? samples : undefined;
}

/** Side of an image, where nothing says which: a multiple of what networks divide it by, and what they are trained on. */
const pixels = 224;
/** A sequence: neither a single token of decoding nor the longest context. */
const positions = 128;

/**
 * Sizes at which a model is priced where nobody says any: one sample, images of 224 × 224, sequences of 128. A symbol
 * that no input has is a count that the model finds when it runs, and taken for a sequence too, unless it is a batch by name.
 * A sum of others, and what others leave of a sum, are as large as these say: `given` has the sizes that somebody did say.
 */
export function plausibleSizes(
  model: Model,
  symbols: Iterable<string>,
  given: ReadonlyMap<string, number> = new Map(),
): Map<string, number> {
  const onInputs = symbolUses(model);
  const plausible = new Map<string, number>();
  for (const symbol of symbols) {
    if (given.has(symbol)) continue;
    const isBatch = onInputs.has(symbol) ? isBatchSymbol(model, symbol) : batchName.test(symbol);
    const isPixels = onInputs.get(symbol)?.isPixels ?? false;
    plausible.set(symbol, isBatch ? 1 : isPixels ? pixels : positions);
  }
  const sizes = new Map([...plausible, ...given]);
  for (const [total, size] of given) deriveTerm(total, size, plausible, sizes);
  for (const symbol of plausible.keys()) deriveSum(symbol, sizes);
  return new Map([...plausible.keys()].map((symbol) => [symbol, sizes.get(symbol) ?? positions]));
}

/** What the others leave of a sum that somebody gave, where they leave one term only. */
function deriveTerm(
  total: string,
  size: number,
  free: ReadonlyMap<string, number>,
  sizes: Map<string, number>,
): void {
  const terms = termsOf(total, sizes);
  const [term, ...others] = terms.filter((name) => free.has(name));
  if (term === undefined || others.length > 0) return;
  const rest = terms.filter((name) => name !== term).map((name) => sizeOf(name, sizes) ?? Number.NaN);
  const left = rest.reduce((sum, value) => sum - value, size);
  if (left >= 0) sizes.set(term, left);
}

/** Sets what is a sum of others by its name to that sum; nothing where a term has no size. */
export function deriveSum(name: string, sizes: Map<string, number>): void {
  const values = termsOf(name, sizes).map((term) => sizeOf(term, sizes));
  let total = 0;
  for (const value of values) {
    if (value === undefined) return;
    total += value;
  }
  if (values.length > 1) sizes.set(name, total);
}

/** Whether the name says that this is a sum of sizes that are all among the given ones: nothing is assumed of it. */
export function followsFrom(name: string, given: ReadonlyMap<string, number>): boolean {
  const terms = termsOf(name, given);
  return terms.length > 1 && terms.every((term) => sizeOf(term, given) !== undefined);
}

/** Whether the name says that this is a sum in which `term` is. */
export function isSumWith(name: string, term: string, known: ReadonlyMap<string, number>): boolean {
  return termsOf(name, known).includes(term);
}

const totalName = /^total_(.+)$/;

/**
 * Exporters name what belongs together: "past_sequence_length + 1" is a symbol of that name, and beside past_sequence_length and
 * sequence_length, total_sequence_length is both. Empty where a symbol stands for itself.
 */
function termsOf(name: string, known: ReadonlyMap<string, number>): readonly string[] {
  const fresh = totalName.exec(name)?.[1];
  if (fresh !== undefined && known.has(fresh) && known.has(`past_${fresh}`)) return [`past_${fresh}`, fresh];
  const terms = name.split("+").map((term) => term.trim());
  return terms.length < 2 ? [] : terms;
}

function sizeOf(term: string, sizes: ReadonlyMap<string, number>): number | undefined {
  return /^\d+$/.test(term) ? Number(term) : sizes.get(term);
}

function shapeOf({ declared }: Value): readonly Dim[] {
  return declared?.kind === "tensor" ? (declared.shape ?? []) : [];
}
