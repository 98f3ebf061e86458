/**
 * @file Changes measured on a GPU (bench/gpu/pairs.py) beside what the cost model says they save. No GPU.
 *
 *     node scripts/run.mjs bench/pairs.ts FILE.jsonl… [--parts] [--sizes] [--losses] [--missed]
 *
 * Prints a Markdown table by kind; --parts splits kinds further, --sizes large savings by their size, --losses lists claims that lost, --missed large savings
 * that nobody claimed. Pairs with a shape that a fit may have read are left out; a file of bench/measurements/ is shown whole,
 * as in sample.
 */
import { parseArgs } from "node:util";
import { isClaimed, isLoss, legend, measuredShare, sizesOf, tableOf } from "./pair-figures.ts";
import { type Judged, judged, targetOf } from "./pair-judge.ts";
import { fittedShapes, isFitFile, isFitted, readPairs } from "./pair-rows.ts";

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    parts: { type: "boolean", default: false },
    sizes: { type: "boolean", default: false },
    losses: { type: "boolean", default: false },
    missed: { type: "boolean", default: false },
  },
});

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
    outcomes.push(...fresh.map((pair) => judged(pair, targetOf(gpu), options.parts)));
  }
  console.log(`\n${outcomes.length} pairs; ${repeated} left out whose shape is in a file that fits read.\n`);
  console.log(`${tableOf(outcomes)}\n\n${legend}`);
  if (options.sizes) console.log(`\n${sizesOf(outcomes)}`);
  const losses = outcomes.filter((each) => isClaimed(each) && isLoss(each));
  if (options.losses) console.log(`\n${listed("Claims that lost", losses)}`);
  const missed = outcomes.filter((each) => !isClaimed(each) && measuredShare(each) > 0.05);
  if (options.missed) console.log(`\n${listed("Savings above 5 % that were not claimed", missed)}`);
}

main();
