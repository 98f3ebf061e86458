/** @file Kernels that one operator computes instead: what that saves is less sure than what each of them takes. */
import type { Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import type { StepChange } from "./change.ts";
import { isMeasured } from "./measured.ts";
import type { Step } from "./timeline.ts";
import type { Workload } from "./workload.ts";
import { geluPatterns } from "./written-gelu.ts";

/** Of what is predicted, the least that one of seven networks saved, each run whole as two exports: 0.61, of a single GELU; the most was 1.6. */
const leastOfPredicted = 0.6;

/** As sure as what was measured of such changes. */
export function asMeasuredJoined(saves: Saving): Saving {
  return { ...saves, low: Math.min(saves.low, leastOfPredicted * saves.microseconds) };
}

/** What changes save together; those of joined kernels have one error. */
export function savedTogether(steps: readonly StepChange[], joined: ReadonlySet<Step>): Saving {
  const isJoined = ({ before }: StepChange) => before !== undefined && joined.has(before);
  const apart = steps.filter((step) => !isJoined(step)).map(({ saves }) => saves);
  const joining = steps.filter(isJoined).map(({ saves }) => saves);
  return combineSavings(joining.length === 0 ? apart : [...apart, asMeasuredJoined(combineSavings(joining))]);
}

/** Of what an exporter wrote out: kernels of `before` that are gone, or compute the one operator in `after`, and whose time is a prediction. */
export function joinedKernels(
  before: Workload,
  pairs: readonly Pick<StepChange, "before" | "after">[],
): ReadonlySet<Step> {
  const roots = new Set(
    pairs.flatMap(({ before: from, after: to }) => (from && to && becomes(from, to) ? from : [])),
  );
  const joined = new Set<Step>();
  if (roots.size === 0) return joined;
  const { timeline, facts } = before;
  for (const { nodes } of geluPatterns(facts.root)) {
    const steps = nodes.flatMap((node) => timeline.stepOf(node, facts.root) ?? []);
    const last = steps.at(-1);
    if (last !== undefined && roots.has(last))
      for (const step of steps) if (!isMeasured([step])) joined.add(step);
  }
  return joined;
}

/** A kernel of one node, which is one of another operator now. */
function becomes({ nodes: from }: Step, { nodes: to }: Step): boolean {
  return from.length <= 1 && to.length <= 1 && from[0]?.opType !== to[0]?.opType;
}
