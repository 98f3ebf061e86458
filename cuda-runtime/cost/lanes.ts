/** @file What launches take that run beside each other, on several lanes (ADR 56). */
import type { Place } from "../ir/place.ts";

export interface LaneWork {
  /** By itself. */
  readonly microseconds: number;
  /** Of the multiprocessors that its blocks take: 0 to 1. */
  readonly share: number;
  /** A generated chain, which lets the next launch in before it waits itself. */
  readonly isChain: boolean;
}

// 19 models of batch 1 with up to four lanes on an H200, beside the same in order (bench/results/lanes.md).

/** Of a launch, what goes on beside others and takes nothing from them: it begins, and its last blocks end. */
const hiddenMicroseconds = 1;
/** A launch that waits for one of another lane begins so much later. Chains lose what they gain behind one in front of them. */
const joinMicroseconds = { chain: 1.75, other: 1.25 } as const;
/** What the rest takes from others beside it is its share of the multiprocessors to this power: blocks of a part of the GPU still share its memory. */
const shareExponent = 0.5;

/** Microseconds from the first's beginning until all are over. Waits for what is not among them are over, and places without work take none; a lane's launches come in order. */
export function lanesMicroseconds(works: readonly LaneWork[], places: readonly Place[]): number {
  const running = new Map<number, Running>();
  const isOver = works.map(() => false);
  const queues = queuesOf(places);
  let now = 0;
  for (;;) {
    for (const queue of queues) {
      const [next] = queue;
      const place = next === undefined ? undefined : places[next];
      if (next === undefined || place === undefined || running.has(next)) continue;
      if (place.waits.every((wait) => isOver[wait] ?? true)) running.set(next, started(works[next], place));
    }
    if (running.size === 0) return now;
    const elapsed = advance([...running.values()]);
    now += elapsed;
    for (const [step, { delay, rest }] of running) {
      if (delay + rest > epsilon) continue;
      isOver[step] = true;
      running.delete(step);
      for (const queue of queues) if (queue[0] === step) queue.shift();
    }
  }
}

const epsilon = 1e-9;

/** Microseconds until its work begins, and of that. */
interface Running {
  delay: number;
  rest: number;
  readonly weight: number;
}

function started(work: LaneWork | undefined, { waits }: Place): Running {
  const { microseconds = 0, share = 0, isChain = false } = work ?? {};
  const hidden = Math.min(hiddenMicroseconds, microseconds);
  const join = waits.length > 0 ? joinMicroseconds[isChain ? "chain" : "other"] : 0;
  return { delay: join + hidden, rest: microseconds - hidden, weight: share ** shareExponent };
}

/** Until the next of them begins or ends: those that have begun share the GPU. */
function advance(running: readonly Running[]): number {
  const busy = running.filter(({ delay }) => delay <= epsilon);
  const crowd = busy.reduce((sum, { weight }) => sum + weight, 0);
  const slowdown = Math.max(1, crowd);
  const untilNext = running.map(({ delay, rest }) => (delay > epsilon ? delay : rest * slowdown));
  const elapsed = untilNext.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
  for (const each of running) {
    if (each.delay > epsilon) each.delay -= elapsed;
    else each.rest -= elapsed / slowdown;
  }
  return elapsed;
}

function queuesOf(places: readonly Place[]): number[][] {
  const queues = new Map<number, number[]>();
  for (const [step, { lane }] of places.entries()) {
    const queue = queues.get(lane) ?? [];
    queue.push(step);
    queues.set(lane, queue);
  }
  return [...queues.values()];
}
