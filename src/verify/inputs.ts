/** @file Inputs drawn from a seed, by type and by use. */
import { evaluateDim } from "../ir/dim.ts";
import { type DType, dtypes } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { Model, Value } from "../ir/model.ts";
import { requiredInputs } from "../ir/symbols.ts";
import { Random } from "./random.ts";
import { type ArrayType, countOf, isSharedType, type Tensor, type Tensors, tensorOf } from "./tensor.ts";
import { addsToScores, type Bindings, type Use, useOf } from "./use.ts";

/** What is drawn. Floats are normal unless it says otherwise; whole numbers and masks are uniform. */
const drawKinds = [
  "normal",
  "large",
  "negative",
  "zero",
  // What few inputs hold, and a function is defined on all the same.
  "infinity",
  "nan",
  "huge",
  "masked",
  "negative ids",
] as const;
export type DrawKind = (typeof drawKinds)[number];

export interface Draw {
  readonly kind: DrawKind;
  readonly seed: number;
  readonly sizes: Bindings;
  /** Whole numbers of no known use stay 0 or 1, where a wider range did not run. */
  readonly isNarrow: boolean;
}

/** Far from 0, and still far from overflow. */
const largeScale = 16;
const widestValue = 9;
/** Squares overflow, and products with weights do not. Halves end at 65504. */
const hugeScale = { float16: 1e3, other: 1e30 } as const;
/** Of a normal number, a denormal one. */
const tinyScale = { float16: 1e-6, other: 1e-40 } as const;
/** What masks that are added to scores hold instead of an infinity. */
const lowest = { float16: -65504, other: -3.4028234663852886e38 } as const;

/**
 * Of all inputs, or of those that are wanted: what one holds does not depend on the others. Throws InputError
 * `unsupported-input` for types that cannot be given to ONNX Runtime from here.
 */
export function drawInputs(
  model: Model,
  draw: Draw,
  isWanted: (input: Value) => boolean = () => true,
): Tensors {
  const wanted = requiredInputs(model).filter(isWanted);
  return new Map(wanted.map((input) => [input.name, drawInput(model, input, draw)]));
}

/** Drawn as doubles: two gigabytes. */
const maxDrawn = 2 ** 28;

function drawInput(model: Model, input: Value, draw: Draw): Tensor {
  const { dtype, dims } = typeOf(model, input, draw.sizes);
  const random = new Random(`${draw.seed} ${draw.kind} ${input.name}`);
  const count = countOf(dims);
  if (count > maxDrawn) {
    throw new InputError(
      "input-too-large",
      `input "${input.name}" has ${count.toLocaleString("en-US")} elements at the sizes that are asked for, at most ${maxDrawn.toLocaleString("en-US")} can be drawn`,
    );
  }
  if (dtype === "string") {
    return {
      dtype,
      dims,
      data: Array.from({ length: count }, () => `word${random.integer(0, widestValue)}`),
    };
  }
  const use = useOf(model, input, draw.sizes);
  const isScore = draw.kind === "masked" && addsToScores(model, input, draw.sizes);
  const next = drawer({ dtype, use, draw, random, last: dims.at(-1) ?? 1, block: blockOf(dims), isScore });
  return tensorOf(
    dtype,
    dims,
    Float64Array.from({ length: count }, (_, at) => next(at)),
  );
}

/** Pixels far from each other meet late. */
const blockOfPlane = 64;

function blockOf(dims: readonly number[]): number {
  const sample = Math.max(1, countOf(dims.slice(1)));
  return dims.length > 3 ? Math.min(sample, blockOfPlane) : sample;
}

function typeOf(model: Model, { name, declared }: Value, sizes: Bindings) {
  const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
  const shape = declared?.kind === "tensor" ? declared.shape : undefined;
  const dims = shape?.map((dim) => evaluateDim(dim, sizes));
  if ((dtype !== "string" && !isSharedType(dtype)) || dims === undefined || dims.includes(undefined)) {
    const what = `has type ${dtype ?? declared?.kind ?? "unknown"}`;
    throw new InputError(
      "unsupported-input",
      `${model.path}: input "${name}" ${what}, which cannot be drawn`,
    );
  }
  return { dtype, dims: dims.filter((size) => size !== undefined) };
}

