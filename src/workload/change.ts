/** @file What becomes of a workload's kernels when the model, the precision or the layout changes. */
import type { CostModel, Run, Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import { push } from "../ir/group.ts";
import { labelOf } from "../ir/model.ts";
import type { Work } from "../ops/work.ts";
import type { Step } from "./timeline.ts";
import type { PriceSettings, Workload } from "./workload.ts";

/** A kernel that takes another time, one that is gone, or one that is new. */
export interface StepChange {
  readonly before: Step | undefined;
  readonly after: Step | undefined;
  /** All runs; negative where it costs. */
  readonly saves: Saving;
}

export interface WorkloadChange {
  /** Of the whole run: `microseconds` is the difference of the two timelines' own. */
  readonly saves: Saving;
  /** What is not listed takes the same time before and after. */
  readonly steps: readonly StepChange[];
}

export const noChange: WorkloadChange = { saves: { microseconds: 0, low: 0, high: 0 }, steps: [] };

/** Kernels are known again by their graph and the name of their first node. */
export function changeBetween(before: Workload, after: Workload, cost: CostModel): WorkloadChange {
  const rest = new Map<string, Step[]>();
  for (const step of after.timeline.steps) push(rest, nameOf(step), step);
  for (const steps of rest.values()) steps.reverse();
  const pairs: { before: Step | undefined; after: Step | undefined }[] = [];
  for (const step of before.timeline.steps)
    pairs.push({ before: step, after: rest.get(nameOf(step))?.pop() });
  for (const steps of rest.values())
    for (const step of steps.reverse()) pairs.push({ before: undefined, after: step });
  const steps = pairs
    .filter((pair) => pair.before?.microseconds !== pair.after?.microseconds)
    .map((pair) => ({ ...pair, saves: savingOf(pair.before, pair.after, before, after, cost) }));
  const microseconds = before.timeline.microseconds - after.timeline.microseconds;
  return { saves: around(microseconds, combineSavings(steps.map(({ saves }) => saves))), steps };
}

/** Work that becomes other work in one model. */
export interface WorkChange {
  readonly before: Work<number>;
  readonly after: Work<number>;
  /** In one run of the model. */
  readonly runs: number;
}

/** Microseconds that may be missing from the predicted saving of changes that happen together, in one case of twenty. */
export function uncertaintyOf(changes: readonly WorkChange[], { target, cost }: PriceSettings): number {
  const runOf = (work: Work<number>, runs: number): Run => ({ work, target, detail: {}, runs });
  const saved = combineSavings(
    changes.map(({ before, after, runs }) => cost.savingOfRuns(runOf(before, runs), runOf(after, runs))),
  );
  return saved.microseconds - saved.low;
}

function nameOf({ scope, nodes: [node], family }: Step): string {
  return `${scope.path}\u0000${family}\u0000${node === undefined ? "" : labelOf(node)}`;
}

function savingOf(
  from: Step | undefined,
  to: Step | undefined,
  before: Workload,
  after: Workload,
  cost: CostModel,
): Saving {
  const saves = cost.savingOfRuns(runOf(from, before), runOf(to, after));
  return around((from?.microseconds ?? 0) - (to?.microseconds ?? 0), saves);
}

function runOf(step: Step | undefined, { target }: Workload): Run | undefined {
  return step && { work: step.work, target, detail: step.detail, runs: step.runs };
}

/** Its widths about a figure that has been added up in another order, so that sums agree to the last digit. */
function around(microseconds: number, saving: Saving): Saving {
  const shift = microseconds - saving.microseconds;
  return { microseconds, low: saving.low + shift, high: saving.high + shift };
}
