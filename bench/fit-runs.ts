/**
 * @file Fits what a launch of a whole run takes beside its own time (cuda-runtime/cost/predict.ts) to whole runs of several batches.
 *
 *     node scripts/run.mjs bench/fit-runs.ts
 *
 * Reads bench/measurements/h100-runtime-batches.jsonl and prints, for each limit of exposed bytes, the best constants and how far off runs are then. Models
 * whose launches are priced a fifth off by themselves say nothing of what is between launches, and are judged but not fitted to.
 */
import { readFileSync } from "node:fs";
import { runStartMicroseconds } from "../cuda-runtime/cost/predict.ts";
import { machineNamed } from "../src/hardware/machine.ts";
import { errorText } from "./prediction-errors.ts";

/** Kind (1: a chain), microseconds by itself and as part of the run, bytes. */
type LaunchRow = readonly [kind: number, alone: number, inRun: number, bytes: number];
interface RunRow {
  readonly model: string;
  readonly batch: number;
  readonly microseconds: number;
  readonly launches: readonly LaunchRow[];
}
type Constants = readonly [built: number, chain: number, exposed: number];

const isPoor = /^(c3d|seg_unet|tcn|crnn)$/;
/** Of a run as exported, which is what is priced most; of a batch 1. */
const weightOfOne = 4;
const { dram } = machineNamed("h100").bandwidth;

const rows = readFileSync("bench/measurements/h100-runtime-batches.jsonl", "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line): RunRow => JSON.parse(line));
const batches = [...new Set(rows.map(({ batch }) => batch))];

for (const limit of [1e6, 2e6, 3e6, 4e6, 8e6]) {
  const best = descend((constants) => lossOf(constants, limit));
  const off = batches.map((batch) => {
    const ratios = rows.filter((row) => row.batch === batch).map((row) => ratioOf(row, best, limit));
    return `batch ${batch} ${errorText(ratios)}`;
  });
  const [built, chain, exposed] = best.map((value) => value.toFixed(2));
  console.log(`${limit / 1e6} MB: between ${built} and ${chain}, exposed ${exposed}; ${off.join("; ")}`);
}

function ratioOf(
  { launches, microseconds }: RunRow,
  [built, chain, exposed]: Constants,
  limit: number,
): number {
  const own = launches.map(
    ([kind, alone, , bytes]) =>
      alone + (kind === 1 ? chain : built) + (exposed * Math.min(bytes, limit)) / dram,
  );
  return own.reduce((sum, each) => sum + each, runStartMicroseconds) / microseconds;
}

function lossOf(constants: Constants, limit: number): number {
  return rows
    .filter(({ model }) => !isPoor.test(model))
    .reduce((sum, row) => {
      const weight = row.batch === 1 ? weightOfOne : 1;
      return sum + weight * Math.abs(Math.log(Math.max(1e-3, ratioOf(row, constants, limit))));
    }, 0);
}

/** One constant after the other, by steps that halve. */
function descend(loss: (constants: Constants) => number): Constants {
  let best: Constants = [0.1, -0.2, 1];
  let least = loss(best);
  for (let step = 0.32; step > 0.002; step /= 2) {
    for (let isBetter = true; isBetter; ) {
      isBetter = false;
      for (const index of [0, 1, 2])
        for (const by of [step, -step]) {
          const [built, chain, exposed] = best.map((value, at) => value + (at === index ? by : 0));
          if (built === undefined || chain === undefined || exposed === undefined) continue;
          const tried = loss([built, chain, exposed]);
          if (tried >= least) continue;
          [best, least, isBetter] = [[built, chain, exposed], tried, true];
        }
    }
  }
  return best;
}
