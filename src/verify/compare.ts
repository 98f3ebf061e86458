/** @file How far two tensors are apart. NaN and infinities are compared as what they are, never within a tolerance. */
import { countOf, gather, isFloatTensor, numbersOf, type Tensor } from "./tensor.ts";

/** An element by its index, with both values as text: NaN, infinities and 64-bit integers are no JSON numbers. */
export interface ElementDifference {
  readonly index: readonly number[];
  readonly expected: string;
  readonly actual: string;
}

/** Of two tensors of one shape. Errors are over elements that are finite in both. */
export interface Difference {
  readonly elements: number;
  /** Elements of which one is NaN or infinite and the other is not the same; of integers and strings, unequal ones. */
  readonly mismatches: number;
  /** |actual - expected|: largest, mean, and root of the mean square. */
  readonly maximumError: number;
  readonly meanError: number;
  readonly rootMeanSquareError: number;
  /** |expected|: largest finite one, and root of the mean square. */
  readonly largest: number;
  readonly rootMeanSquare: number;
  /** Of the angle between the two as vectors; undefined where one of them is 0. */
  readonly cosine: number | undefined;
  /** Undefined where there is no error or no signal. */
  readonly signalToNoiseDecibels: number | undefined;
  /** The first mismatch, else the largest error; undefined where there is neither. */
  readonly worst: ElementDifference | undefined;
}

/**
 * Both of one shape; floats of different widths are compared as numbers. Elements that are a number in some of `variants`
 * of what is expected, and NaN or infinite in others, say nothing: there, the original is noise.
 */
export function compareTensors(
  expected: Tensor,
  actual: Tensor,
  variants: readonly Tensor[] = [],
): Difference {
  return isFloatTensor(expected) && isFloatTensor(actual)
    ? compareFloats(expected, actual, variants.map(numbersOf))
    : compareExactly(expected, actual);
}

function compareFloats(expected: Tensor, actual: Tensor, variants: readonly ArrayLike<number>[]): Difference {
  const [a, b] = [numbersOf(expected), numbersOf(actual)];
  let [finite, mismatches, firstMismatch] = [0, 0, -1];
  let [maximum, worst, largest] = [0, -1, 0];
  let [sum, squares, signal, squaresOfActual, dot] = [0, 0, 0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const x = a[i] ?? Number.NaN;
    const y = b[i] ?? Number.NaN;
    if (variants.some((variant) => !isOfOneKind(x, variant[i] ?? Number.NaN))) continue;
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      if (Object.is(x, y)) continue;
      if (mismatches === 0) firstMismatch = i;
      mismatches += 1;
      continue;
    }
    const error = Math.abs(y - x);
    finite += 1;
    sum += error;
    squares += error * error;
    signal += x * x;
    squaresOfActual += y * y;
    dot += x * y;
    if (error > maximum) [maximum, worst] = [error, i];
    if (Math.abs(x) > largest) largest = Math.abs(x);
  }
  const at = firstMismatch >= 0 ? firstMismatch : worst;
  const count = Math.max(finite, 1);
  return {
    elements: a.length,
    mismatches,
    maximumError: maximum,
    meanError: sum / count,
    rootMeanSquareError: Math.sqrt(squares / count),
    largest,
    rootMeanSquare: Math.sqrt(signal / count),
    cosine:
      signal > 0 && squaresOfActual > 0
        ? Math.max(-1, Math.min(1, dot / (Math.sqrt(signal) * Math.sqrt(squaresOfActual))))
        : undefined,
    signalToNoiseDecibels: squares > 0 && signal > 0 ? 10 * Math.log10(signal / squares) : undefined,
    worst: at < 0 ? undefined : elementAt(at, expected, actual),
  };
}

/** Both numbers, or the same of NaN and the infinities. */
function isOfOneKind(x: number, y: number): boolean {
  return Number.isFinite(x) ? Number.isFinite(y) : Object.is(x, y);
}

function compareExactly(expected: Tensor, actual: Tensor): Difference {
  let [mismatches, first] = [0, -1];
  for (let i = 0; i < expected.data.length; i++) {
    if (expected.data[i] === actual.data[i]) continue;
    if (mismatches === 0) first = i;
    mismatches += 1;
  }
  const nothing = { maximumError: 0, meanError: 0, rootMeanSquareError: 0, largest: 0, rootMeanSquare: 0 };
  return {
    elements: expected.data.length,
    mismatches,
    ...nothing,
    cosine: undefined,
    signalToNoiseDecibels: undefined,
    worst: first < 0 ? undefined : elementAt(first, expected, actual),
  };
}

function elementAt(at: number, expected: Tensor, actual: Tensor): ElementDifference {
  return {
    index: indexOf(at, expected.dims),
    expected: textAt(at, expected),
    actual: textAt(at, actual),
  };
}

function textAt(at: number, tensor: Tensor): string {
  const value = isFloatTensor(tensor) ? numbersOf(tensor)[at] : tensor.data[at];
  return String(value);
}

/** The position of the `at`-th element in row-major order. */
function indexOf(at: number, dims: readonly number[]): number[] {
  const index: number[] = [];
  let rest = at;
  for (const size of [...dims].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

/** The elements of a padded tensor that the original has: `lanes[axis]` are their positions, undefined means all. */
export type Lanes = readonly (readonly number[] | undefined)[];

/** The true part of a padded tensor; undefined where the lanes do not fit it. */
export function trueLanes(tensor: Tensor, lanes: Lanes): Tensor | undefined {
  const { dims, dtype } = tensor;
  if (dtype === "string" || lanes.length !== dims.length) return undefined;
  const kept = dims.map((size, axis) => lanes[axis] ?? Array.from({ length: size }, (_, i) => i));
  if (kept.some((positions, axis) => positions.some((position) => position >= (dims[axis] ?? 0))))
    return undefined;
  const strides = dims.map((_, axis) => countOf(dims.slice(axis + 1)));
  return { dtype, dims: kept.map(({ length }) => length), data: gather(tensor.data, dtype, kept, strides) };
}