interface Element {
  readonly dtype: ArrayType;
  readonly use: Use;
  readonly draw: Draw;
  readonly random: Random;
  /** Size of the last axis: a mask has rows. */
  readonly last: number;
  /** Elements that depend on each other: a sample, or less where it has a plane. */
  readonly block: number;
  /** Whether it masks by being added to the scores of a softmax. */
  readonly isScore: boolean;
}

/** The number at each position, in order. */
function drawer(element: Element): (at: number) => number {
  const { dtype, use, draw, random } = element;
  const { kind } = draw;
  if (element.isScore) return scoreMaskDrawer(element);
  if (use.kind === "mask") return maskDrawer(element);
  if (use.kind === "fixed") return () => use.value;
  if (isFloat(dtype) && use.kind === "value") return floatDrawers[kind](element);
  const [low, high] = rangeOf(element);
  if (kind === "zero") return () => low;
  // The last of a table, and now and then the first.
  if (kind === "large") return () => (random.uniform() < 0.25 ? low : high);
  return () => random.integer(low, high);
}

type FloatDrawer = (element: Element) => (at: number) => number;

const normal: FloatDrawer =
  ({ random }) =>
  () =>
    random.normal();

const scaled =
  (scaleOf: Record<"float16" | "other", number>): FloatDrawer =>
  ({ random, dtype }) => {
    const scale = scaleOf[dtype === "float16" ? "float16" : "other"];
    return () => scale * random.normal();
  };

/** One such number in each block of normal ones: two infinities that meet make a NaN of everything. */
const oneInEach =
  (special: (random: Random) => number): FloatDrawer =>
  ({ random, block }) => {
    let place = 0;
    return (at) => {
      if (at % block === 0) place = at + random.integer(0, block - 1);
      return at === place ? special(random) : random.normal();
    };
  };

const floatDrawers: Readonly<Record<DrawKind, FloatDrawer>> = {
  normal,
  large: scaled({ float16: largeScale, other: largeScale }),
  // A quarter of them denormal.
  negative: ({ random, dtype }) => {
    const tiny = tinyScale[dtype === "float16" ? "float16" : "other"];
    return (at) => -Math.abs(random.normal()) * (at % 4 === 3 ? tiny : 1);
  },
  zero: () => (at) => (at % 2 === 0 ? 0 : -0),
  infinity: oneInEach((random) => (random.uniform() < 0.5 ? 1 : -1) * Number.POSITIVE_INFINITY),
  nan: oneInEach(() => Number.NaN),
  huge: scaled(hugeScale),
  masked: normal,
  "negative ids": normal,
};

function isFloat(dtype: DType): boolean {
  return dtypes[dtype].kind === "float";
}

/** Smallest and largest whole number to draw. */
function rangeOf({ dtype, use, draw }: Element): readonly [number, number] {
  if (use.kind === "index") return [draw.kind === "negative ids" ? -use.below : 0, use.below - 1];
  if (use.kind === "count") return [1, Math.max(1, use.most)];
  if (dtype === "bool" || draw.isNarrow) return [0, 1];
  // Eight bits are pixels and quantized numbers: all of them.
  if (dtype === "uint8") return [0, 255];
  if (dtype === "int8") return [-128, 127];
  return [0, widestValue];
}

/** Rows of ones with zeros behind, as padding leaves them; rows of zeros only where it is `masked`. */
function maskDrawer({ draw, random, last }: Element): (at: number) => number {
  let kept = last;
  return (at) => {
    if (at % last === 0) kept = draw.kind === "normal" ? random.integer(1, last) : last;
    if (draw.kind === "masked") return (Math.floor(at / last) + draw.seed) % 2 === 1 || at % 3 === 0 ? 0 : 1;
    return at % last < kept ? 1 : 0;
  };
}

/** In turn, from the seed on, a row of −∞ only, one of the lowest number only, one with −∞ behind, and one that masks nothing. */
function scoreMaskDrawer({ dtype, last, draw }: Element): (at: number) => number {
  const least = lowest[dtype === "float16" ? "float16" : "other"];
  return (at) => {
    const row = (Math.floor(at / last) + draw.seed - 1) % 4;
    if (row === 0) return Number.NEGATIVE_INFINITY;
    if (row === 1) return least;
    return row === 2 && 2 * (at % last) >= last ? Number.NEGATIVE_INFINITY : 0;
  };
}
