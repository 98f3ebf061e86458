/** @file Sizes for the symbolic axes of a model's inputs: candidates, of which those are used that the model takes. */
import { inferFacts } from "../facts/infer.ts";
import { collectSymbols } from "../ir/dim.ts";
import { InputError } from "../ir/errors.ts";
import { maxOf } from "../ir/lists.ts";
import type { Model } from "../ir/model.ts";
import { own } from "../ir/own.ts";
import { deriveSum, isBatchSymbol, isSumWith, requiredInputs } from "../ir/symbols.ts";
import type { Bindings } from "./use.ts";

/** By symbol: as the user says, each in turn. */
export type GivenSizes = Readonly<Record<string, readonly number[]>>;

/** What gives inputs where none can be drawn; null where nothing does. */
export type InputsFlag = string | null;

export const usualInputs = "--inputs";

/** Symbols in the shapes of the inputs. Throws InputError `unknown-shape` where an input has none. */
export function inputSymbols(model: Model, flag: InputsFlag = usualInputs): readonly string[] {
  const symbols = new Set<string>();
  for (const { name, declared } of requiredInputs(model)) {
    if (declared?.kind !== "tensor" || declared.shape === undefined) {
      // An archive of arrays holds no sequence.
      const how = flag === null ? "" : `; give inputs with ${flag}`;
      const what = declared?.kind === "tensor" ? `its shape is not declared${how}` : "it is not a tensor";
      throw new InputError("unknown-shape", `${model.path}: no input "${name}" can be drawn: ${what}`);
    }
    for (const dim of declared.shape) collectSymbols(dim, symbols);
  }
  return [...symbols];
}

/** Two sizes each: images and sequences have least sizes and divisors, so several pairs are tried. */
const sizePairs = [
  [8, 12],
  [16, 24],
  [32, 48],
  [64, 96],
  [128, 160],
  [224, 256],
  [512, 576],
] as const;
/** Axes that are taken to hold independent samples. */
const batchSizes = [1, 3] as const;

/**
 * Bindings to try, smallest first: of each attempt, a first and a second size for every symbol. With sizes given, one
 * attempt, with as many bindings as there are sizes. A model without symbols has one binding.
 */
export function sizeAttempts(
  model: Model,
  given: GivenSizes,
  flag: InputsFlag = usualInputs,
): readonly (readonly Bindings[])[] {
  const symbols = inputSymbols(model, flag);
  for (const name of Object.keys(given)) {
    if (!symbols.includes(name)) {
      const known = symbols.length === 0 ? "there are none" : `there are ${symbols.join(", ")}`;
      throw new InputError("usage", `${model.path}: no input has the symbolic dimension "${name}"; ${known}`);
    }
  }
  if (symbols.length === 0) return [[new Map()]];
  return attemptsWith(model, symbols, { ...settledIn(model), ...given });
}

/** Of a symbol that weights settle there is one size that runs. */
function settledIn(model: Model): GivenSizes {
  return Object.fromEntries([...inferFacts(model).bindings].map(([name, size]) => [name, [size]]));
}

function attemptsWith(
  model: Model,
  symbols: readonly string[],
  given: GivenSizes,
): readonly (readonly Bindings[])[] {
  const free = symbols.filter((name) => own(given, name) === undefined);
  const pairs = free.some((name) => !isBatchSymbol(model, name)) ? sizePairs : sizePairs.slice(0, 1);
  const attempts = pairs.map((pair) => bindingsOf(model, symbols, pair, given));
  // What one size goes by two names, nothing in the model says.
  const alike =
    free.length > 0 && symbols.length > 1 ? [...new Set([3, ...Object.values(given).flat()])] : [];
  return [...attempts, ...alike.map((size) => bindingsOf(model, symbols, [size, size + 1], given, true))];
}

function bindingsOf(
  model: Model,
  symbols: readonly string[],
  pair: readonly [number, number],
  given: GivenSizes,
  areAlike = false,
): Bindings[] {
  const isFree = symbols.some((name) => own(given, name) === undefined);
  const rounds = Math.max(isFree ? 2 : 1, maxOf(Object.values(given).map(({ length }) => length)));
  return Array.from({ length: rounds }, (_, round) => {
    const sizes = new Map<string, number>();
    for (const name of symbols) {
      const choice = own(given, name) ?? (isBatchSymbol(model, name) && !areAlike ? batchSizes : pair);
      sizes.set(name, choice[round % choice.length] ?? 1);
    }
    for (const name of symbols) if (own(given, name) === undefined) deriveSum(name, sizes);
    return sizes;
  });
}

/** Other sizes of an axis that ran at one: small ones first, then near it, for models that take few. */
function otherSizes(model: Model, symbol: string, ran: number): readonly number[] {
  const near = [2 * ran, Math.floor(ran / 2), ran + 1, ran - 1];
  const usual = isBatchSymbol(model, symbol) ? [...batchSizes, 2] : sizePairs.flat();
  return [...new Set([...usual, ...near])].filter((size) => size > 0 && size !== ran);
}

/** Attempts with all of `symbols` changed at once. */
const maxJointAttempts = 20;

/**
 * Bindings that give each of `symbols`, of which only one size ran, another one; those of all others stay, but for
 * sums of what changed. Sizes that are alike are tried alike: two names may stand for one size.
 */
export function changedSizes(
  model: Model,
  symbols: readonly string[],
  ran: Bindings,
  mayVary: (symbol: string) => boolean = () => true,
): readonly Bindings[] {
  const candidates = new Map(symbols.map((name) => [name, otherSizes(model, name, ran.get(name) ?? 1)]));
  const sums = [...ran.keys()].filter(
    (name) => mayVary(name) && symbols.some((term) => isSumWith(name, term, ran)),
  );
  const withSizes = (sizeOf: (name: string) => number | undefined) => {
    const sizes = new Map(ran);
    for (const name of symbols) sizes.set(name, sizeOf(name) ?? ran.get(name) ?? 1);
    for (const name of sums) deriveSum(name, sizes);
    return sizes;
  };
  const most = Math.max(0, maxOf([...candidates.values()].map(({ length }) => length)));
  const joint = Array.from({ length: Math.min(most, maxJointAttempts) }, (_, at) =>
    withSizes((name) => {
      const own = candidates.get(name) ?? [];
      return own[Math.min(at, own.length - 1)];
    }),
  );
  const used = new Set(symbols.map((name) => ran.get(name)));
  const alike = [2, 3, 5, 8, 12].filter((size) => !used.has(size));
  return [...joint, ...(symbols.length > 1 ? alike.map((size) => withSizes(() => size)) : [])];
}

/** Symbols that stand for the number of samples. */
export function batchSymbols(model: Model): readonly string[] {
  return inputSymbols(model).filter((name) => isBatchSymbol(model, name));
}
