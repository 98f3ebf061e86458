/** @file Products one behind another that one launch computes sooner than two: where a plan has such a pair, and when it is taken. */
import { cheapest } from "../cost/candidate.ts";
import { type Launch, type PlanTarget, type Step, touched } from "../ir/step.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { type PairOfProducts, pairLaunch, pairWays } from "../kernels/gemm-pair/pair.ts";

/** With each product that follows the one it reads in that one's launch, where that is predicted to be faster. */
export function withPairs(steps: readonly Step[], target: PlanTarget): readonly Step[] {
  if (!target.features.wgmma) return steps;
  const readers = readersIn(steps);
  const joined: Step[] = [];
  for (const step of steps) {
    const before = joined.at(-1);
    const both = before && joinedOf(before, step, readers, target);
    if (both === undefined) joined.push(step);
    else joined[joined.length - 1] = both;
  }
  return joined;
}

/** How many steps read a buffer; those that are given out have one more reader. */
function readersIn(steps: readonly Step[]): (buffer: DeviceBuffer) => number {
  const counts = new Map<DeviceBuffer, number>();
  for (const { action } of steps) {
    const buffers = new Set(touched(action)[0].map(({ buffer }) => buffer));
    for (const buffer of buffers) counts.set(buffer, (counts.get(buffer) ?? 0) + 1);
  }
  return (buffer) => (counts.get(buffer) ?? 0) + (buffer.kind === "temporary" ? 0 : 1);
}

function joinedOf(
  before: Step,
  step: Step,
  readers: (buffer: DeviceBuffer) => number,
  target: PlanTarget,
): Step | undefined {
  const [one, other] = [launchOf(before), launchOf(step)];
  if (one?.product === undefined || other?.product === undefined) return undefined;
  const { view } = one.product.problem.d;
  const pair: PairOfProducts = {
    first: one.product,
    second: other.product,
    isKept: readers(view.buffer) > 1,
  };
  const ways = pairWays(pair, target).map((way) => ({ launch: way, microseconds: way.microseconds }));
  const best = cheapest(ways)?.launch;
  const apart = (one.predictedMicroseconds ?? 0) + (other.predictedMicroseconds ?? 0);
  if (best === undefined || best.microseconds >= apart) return undefined;
  return {
    ...before,
    action: { kind: "launch", launch: pairLaunch(pair, best) },
    beside: [...(before.beside ?? []), step.label, ...(step.beside ?? [])],
    chosenBy: "predicted",
  };
}

function launchOf({ action }: Step): Launch | undefined {
  return action.kind === "launch" ? action.launch : undefined;
}
