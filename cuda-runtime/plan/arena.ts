/** @file One block of memory for all that lives a while: buffers that are never wanted at once share addresses. */
import { addressesIn } from "../ir/params.ts";
import type { Step } from "../ir/step.ts";
import type { DeviceBuffer, View } from "../ir/view.ts";
import { lastBeside, placesIn } from "./lanes.ts";

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
  return [...reads, ...writes, ...addressesIn(params).map(({ view }) => view)];
}

/** From the first step that names a buffer to the last that may run before all that name it are over, for the buffers that `isPlaced` picks. */
export function lifetimesOf(
  steps: readonly Step[],
  isPlaced: (buffer: DeviceBuffer) => boolean,
): readonly Lifetime[] {
  const found = new Map<DeviceBuffer, { buffer: DeviceBuffer; first: number; last: number }>();
  const last = lastBeside(placesIn(steps));
  for (const [index, step] of steps.entries()) {
    const end = last[index] ?? index;
    for (const { buffer } of viewsOf(step)) {
      const known = found.get(buffer);
      if (known !== undefined) known.last = Math.max(known.last, end);
      else if (isPlaced(buffer)) found.set(buffer, { buffer, first: index, last: end });
    }
  }
  return [...found.values()];
}

const stretchSteps = 32;

interface Placed extends Lifetime {
  readonly offset: number;
  readonly end: number;
}

/** What may be looked at to place buffers tightly. What is left then is small, and placed in the order of time. */
const maxLooks = 20_000_000;

/** The largest first, each into the tightest gap between those that live at the same time. The same for the same steps. */
export function placeBuffers(lifetimes: readonly Lifetime[], looks = maxLooks): Placement {
  const order = [...lifetimes].sort(
    (a, b) => b.buffer.bytes - a.buffer.bytes || a.first - b.first || a.buffer.id - b.buffer.id,
  );
  const placed = new Timeline();
  const offsets = new Map<DeviceBuffer, number>();
  let bytes = 0;
  for (const [index, lifetime] of order.entries()) {
    if (placed.looks > looks) return { offsets, bytes: placeInTime(order.slice(index), bytes, offsets) };
    const size = sizeOf(lifetime);
    const offset = tightestGap(placed.during(lifetime), size);
    const end = offset + size;
    placed.add({ ...lifetime, offset, end });
    offsets.set(lifetime.buffer, offset);
    bytes = Math.max(bytes, end);
  }
  return { offsets, bytes };
}

/** Step by step behind `start`: each where one of its size was that is over, else at the end, which is returned. */
function placeInTime(
  lifetimes: readonly Lifetime[],
  start: number,
  offsets: Map<DeviceBuffer, number>,
): number {
  const births = lifetimes.toSorted((a, b) => a.first - b.first);
  const deaths = lifetimes.toSorted((a, b) => a.last - b.last);
  const free = new Map<number, number[]>();
  let end = start;
  let over = 0;
  for (const lifetime of births) {
    for (let dead = deaths[over]; dead !== undefined && dead.last < lifetime.first; dead = deaths[over]) {
      const offset = offsets.get(dead.buffer);
      const places = free.get(sizeOf(dead)) ?? [];
      if (offset !== undefined) places.push(offset);
      free.set(sizeOf(dead), places);
      over += 1;
    }
    const size = sizeOf(lifetime);
    const offset = free.get(size)?.pop();
    offsets.set(lifetime.buffer, offset ?? end);
    if (offset === undefined) end += size;
  }
  return end;
}

function sizeOf({ buffer }: Lifetime): number {
  return aligned(Math.max(1, buffer.bytes));
}

/** The smallest gap of `size` bytes or more, else the end. `placed` is sorted by offset. */
function tightestGap(placed: readonly Placed[], size: number): number {
  let end = 0;
  let best: { offset: number; size: number } | undefined;
  for (const other of placed) {
    const gap = other.offset - end;
    if (gap >= size && (best === undefined || gap < best.size)) best = { offset: end, size: gap };
    end = Math.max(end, other.end);
  }
  return best?.offset ?? end;
}

/** What lives when, by stretches of steps: an unrolled loop has ten thousands of buffers, each for a few steps. */
class Timeline {
  readonly #stretches: Placed[][] = [];
  looks = 0;

  add(placed: Placed): void {
    for (const { lives } of this.#stretchesOf(placed)) lives.push(placed);
  }

  /** Those that live at some time together with `lifetime`, by offset. */
  during(lifetime: Lifetime): readonly Placed[] {
    const { first, last } = lifetime;
    const found: Placed[] = [];
    for (const { start, lives } of this.#stretchesOf(lifetime)) {
      this.looks += 1 + lives.length;
      for (const other of lives) {
        if (other.first > last || other.last < first) continue;
        // Whoever lived before a later stretch has been found in the one before it.
        if (start <= first || other.first >= start) found.push(other);
      }
    }
    return found.sort((a, b) => a.offset - b.offset);
  }

  *#stretchesOf({ first, last }: Lifetime): Generator<{ readonly start: number; readonly lives: Placed[] }> {
    for (let at = Math.floor(first / stretchSteps); at <= Math.floor(last / stretchSteps); at++) {
      const lives = this.#stretches[at] ?? [];
      this.#stretches[at] = lives;
      yield { start: at * stretchSteps, lives };
    }
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / bufferAlignment) * bufferAlignment;
}
