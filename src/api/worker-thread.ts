/** @file What a worker thread does: lints the models, or compares the pairs of models, that it is sent, one at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "../ir/errors.ts";
import { SharedText, shareRunning } from "../ir/running.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import type { Pair, PairOutcome } from "./compare-pair.ts";
import { failureOf } from "./failed-report.ts";
import { lintFile } from "./lint-file.ts";
import { hasLintedHere } from "./linted-here.ts";
import { prepare } from "./prepare.ts";
import { withTimelines } from "./timelines.ts";

/** A pair, and the plan that it is compared by. */
export interface PairRequest {
  readonly pair: Pair;
  readonly plan: LintPlan;
}

/** `keepCompiled` is called once a model was linted, before that is answered: whoever has all answers ends this thread. */
export function answerRequests(keepCompiled: () => void): void {
  invariant(parentPort !== null, "requests come to worker threads only");
  const port = parentPort;
  if (workerData instanceof SharedArrayBuffer) shareRunning(new SharedText(workerData));
  port.on("message", (request: LintPlan | PairRequest) => {
    void ("pair" in request ? compared(request) : linted(request)).then((answer) => {
      if (hasLintedHere()) keepCompiled();
      port.postMessage(answer);
    });
  });
}

async function linted(plan: LintPlan): Promise<LintOutcome> {
  try {
    return await lintedBy(plan);
  } catch (error) {
    // Of a plugin that cannot be loaded.
    return failureOf(plan, error);
  }
}

async function lintedBy(plan: LintPlan): Promise<LintOutcome> {
  const cache = plan.cache && (await import("../files/lint-cache.ts"));
  const known = cache?.knownOutcome(plan);
  if (known !== undefined) return known;
  await prepare(plan);
  return withTimelines(() => lintFile(plan, { newRecord: cache?.newRecord }));
}

async function compared({ pair, plan }: PairRequest): Promise<PairOutcome> {
  await prepare(plan);
  const { comparePair } = await import("./compare-pair.ts");
  // Whoever sent it ends the thread where it takes too much.
  return withTimelines(() => comparePair(pair, (_, work) => work()));
}
