/** @file What a model takes, and takes less, where it runs one of several branches: the dearest, whichever that is once some of them take less. */
import type { Facts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { maxOf } from "../ir/lists.ts";
import { isChoice } from "./branches.ts";
import { everyStep, type Step, type Timeline } from "./timeline.ts";

/** A model with what is known of its kernels. */
export interface Branched {
  readonly facts: Facts;
  readonly timeline: Timeline;
}

/** Microseconds by graph that each of several claims saves of kernels there, no more than these take. */
export type Cuts<T> = ReadonlyMap<T, ReadonlyMap<Scope, number>>;

/** Microseconds of a run in which kernels take as long as `timeOf` says. */
export function timeWithin({ facts, timeline }: Branched, timeOf: (step: Step) => number): number {
  const own = ownTimes(timeline, timeOf);
  if (timeline.choices === undefined) return sumOf(own.values());
  return partOf<never>(facts.root, own, new Map()).time;
}

/**
 * What the run takes less once all of these are saved, shared out among them. A branch saves nothing below the dearest of the others as they are: from
 * there on all that reach so far have to take less, and each has an equal part.
 */
export function savedWithin<T>(
  { facts, timeline }: Branched,
  timeOf: (step: Step) => number,
  cuts: Cuts<T>,
): ReadonlyMap<T, number> {
  if (timeline.choices === undefined)
    return new Map([...cuts].map(([claim, byScope]) => [claim, sumOf(byScope.values())]));
  const byScope = new Map<Scope, Map<T, number>>();
  for (const [claim, cut] of cuts)
    for (const [scope, microseconds] of cut) {
      const claims = byScope.get(scope) ?? new Map<T, number>();
      byScope.set(scope, claims.set(claim, microseconds));
    }
  return withinOwn(partOf(facts.root, ownTimes(timeline, timeOf), byScope).saved, cuts, facts.root);
}

/** None saves more than it cuts of a run, be it in several branches: what is more is saved by the others. */
function withinOwn<T>(saved: ReadonlyMap<T, number>, cuts: Cuts<T>, root: Scope): ReadonlyMap<T, number> {
  const most = new Map([...cuts].map(([claim, cut]) => [claim, ofRun(cut, root)]));
  let [beyond, room] = [0, 0];
  for (const [claim, microseconds] of saved) {
    const left = (most.get(claim) ?? 0) - microseconds;
    beyond += Math.max(0, -left);
    room += Math.max(0, left);
  }
  if (beyond === 0) return saved;
  const part = room > 0 ? Math.min(1, beyond / room) : 0;
  const kept = [...saved].map(([claim, microseconds]) => {
    const own = most.get(claim) ?? 0;
    return [claim, microseconds > own ? own : microseconds + (own - microseconds) * part] as const;
  });
  return new Map(kept);
}

/** Microseconds by graph that a run takes, of branches the most. */
function ofRun(own: ReadonlyMap<Scope, number>, root: Scope): number {
  return own.size > 1 ? partOf<never>(root, own, new Map()).time : sumOf(own.values());
}

/** What a graph takes, with all that is in it, and what of that each claim saves. */
interface Part<T> {
  time: number;
  readonly saved: Map<T, number>;
}

function partOf<T>(
  scope: Scope,
  own: ReadonlyMap<Scope, number>,
  cuts: ReadonlyMap<Scope, ReadonlyMap<T, number>>,
): Part<T> {
  const whole: Part<T> = { time: own.get(scope) ?? 0, saved: new Map(cuts.get(scope)) };
  for (const [node, graphs] of scope.children) {
    const parts = graphs.map((graph) => partOf(graph, own, cuts));
    for (const part of isChoice(node, graphs) ? [dearestOf(parts)] : parts) {
      whole.time += part.time;
      addTo(whole.saved, part.saved, 1);
    }
  }
  return whole;
}

/** Of microseconds that are left of sums which cancel each other. */
const rounding = 1e-9;

/** Of branches: the time of the dearest, and what that is less where each takes what its claims leave of it. */
function dearestOf<T>(parts: readonly Part<T>[]): Part<T> {
  const ranked = parts
    .map((part) => ({ ...part, cut: sumOf(part.saved.values()) }))
    .sort((a, b) => b.time - a.time);
  const left = maxOf(ranked.map(({ time, cut }) => time - cut));
  const whole: Part<T> = { time: ranked[0]?.time ?? 0, saved: new Map() };
  // From the top, level by level: of what lies between two branches' times all that reach as high save the same.
  let shares = 0;
  for (const [index, { time }] of ranked.toReversed().entries()) {
    const rank = ranked.length - index;
    const { saved, cut } = ranked[rank - 1] ?? { saved: new Map<T, number>(), cut: 0 };
    const below = Math.max(left, ranked[rank]?.time ?? left);
    shares += Math.max(0, time - below) / rank;
    if (shares > rounding && cut > 0) addTo(whole.saved, saved, shares / cut);
  }
  return whole;
}

function addTo<T>(sums: Map<T, number>, more: ReadonlyMap<T, number>, part: number): void {
  for (const [claim, microseconds] of more) sums.set(claim, (sums.get(claim) ?? 0) + microseconds * part);
}

function ownTimes(timeline: Timeline, timeOf: (step: Step) => number): Map<Scope, number> {
  const own = new Map<Scope, number>();
  for (const step of everyStep(timeline)) own.set(step.scope, (own.get(step.scope) ?? 0) + timeOf(step));
  return own;
}

function sumOf(times: Iterable<number>): number {
  let sum = 0;
  for (const time of times) sum += time;
  return sum;
}
