/**
 * @file Lanes: steps one behind another on each, those of different lanes beside each other (ADR 56).
 *
 * What is behind a step begins its work when that step and all that it waited for itself are over, though it may be launched before: every kernel of ours waits for
 * the launches in front of it (`griddepcontrol.wait`) before it reads or writes anything that changes, and before any of its blocks ends.
 */
import type { Place } from "../ir/place.ts";
import type { Step } from "../ir/step.ts";

/** By lane, the last step that is over; -1: none. */
type Clock = readonly number[];

/**
 * Each step behind one that it needs and that is the last of its lane, else on a lane whose last step is over by then, else on a new one; on the first where there are
 * `most`. `isBehindAll`: steps that stay behind all before them.
 */
export function placesOf(
  needs: readonly (readonly number[])[],
  most: number,
  isBehindAll: (step: number) => boolean = () => false,
): readonly Place[] {
  const lanes = new Lanes();
  for (const [step, own] of needs.entries()) {
    if (isBehindAll(step)) lanes.addBehindAll();
    // A run begins with one launch.
    else lanes.add(step > 0 && own.length === 0 ? [0] : own, most);
  }
  return lanes.places;
}

/** Steps as they were planned. */
export function placesIn(steps: readonly Step[]): readonly Place[] {
  const tails: number[] = [];
  return steps.map(({ lane = 0, waits = [] }, step) => {
    const front = tails[lane];
    tails[lane] = step;
    return { lane, front, waits };
  });
}

/** By step, the last one, itself at least, that may begin before it is over. */
export function lastBeside(places: readonly Place[]): readonly number[] {
  const last = [...places.keys()];
  if (places.every(({ lane }) => lane === 0)) return last;
  const lanes: number[][] = [];
  const clocks: Clock[] = [];
  for (const [step, place] of places.entries()) {
    const own = lanes[place.lane] ?? [];
    lanes[place.lane] = own;
    own.push(step);
    clocks.push(clockBefore(place, places, clocks));
  }
  for (const [lane, steps] of lanes.entries()) {
    for (let later = places.length - 1; later >= 0; later--) {
      const over = clocks[later]?.[lane] ?? -1;
      for (let own = steps.at(-1); own !== undefined && own > over; own = steps.at(-1)) {
        last[own] = Math.max(own, later);
        steps.pop();
      }
    }
  }
  return last;
}

class Lanes {
  readonly places: Place[] = [];
  readonly #clocks: Clock[] = [];
  /** Of each lane, its last step. */
  readonly #tails: number[] = [];

  add(needs: readonly number[], most: number): void {
    const known = joined(needs.map((need) => this.#behind(need)));
    const over = this.#tails.findIndex((tail, lane) => tail <= (known[lane] ?? -1));
    const fresh = this.#tails.length < most ? this.#tails.length : 0;
    const needed = needs.findLast((need) => this.#tails.includes(need));
    const lane = needed === undefined ? undefined : this.places[needed]?.lane;
    this.#place(lane ?? (over < 0 ? fresh : over), needs);
  }

  addBehindAll(): void {
    this.#place(this.places.at(-1)?.lane ?? 0, this.#tails);
  }

  #place(lane: number, needs: readonly number[]): void {
    const front = this.#tails[lane];
    const before = front === undefined ? [] : this.#behind(front);
    const open = needs.filter((need) => !this.#isOver(need, before));
    // Who waits for one that waited for another need not wait for that.
    const waits = open.filter((need) =>
      open.every((other) => other === need || !this.#isOver(need, this.#behind(other))),
    );
    const place = { lane, front, waits };
    this.#clocks.push(clockBefore(place, this.places, this.#clocks));
    this.#tails[lane] = this.places.length;
    this.places.push(place);
  }

  #isOver(step: number, clock: Clock): boolean {
    return (clock[this.places[step]?.lane ?? 0] ?? -1) >= step;
  }

  #behind(step: number): Clock {
    return clockBehind(step, this.places, this.#clocks);
  }
}

function clockBefore({ front, waits }: Place, places: readonly Place[], clocks: readonly Clock[]): Clock {
  const behind = front === undefined ? waits : [front, ...waits];
  return joined(behind.map((step) => clockBehind(step, places, clocks)));
}

/** What is over when the step is. */
function clockBehind(step: number, places: readonly Place[], clocks: readonly Clock[]): Clock {
  const lane = places[step]?.lane ?? 0;
  const own = Array.from({ length: lane + 1 }, (_, each) => (each === lane ? step : -1));
  return joined([clocks[step] ?? [], own]);
}

function joined(clocks: readonly Clock[]): number[] {
  const lanes = clocks.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: lanes }, (_, lane) =>
    clocks.reduce((last, clock) => Math.max(last, clock[lane] ?? -1), -1),
  );
}
