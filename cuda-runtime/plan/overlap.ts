/** @file Whether two views may have bytes in common. */
import { bytesOfType } from "../ir/storage.ts";
import { type DeviceBuffer, elementCount, type View } from "../ir/view.ts";

/** From the first of some bytes to behind the last. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

interface Axis {
  readonly count: number;
  /** From one of its elements to the next. */
  readonly bytes: number;
}

/** Where a view's elements lie. */
export interface Spot {
  readonly buffer: DeviceBuffer;
  readonly isEmpty: boolean;
  readonly reach: Stretch;
  /** Of its first element. */
  readonly start: number;
  readonly elementBytes: number;
  /** Those of several elements. */
  readonly axes: readonly Axis[];
}

export function spotOf({ buffer, type, shape, strides, offset }: View): Spot {
  const elementBytes = bytesOfType(type);
  const axes = shape
    .map((count, axis) => ({ count, bytes: (strides[axis] ?? 0) * elementBytes }))
    .filter(({ count, bytes }) => count > 1 && bytes !== 0);
  const start = offset * elementBytes;
  let [from, to] = [start, start + elementBytes];
  for (const { count, bytes } of axes) {
    if (bytes > 0) to += (count - 1) * bytes;
    else from += (count - 1) * bytes;
  }
  const isEmpty = elementCount(shape) === 0;
  return { buffer, isEmpty, reach: { from, to }, start, elementBytes, axes };
}

/** False is sure: apart in memory, or other columns of the same rows, as parts of a concatenation are. */
export function mayOverlap(a: Spot, b: Spot): boolean {
  if (a.buffer !== b.buffer || a.isEmpty || b.isEmpty || isApart(a.reach, b.reach)) return false;
  return ![...a.axes, ...b.axes].some(({ bytes }) => {
    if (bytes <= 0) return false;
    const [own, other] = [columnsOf(a, bytes), columnsOf(b, bytes)];
    return own !== undefined && other !== undefined && isApart(own, other);
  });
}

function isApart(a: Stretch, b: Stretch): boolean {
  return a.to <= b.from || b.to <= a.from;
}

/** Within rows of so many bytes, where all of them lie; undefined where they go on into the next row. */
function columnsOf({ start, elementBytes, axes }: Spot, rowBytes: number): Stretch | undefined {
  const from = start % rowBytes;
  let to = from + elementBytes;
  for (const { count, bytes } of axes) {
    if (bytes % rowBytes === 0) continue;
    if (bytes < 0) return undefined;
    to += (count - 1) * bytes;
  }
  return to <= rowBytes ? { from, to } : undefined;
}
