/** @file Pairs compared side by side: one in the main thread, several in threads of their own, in the order that they came in. */
import { availableParallelism } from "node:os";
import { Guard } from "../limits/guard.ts";
import { answerSignals } from "../onnx/cleanup.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import type { CompareRequest, Taken } from "./compare-all.ts";
import { comparePair, failedPair, type Pair, type PairOutcome } from "./compare-pair.ts";
import { prepare } from "./prepare.ts";
import { refusalOf } from "./refuse.ts";
import { progressText, Tally } from "./tally.ts";
import { withTimelines } from "./timelines.ts";
import { Slot } from "./worker-pool.ts";

/** Compares a pair as a plan says. */
export type Compare = (pair: Pair, plan: LintPlan) => Promise<Taken>;

type LaneRequest = Pick<CompareRequest, "jobs" | "workerUrl" | "limits" | "onProgress">;

/** What the items are, to people. */
interface Named<Item> {
  readonly noun: string;
  readonly labelOf: (item: Item) => string;
}

/**
 * What `work` makes of each item, in their order. Work begins in that order too: what it does before it first waits is done for one item
 * after the other.
 */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  request: LaneRequest,
  { noun, labelOf }: Named<Item>,
  work: (item: Item, compare: Compare) => Promise<Result>,
): Promise<Result[]> {
  const lanes = Math.min(request.jobs ?? availableParallelism(), items.length);
  const results: Result[] = new Array(items.length);
  const tally = new Tally(items.length, (progress) =>
    request.onProgress(`${progressText(progress, noun)} …`),
  );
  let next = 0;
  const lane = async () => {
    const slot = lanes > 1 ? new Slot<PairOutcome>(request, lanes) : undefined;
    try {
      for (let index = next++; index < items.length; index = next++) {
        const item = items[index];
        if (item === undefined) continue;
        tally.begin(index, labelOf(item));
        results[index] = await work(item, comparer(request, slot));
        tally.end(index);
      }
    } finally {
      await slot?.close();
    }
  };
  // One that throws must not leave the others behind, with folders that they still use.
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return results;
}

function comparer({ limits }: LaneRequest, slot: Slot<PairOutcome> | undefined): Compare {
  return async (given, plan) => {
    const pair = withoutMusts(given);
    // A signal that came while git ran is answered now, not after minutes of work.
    await answerSignals();
    const outcome = slot === undefined ? await here(pair, plan, limits) : await inThread(slot, pair, plan);
    await answerSignals();
    return { outcome, plan };
  };
}

/** Of two models a size may be of one alone; that it is of neither is said at the end. */
function withoutMusts(pair: Pair): Pair {
  const without = (side: Pair["base"]) => side && { ...side, plan: { ...side.plan, mustHave: [] } };
  return { ...pair, base: without(pair.base), head: without(pair.head) };
}

async function here(pair: Pair, plan: LintPlan, limits: LaneRequest["limits"]): Promise<PairOutcome> {
  await prepare(plan);
  return withTimelines(() =>
    comparePair(pair, (path, work) => new Guard({ path, doing: "comparing", ...limits }).runRepeatable(work)),
  );
}

async function inThread(slot: Slot<PairOutcome>, pair: Pair, plan: LintPlan): Promise<PairOutcome> {
  const { base, head } = pair;
  for (const name of ["base", "head"] as const) {
    const side = pair[name];
    if (side?.plan.refused !== undefined) return failedPair(pair, name, side, refusalOf(side.plan));
  }
  const failed = (error: unknown) => {
    if (head !== undefined) return failedPair(pair, "head", head, error);
    if (base !== undefined) return failedPair(pair, "base", base, error);
    throw error;
  };
  const path = head?.file ?? base?.file ?? pair.path;
  return slot.run({ pair, plan }, { path, doing: "comparing", failed });
}
