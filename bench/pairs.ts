/**
 * @file Changes measured on a GPU (bench/gpu/pairs.py) beside what the cost model says they save. No GPU.
 *
 *     node scripts/run.mjs bench/pairs.ts FILE.jsonl… [--parts] [--losses] [--missed]
 *
 * Prints a Markdown table by kind; --parts splits kinds further, --losses lists claims that lost, --missed large savings
 * that nobody claimed. Pairs with a shape that a fit may have read are left out; a file of bench/measurements/ is shown whole,
 * as in sample.
 */
import { parseArgs } from "node:util";
import type { Sample } from "../scripts/fit/data.ts";
import { createCostModel, type Run, type Saving } from "../src/cost/model.ts";
import { combineSavings } from "../src/cost/saving.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import type { Target } from "../src/hardware/target.ts";
import { isClaimed, isLoss, legend, measuredShare, type Outcome, tableOf } from "./pair-figures.ts";
import {
  fittedShapes,
  isFitFile,
  isFitted,
  type MeasuredPair,
  type MeasuredSide,
  readPairs,
} from "./pair-rows.ts";

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
    saving: savingOf(pair, target),
  };
}

/** As a timeline prices them: memory passes by pattern, kernel by kernel. */
function runOf({ work, precision, biased }: Sample, target: Target): Run {
  return { work, target: { ...target, precision }, detail: { biased }, runs: 1 };
}

function predicted({ samples }: MeasuredSide, target: Target): number {
  const runs = samples.map((sample) => runOf(sample, target));
  return runs.reduce(
    (sum, { work, target, detail }) => sum + cost.estimate(work, target, detail).microseconds,
    0,
  );
}

/** As a change of a workload is priced: what stays as it is costs and saves nothing. */
function savingOf({ before, after }: MeasuredPair, target: Target): Saving {
  const keyOf = ({ work, precision }: Sample) => JSON.stringify([work, precision]);
  const [was, becomes] = [before, after].map(({ samples }) => new Set(samples.map(keyOf)));
  const from = before.samples.filter((sample) => becomes?.has(keyOf(sample)) === false);
  const to = after.samples.filter((sample) => was?.has(keyOf(sample)) === false);
  const count = Math.max(from.length, to.length);
  const [old, made] = [from, to].map((samples) => samples.map((sample) => runOf(sample, target)));
  return combineSavings(
    Array.from({ length: count }, (_, index) => cost.savingOfRuns(old?.[index], made?.[index])),
  );
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
    const inSample = isFitFile(file);
    const fresh = inSample ? pairs : pairs.filter((pair) => !isFitted(pair, shapes));
    repeated += pairs.length - fresh.length;
    const left = inSample
      ? "in sample: the fit has read them"
      : `${pairs.length - fresh.length} of them left out`;
    console.log(`${made}; ${pairs.length} pairs, ${left}.`);
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
