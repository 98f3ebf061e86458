/** @file A measured pair beside what the cost model says of it. */
import type { Sample } from "../scripts/fit/data.ts";
import { createCostModel, type Run, type Saving } from "../src/cost/model.ts";
import { combineSavings } from "../src/cost/saving.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import type { Target } from "../src/hardware/target.ts";
import type { Outcome } from "./pair-figures.ts";
import type { MeasuredPair, MeasuredSide } from "./pair-rows.ts";

const cost = createCostModel();

export interface Judged extends Outcome {
  readonly pair: MeasuredPair;
}

export function targetOf(id: string): Target {
  const gpu = findGpu(id);
  if (gpu === undefined) throw new Error(`no row of a GPU ${id}`);
  return { gpu, stack: stacks.cudnn, precision: "as-is" };
}

export function judged(pair: MeasuredPair, target: Target, byPart = false): Judged {
  const { kind, part, before, after } = pair;
  return {
    pair,
    kind: byPart ? `${kind} ${part}` : kind,
    before: before.microseconds,
    after: after.microseconds,
    predictedBefore: predicted(before, target),
    saving: savingOf(pair, target),
  };
}

/** As this stack's timeline prices them, kernel by kernel: passes over memory by name. */
function runOf({ work, precision, biased, variant }: Sample, target: Target): Run {
  return { work, target: { ...target, precision }, detail: { biased, variant }, runs: 1 };
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
