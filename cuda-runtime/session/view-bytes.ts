/** @file Elements of a view in bytes of its buffer, as the harness of kernels puts, reads and compares them. */
import { bytesOfType } from "../ir/storage.ts";
import { describeView, elementCount, isPacked, stridesOf, type View } from "../ir/view.ts";
import type { Tolerance } from "./harness.ts";
import { decodeValues } from "./numbers.ts";

/** Positions of the first and the last element, from the view's offset. */
export function extentOf(
  shape: readonly number[],
  strides: readonly number[],
): { low: number; high: number } {
  if (elementCount(shape) === 0) return { low: 0, high: -1 };
  const reach = shape.map((size, axis) => (size - 1) * (strides[axis] ?? 0));
  return {
    low: reach.reduce((total, each) => total + Math.min(0, each), 0),
    high: reach.reduce((total, each) => total + Math.max(0, each), 0),
  };
}

/** Of every element, row-major: its index in the buffer. */
function positionsOf({ shape, strides, offset }: View): Float64Array {
  const positions = new Float64Array(elementCount(shape));
  const index = shape.map(() => 0);
  let at = offset;
  for (let element = 0; element < positions.length; element++) {
    positions[element] = at;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const stride = strides[axis] ?? 0;
      const next = (index[axis] ?? 0) + 1;
      if (next < (shape[axis] ?? 1)) {
        index[axis] = next;
        at += stride;
        break;
      }
      at -= (next - 1) * stride;
      index[axis] = 0;
    }
  }
  return positions;
}

/** Puts row-major elements where the view has them. */
export function scatter(encoded: Uint8Array, view: View, bytes: Uint8Array): void {
  const size = bytesOfType(view.type);
  if (isPacked(view)) return bytes.set(encoded, view.offset * size);
  const positions = positionsOf(view);
  for (let from = 0; from < encoded.length; from++) {
    const at = positions[Math.floor(from / size)] ?? 0;
    bytes[at * size + (from % size)] = encoded[from] ?? 0;
  }
}

export function gathered(view: View, bytes: Uint8Array): Float64Array {
  const size = bytesOfType(view.type);
  const all = decodeValues(view.type, bytes.subarray(0, Math.floor(bytes.length / size) * size));
  return positionsOf(view).map((at) => all[at] ?? Number.NaN);
}

/** What is wrong, or undefined. */
export function differenceOf(
  actual: Float64Array,
  expected: ArrayLike<number>,
  { relative, absolute }: Tolerance,
  view: View,
): string | undefined {
  if (actual.length !== expected.length) return `${expected.length} expected values for ${actual.length}`;
  let [wrong, worst, excess] = [0, -1, 0];
  for (let index = 0; index < actual.length; index++) {
    const value = actual[index] ?? Number.NaN;
    const wanted = expected[index] ?? Number.NaN;
    if (Object.is(value, wanted) || value === wanted) continue;
    const error = Math.abs(value - wanted) / (absolute + relative * Math.abs(wanted));
    // Also where either is NaN or infinite.
    if (error <= 1) continue;
    wrong++;
    if (worst < 0 || !(error <= excess)) [worst, excess] = [index, error];
  }
  if (wrong === 0) return undefined;
  const where = coordinatesOf(worst, view.shape).join(",");
  const found = `is ${actual[worst]}, not ${expected[worst]}`;
  return `${wrong} of ${actual.length} elements of ${describeView(view)} are off; [${where}] ${found}`;
}

function coordinatesOf(index: number, shape: readonly number[]): number[] {
  const strides = stridesOf(shape);
  return shape.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size);
}

/** How many elements have a byte that is not `poison`, which all of memory was filled with. */
export function writtenIn(view: View, bytes: Uint8Array, poison: number): number {
  const size = bytesOfType(view.type);
  const isWritten = (at: number) =>
    bytes.subarray(at * size, (at + 1) * size).some((byte) => byte !== poison);
  return positionsOf(view).filter(isWritten).length;
}
