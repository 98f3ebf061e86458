/** @file What the symbolic axes of a model's inputs stand for: samples, pixels, positions. */
import { collectSymbols, type Dim } from "./dim.ts";
import type { Model, Value } from "./model.ts";

/** Inputs that the caller must give: an initializer of the same name is a default. */
export function requiredInputs(model: Model): readonly Value[] {
  return model.graph.inputs.filter(({ initializer }) => initializer === undefined);
}

const batchName = /batch/i;

/**
 * Whether a symbol counts independent samples: by its name, or because it is only ever the first axis, beside no other that
 * is called a batch: [seq, batch, features].
 */
export function isBatchSymbol(model: Model, symbol: string): boolean {
  if (batchName.test(symbol)) return true;
  return requiredInputs(model).every((input) => {
    const shape = shapeOf(input);
    const isFirst = shape.every((dim, axis) => axis === 0 || !hasSymbol(dim, symbol));
    const isBeside = shape.some((dim, axis) => axis > 0 && batchName.test(String(dim)));
    return isFirst && !(isBeside && shape.some((dim) => hasSymbol(dim, symbol)));
  });
}

/** Side of an image, where nothing says which: a multiple of what networks divide it by, and what they are trained on. */
const pixels = 224;
/** A sequence: neither a single token of decoding nor the longest context. */
const positions = 128;

/**
 * Sizes at which a model is priced where nobody says any: one sample, images of 224 × 224, sequences of 128. A symbol
 * that no input has is a count that the model finds when it runs, and taken for a sequence too, unless it is a batch by name.
 */
export function plausibleSizes(model: Model, symbols: Iterable<string>): Map<string, number> {
  const onInputs = new Set<string>();
  for (const input of requiredInputs(model)) for (const dim of shapeOf(input)) collectSymbols(dim, onInputs);
  const sizes = new Map<string, number>();
  for (const symbol of symbols) {
    const isBatch = onInputs.has(symbol) ? isBatchSymbol(model, symbol) : /batch/i.test(symbol);
    sizes.set(symbol, isBatch ? 1 : isPixels(model, symbol) ? pixels : positions);
  }
  for (const symbol of sizes.keys()) deriveSum(symbol, sizes);
  return sizes;
}

/** Nowhere but among the last two axes of inputs of four or more: a mask's are those of a sequence elsewhere. */
function isPixels(model: Model, symbol: string): boolean {
  const shapes = requiredInputs(model).map(shapeOf);
  return (
    shapes.every((shape) =>
      shape.every((dim, axis) => !hasSymbol(dim, symbol) || (shape.length >= 4 && axis >= shape.length - 2)),
    ) && shapes.some((shape) => shape.some((dim) => hasSymbol(dim, symbol)))
  );
}

/** Exporters name what belongs together: "past_sequence_length + 1" is a symbol of that name. */
export function deriveSum(name: string, sizes: Map<string, number>): void {
  const terms = name.split("+").map((term) => term.trim());
  if (terms.length < 2) return;
  let total = 0;
  for (const term of terms) {
    const value = /^\d+$/.test(term) ? Number(term) : sizes.get(term);
    if (value === undefined) return;
    total += value;
  }
  sizes.set(name, total);
}

function shapeOf({ declared }: Value): readonly Dim[] {
  return declared?.kind === "tensor" ? (declared.shape ?? []) : [];
}

function hasSymbol(dim: Dim, symbol: string): boolean {
  const inside = new Set<string>();
  collectSymbols(dim, inside);
  return inside.has(symbol);
}
