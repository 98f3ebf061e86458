/**
 * @file Changes measured on a GPU (bench/gpu/pairs.py) beside what the cost model says they save. No GPU.
 *
 *     node scripts/run.mjs bench/pairs.ts FILE.jsonl… [--parts] [--losses] [--missed]
 *
 * Prints a Markdown table by kind; --parts splits kinds further, --losses lists claims that lost, --missed large savings
 * that nobody claimed. Pairs with a shape that a fit may have read are left out.
 */
import { parseArgs } from "node:util";
import { createCostModel, type Saving } from "../src/cost/model.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import type { Target } from "../src/hardware/target.ts";
import type { LintContext } from "../src/lint/context.ts";
import { stepSavingAt } from "../src/lint/precision.ts";
import type { Step } from "../src/workload/timeline.ts";
import { isClaimed, isLoss, legend, measuredShare, type Outcome, tableOf } from "./pair-figures.ts";
import { fittedShapes, isFitted, type MeasuredPair, type MeasuredSide, readPairs } from "./pair-rows.ts";

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    parts: { type: "boolean", default: false },
    losses: { type: "boolean", default: false },
    missed: { type: "boolean", default: false },
  },
});

const cost = createCostModel();

interface Judged extends Outcome {
  readonly pair: MeasuredPair;
}

function targetOf(id: string): Target {
  const gpu = findGpu(id);
  if (gpu === undefined) throw new Error(`no row of a GPU ${id}`);
  return { gpu, stack: stacks.cudnn, precision: "as-is" };
}

function judged(pair: MeasuredPair, target: Target): Judged {
  const { kind, part, before, after } = pair;
  return {
    pair,
    kind: options.parts ? `${kind} ${part}` : kind,
    before: before.microseconds,
    after: after.microseconds,
    predictedBefore: predicted(before, target),
    saving: kind.startsWith("precision-") ? savingOfPrecision(before, target) : savingOf(pair, target),
  };
}

/** As a timeline prices them: memory passes by pattern, kernel by kernel. */
function predicted({ samples }: MeasuredSide, target: Target): number {
  return samples.reduce(
    (sum, { work, precision }) => sum + cost.estimate(work, { ...target, precision }).microseconds,
    0,
  );
}

/** As rules price a change: what stays as it is costs and saves nothing. */
function savingOf({ before, after }: MeasuredPair, target: Target): Saving {
  const stays = new Set(before.samples.map(({ work }) => JSON.stringify(work)));
  const kept = new Set(
    after.samples.map(({ work }) => JSON.stringify(work)).filter((work) => stays.has(work)),
  );
  const changed = ({ samples }: MeasuredSide) =>
    samples.map(({ work }) => work).filter((work) => !kept.has(JSON.stringify(work)));
  return cost.savingOf(changed(before), changed(after), target);
}

/** By the rule's own arithmetic, which reads a step's work and asks its context for estimates alone. */
function savingOfPrecision({ samples }: MeasuredSide, target: Target): Saving {
  const [only] = samples;
  if (only === undefined) throw new Error("a side without a row");
  const context: Pick<LintContext, "estimateAt"> = {
    estimateAt: (work, precision) => cost.estimate(work, { ...target, precision }),
  };
  const step: Pick<Step, "work" | "runs"> = { work: only.work, runs: 1 };
  return stepSavingAt(step as Step, only.precision, "fp16", context as LintContext);
}

function listed(title: string, outcomes: readonly Judged[]): string {
  const lines = outcomes.map((each) => {
    const { before, after, saving, kind, pair } = each;
    const [low, middle, high] = [saving.low, saving.microseconds, saving.high].map((us) => us.toFixed(2));
    const change = `${before} → ${after} µs (${(100 * measuredShare(each)).toFixed(1)} %)`;
    return `- ${kind} ${pair.part}: ${pair.text}: ${change}, predicted ${middle} [${low}, ${high}] of ${each.predictedBefore.toFixed(2)}`;
  });
  return [`${title}: ${outcomes.length}`, ...lines].join("\n");
}

function main(): void {
  if (files.length === 0) throw new Error("which files? see the comment of this file");
  const { shapes, hasShared } = fittedShapes();
  if (!hasShared) console.error("the shared measurements are not here: their shapes are not left out");
  const outcomes: Judged[] = [];
  let repeated = 0;
  for (const file of files) {
    const { gpu, made, pairs } = readPairs(file);
    const fresh = pairs.filter((pair) => !isFitted(pair, shapes));
    repeated += pairs.length - fresh.length;
    console.log(`${made}; ${pairs.length} pairs, ${pairs.length - fresh.length} of them left out.`);
    outcomes.push(...fresh.map((pair) => judged(pair, targetOf(gpu))));
  }
  console.log(`\n${outcomes.length} pairs; ${repeated} left out whose shape is in a file that fits read.\n`);
  console.log(`${tableOf(outcomes)}\n\n${legend}`);
  const losses = outcomes.filter((each) => isClaimed(each) && isLoss(each));
  if (options.losses) console.log(`\n${listed("Claims that lost", losses)}`);
  const missed = outcomes.filter((each) => !isClaimed(each) && measuredShare(each) > 0.05);
  if (options.missed) console.log(`\n${listed("Savings above 5 % that were not claimed", missed)}`);
}

main();
