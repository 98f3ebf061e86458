/** @file Branches of a model beside each other: which steps of a run are launched on lanes of their own (ADR 56). */
import { type LaneWork, lanesMicroseconds } from "../cost/lanes.ts";
import { predictedMicroseconds } from "../cost/predict.ts";
import type { Place } from "../ir/place.ts";
import type { PlanTarget, Step } from "../ir/step.ts";
import { lastBeside, placesOf } from "./lanes.ts";
import { needsOf } from "./needs.ts";

/** Four ran 54 models in as little time as six: 0.970 of the time in order, two lanes 0.979 (bench/results/lanes.md). */
const mostLanes = 4;
/** Unrolled loops have ten thousands of steps, one behind another. */
const mostSteps = 2000;
/** What a stretch has to take less, of its time and in microseconds: predictions are no better. */
const leastGain = { share: 0.02, microseconds: 0.3 } as const;

/** Steps from the first that another runs beside to the last, all before them over. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

/**
 * The same steps, those on lanes of their own that are predicted to take less so. Where launches overlap: elsewhere nobody has measured what a lane costs.
 * Their predicted times are then what the run takes longer by each.
 */
export function withBranches(steps: readonly Step[], target: PlanTarget): readonly Step[] {
  if (!target.features.overlap || steps.length > mostSteps) return steps;
  const needs = needsOf(steps);
  const works = steps.map((step) => workOf(step, target));
  const tried = placesOf(needs, mostLanes);
  const taken = stretchesOf(tried).filter((stretch) => gains(timesOf(stretch, tried, works)));
  if (taken.length === 0) return steps;
  const stretchOf = (step: number) => taken.find(({ first, last }) => first <= step && step <= last);
  const isBehindAll = (step: number) => (stretchOf(step)?.first ?? step) === step;
  const places = placesOf(needs, mostLanes, isBehindAll);
  const shares = new Map(taken.map((stretch) => [stretch, shareOf(timesOf(stretch, places, works))]));
  return steps.map((step, index) => {
    const { lane = 0, waits = [] } = places[index] ?? {};
    const stretch = stretchOf(index);
    const runShare = stretch && shares.get(stretch);
    return { ...step, lane, waits, action: { ...step.action, runShare } };
  });
}

function workOf({ action }: Step, target: PlanTarget): LaneWork {
  const microseconds = predictedMicroseconds(action, target);
  if (action.kind === "clear") return { microseconds, share: 1, isChain: false };
  const { grid, kernel } = action.launch;
  const share = Math.min(1, (grid[0] * grid[1] * grid[2]) / target.multiprocessors);
  return { microseconds, share, isChain: kernel.kind === "ptx" };
}

function stretchesOf(places: readonly Place[]): Stretch[] {
  const stretches: Stretch[] = [];
  let open: Stretch | undefined;
  for (const [step, last] of lastBeside(places).entries()) {
    if (open !== undefined && step > open.last) {
      stretches.push(open);
      open = undefined;
    }
    if (open !== undefined) open = { ...open, last: Math.max(open.last, last) };
    else if (last > step) open = { first: step, last };
  }
  return open === undefined ? stretches : [...stretches, open];
}

/** Microseconds of a stretch. */
interface Times {
  readonly inOrder: number;
  readonly inLanes: number;
}

/** With what the step behind it waits for. */
function timesOf({ first, last }: Stretch, places: readonly Place[], works: readonly LaneWork[]): Times {
  const within = works.slice(first, last + 1);
  const inOrder = within.reduce((sum, { microseconds }) => sum + microseconds, 0);
  const moved = places.slice(first, last + 2).map((place, index) => ({
    ...place,
    // What the first waits for ends another stretch.
    waits: index === 0 ? [] : place.waits.map((wait) => wait - first),
  }));
  return { inOrder, inLanes: lanesMicroseconds(within, moved) };
}

function shareOf({ inOrder, inLanes }: Times): number {
  return inLanes / inOrder;
}

function gains({ inOrder, inLanes }: Times): boolean {
  return inOrder - inLanes >= Math.max(leastGain.microseconds, leastGain.share * inOrder);
}
