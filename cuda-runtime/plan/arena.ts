/** @file One block of memory for all that lives a while: buffers that are never wanted at once share addresses. */
import type { Step } from "./step.ts";
import type { DeviceBuffer, View } from "./view.ts";

/** The driver's own allocations are aligned as much; TMA descriptors and 16-byte accesses need less. */
export const bufferAlignment = 256;

export interface Lifetime {
  readonly buffer: DeviceBuffer;
  /** Indices of steps, both included. */
  readonly first: number;
  readonly last: number;
}

export interface Placement {
  /** Bytes from the arena's start, by buffer. */
  readonly offsets: ReadonlyMap<DeviceBuffer, number>;
  readonly bytes: number;
}

/** All views that a step names: what it reads, what it writes, and what its parameters point at. */
export function viewsOf({ action }: Step): readonly View[] {
  if (action.kind === "clear") return [action.view];
  const { reads, writes, params } = action.launch;
  return [...reads, ...writes, ...params.pointers.map(({ view }) => view)];
}

/** From the first step that names a buffer to the last, for the buffers that `isPlaced` picks. */
export function lifetimesOf(
  steps: readonly Step[],
  isPlaced: (buffer: DeviceBuffer) => boolean,
): readonly Lifetime[] {
  const found = new Map<DeviceBuffer, { buffer: DeviceBuffer; first: number; last: number }>();
  for (const [index, step] of steps.entries()) {
    for (const { buffer } of viewsOf(step)) {
      const known = found.get(buffer);
      if (known !== undefined) known.last = index;
      else if (isPlaced(buffer)) found.set(buffer, { buffer, first: index, last: index });
    }
  }
  return [...found.values()];
}

interface Placed extends Lifetime {
  readonly offset: number;
  readonly end: number;
}

/** The largest first, each into the tightest gap between those that live at the same time. The same for the same steps. */
export function placeBuffers(lifetimes: readonly Lifetime[]): Placement {
  const order = [...lifetimes].sort(
    (a, b) => b.buffer.bytes - a.buffer.bytes || a.first - b.first || a.buffer.id - b.buffer.id,
  );
  // By offset.
  const placed: Placed[] = [];
  for (const lifetime of order) {
    const size = aligned(Math.max(1, lifetime.buffer.bytes));
    const offset = tightestGap(placed, lifetime, size);
    const end = offset + size;
    const at = placed.findIndex((other) => other.offset > offset);
    placed.splice(at < 0 ? placed.length : at, 0, { ...lifetime, offset, end });
  }
  return {
    offsets: new Map(placed.map(({ buffer, offset }) => [buffer, offset])),
    bytes: placed.reduce((most, { end }) => Math.max(most, end), 0),
  };
}

/** The smallest gap of `size` bytes or more, else the end. `placed` is sorted by offset. */
function tightestGap(placed: readonly Placed[], { first, last }: Lifetime, size: number): number {
  let end = 0;
  let best: { offset: number; size: number } | undefined;
  for (const other of placed) {
    if (other.first > last || other.last < first) continue;
    const gap = other.offset - end;
    if (gap >= size && (best === undefined || gap < best.size)) best = { offset: end, size: gap };
    end = Math.max(end, other.end);
  }
  return best?.offset ?? end;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / bufferAlignment) * bufferAlignment;
}
