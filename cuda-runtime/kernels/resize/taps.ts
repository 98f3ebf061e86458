/**
 * @file Which elements of an axis, with which weights, make each element of the resized axis.
 *
 * Sizes, scales and modes are known while planning, so every coordinate mode, rounding and filter ends up as one table,
 * and the kernels know none of them. Coordinates are rounded to float32 as ONNX Runtime computes them.
 */
import { pushAll } from "../../../src/ir/lists.ts";

const round = Math.fround;

export const coordinateModes = [
  "half_pixel",
  "half_pixel_symmetric",
  "pytorch_half_pixel",
  "align_corners",
  "asymmetric",
  "tf_half_pixel_for_nn",
  "tf_crop_and_resize",
] as const;
export type CoordinateMode = (typeof coordinateModes)[number];

/** "simple" is what opsets before 11 do: up is cut off, down is rounded up. */
export const nearestModes = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"] as const;
export type NearestMode = (typeof nearestModes)[number];

export interface ResizedAxis {
  readonly size: number;
  readonly outputSize: number;
  /** Output over input, as given or as the sizes say. */
  readonly scale: number;
  /** Start and end of the region to take, as fractions of the axis; for "tf_crop_and_resize". */
  readonly region: readonly [number, number];
}

export interface Filter {
  readonly mode: "linear" | "cubic";
  readonly coordinates: CoordinateMode;
  readonly antialias: boolean;
  readonly excludeOutside: boolean;
  readonly cubicA: number;
}

/** For each output position `taps` positions of the input and their weights, one output after the other. */
export interface TapTable {
  readonly taps: number;
  /** −1 in all of an output's taps: outside the region, the extrapolation value stands there. */
  readonly indices: readonly number[];
  readonly weights: readonly number[];
}

/** The place in the input, in elements, that an output position stands for. */
function originalCoordinate(
  x: number,
  { size, outputSize, scale, region }: ResizedAxis,
  mode: CoordinateMode,
): number {
  const ratio = round(scale);
  const halfPixel = round(round(round(x + 0.5) / ratio) - 0.5);
  switch (mode) {
    case "half_pixel":
      return halfPixel;
    case "pytorch_half_pixel":
      return outputSize > 1 ? halfPixel : 0;
    case "half_pixel_symmetric": {
      const adjustment = round(outputSize / round(ratio * size));
      return round(round((size / 2) * round(1 - adjustment)) + halfPixel);
    }
    case "align_corners":
      // The resized length is the size times the scale, a fraction where the output's size was cut off.
      return outputSize === 1 ? 0 : round(round(x * (size - 1)) / round(scale * size - 1));
    case "asymmetric":
      return round(x / ratio);
    case "tf_half_pixel_for_nn":
      return round(round(x + 0.5) / ratio);
    case "tf_crop_and_resize": {
      const [start, end] = region;
      if (outputSize === 1) return round(0.5 * (start + end) * (size - 1));
      return round(start * (size - 1) + (x * (end - start) * (size - 1)) / (outputSize - 1));
    }
  }
}

function isOutside(coordinate: number, size: number, mode: CoordinateMode): boolean {
  return mode === "tf_crop_and_resize" && (coordinate < 0 || coordinate > size - 1);
}

/** One position of the input for each of the output; −1 where it lies outside the region. */
export function nearestTable(axis: ResizedAxis, coordinates: CoordinateMode, nearest: NearestMode): number[] {
  return Array.from({ length: axis.outputSize }, (_, x) => {
    const coordinate = originalCoordinate(x, axis, coordinates);
    if (isOutside(coordinate, axis.size, coordinates)) return -1;
    return clamp(roundedBy(coordinate, nearest, axis.scale < 1), axis.size);
  });
}

function roundedBy(coordinate: number, nearest: NearestMode, isSmaller: boolean): number {
  switch (nearest) {
    case "round_prefer_floor":
      return Math.ceil(coordinate - 0.5);
    case "round_prefer_ceil":
      return Math.floor(coordinate + 0.5);
    case "floor":
      return Math.floor(coordinate);
    case "ceil":
      return Math.ceil(coordinate);
    case "simple":
      return isSmaller ? Math.ceil(coordinate) : Math.trunc(coordinate);
  }
}

function clamp(position: number, size: number): number {
  return Math.min(size - 1, Math.max(0, position));
}

export function tapTable(axis: ResizedAxis, filter: Filter): TapTable {
  const { first, taps, weightsAt } = kernelOf(axis, filter);
  const indices: number[] = [];
  const weights: number[] = [];
  for (let x = 0; x < axis.outputSize; x++) {
    const coordinate = originalCoordinate(x, axis, filter.coordinates);
    if (isOutside(coordinate, axis.size, filter.coordinates)) {
      pushAll(indices, new Array<number>(taps).fill(-1));
      pushAll(weights, new Array<number>(taps).fill(0));
      continue;
    }
    // The neighbour on the left is never the place itself: distances lie in (0, 1].
    const left = Math.ceil(coordinate) - 1;
    const places = Array.from({ length: taps }, (_, tap) => left + first + tap);
    const plain = weightsAt(coordinate - left);
    pushAll(
      indices,
      places.map((place) => clamp(place, axis.size)),
    );
    pushAll(weights, filter.excludeOutside ? insideOnly(plain, places, axis.size) : plain);
  }
  return { taps, indices, weights };
}

function insideOnly(weights: readonly number[], places: readonly number[], size: number): number[] {
  return normalized(
    weights.map((weight, tap) => {
      const place = places[tap] ?? 0;
      return place < 0 || place >= size ? 0 : weight;
    }),
  );
}

function normalized(weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

interface SampledKernel {
  /** The first tap, counted from the neighbour on the left. */
  readonly first: number;
  readonly taps: number;
  /** @param distance From that neighbour to the place, in (0, 1]. */
  weightsAt(distance: number): number[];
}

/** The filter at its taps. With antialias it is stretched over as many elements as one of the output covers. */
function kernelOf(axis: ResizedAxis, { mode, antialias, cubicA }: Filter): SampledKernel {
  const radius = mode === "linear" ? 1 : 2;
  const curve = mode === "linear" ? triangle : (x: number) => cubic(x, cubicA);
  const stretch = antialias ? Math.min(1, round(axis.scale)) : 1;
  const first = Math.floor(-radius / stretch) + 1;
  const taps = 2 - 2 * first;
  const weightsAt = (distance: number) => {
    const plain = Array.from({ length: taps }, (_, tap) => curve((first + tap - distance) * stretch));
    return antialias ? normalized(plain) : plain;
  };
  return { first, taps, weightsAt };
}

function triangle(x: number): number {
  return Math.max(0, 1 - Math.abs(x));
}

/** Keys' cubic convolution; `a` is its slope at 1. */
function cubic(signed: number, a: number): number {
  const x = Math.abs(signed);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}
