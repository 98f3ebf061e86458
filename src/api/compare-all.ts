/** @file Pairs of models compared, several at once: two files, or the working tree with a commit. */

import type { CompareReport } from "../compare/result.ts";
import { compareReportOf } from "../compare/summary.ts";
import { InputError } from "../ir/errors.ts";
import { groupBy } from "../ir/group.ts";
import type { Limits } from "../limits/guard.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { budgetsElsewhere, type Planned, rowsOf } from "../settings/scenario-rows.ts";
import { version } from "../version.ts";
import { inLanes } from "./compare-lanes.ts";
import type { Pair, PairOutcome } from "./compare-pair.ts";
import { makePlans, type PlanRequest, sizeNames } from "./make-plans.ts";
import { labelOf } from "./worker-pool.ts";

export interface CompareRequest
  extends Pick<
    PlanRequest,
    "settings" | "scenarios" | "config" | "allFiles" | "errorOnUnmatchedPattern" | "patternsOf" | "onNotice"
  > {
  /** Of each pair. */
  readonly limits: Limits;
  /** Pairs at once; one a core by default. */
  readonly jobs: number | undefined;
  /** The script of worker threads. */
  readonly workerUrl: URL;
  readonly onProgress: (what: string) => void;
  /** Told what is read, before any of it is. */
  readonly checkFiles: (inputs: readonly string[]) => void;
  /** Where tc-lint-suppressions.json is, and whether it is read. */
  readonly suppressions: { readonly location: string | undefined; readonly isRead: boolean };
}

export interface Compared {
  readonly report: CompareReport;
  /** Stacks of bugs in tc-lint. */
  readonly bugs: readonly string[];
}

/** What plans of models need beside what a comparison is told. */
export function planRequest(request: CompareRequest): PlanRequest {
  return { ...request, table: false, verbose: true, forceExclude: false };
}

/** Both models are linted as the second is configured. Throws InputError where nothing can be compared as asked. */
export async function compareFiles(
  [base, head]: readonly [string, string],
  request: CompareRequest,
): Promise<Compared> {
  const plans = await makePlans([head], planRequest(request));
  const paths = new Set(plans.map(({ path }) => path));
  if (paths.size !== 1)
    throw new InputError(
      "usage",
      `${head}: expected a model; with --base REF, folders are compared with a commit`,
    );
  request.checkFiles([base, ...filesOf(plans)]);
  const taken = await inLanes(plans, request, { noun: "scenarios", labelOf }, (plan, compare) => {
    const pair: Pair = {
      path: plan.path,
      status: "changed",
      base: { plan: { ...plan, path: base }, file: base, notices: [] },
      head: { plan, file: plan.path, notices: [] },
      mayLackBase: false,
    };
    return compare(pair, plan);
  });
  return comparedOf(taken, request, { base: null, unchanged: [] });
}

/** What the plans read. */
export function filesOf(plans: readonly LintPlan[]): string[] {
  return plans.flatMap(({ path, settings: { configFiles, calibration } }) => [
    path,
    ...configFiles,
    ...(calibration === null ? [] : [calibration]),
  ]);
}

/** The outcome of a pair, by the plan that it was compared by. */
export interface Taken {
  readonly outcome: PairOutcome;
  readonly plan: Pick<LintPlan, "scenario">;
}

/** Outcomes that are named by their scenarios. Throws InputError where no model has a place for a size that was given. */
export function comparedOf(
  taken: readonly Taken[],
  request: CompareRequest,
  parts: Pick<CompareReport, "base" | "unchanged">,
): Compared {
  const outcomes = named(taken);
  const compared = outcomes.filter(({ comparison }) => comparison.error === null);
  const bound = new Set(compared.flatMap((outcome) => outcome.bound));
  const unused = sizeNames(request).find((name) => !bound.has(name));
  if (compared.length > 0 && unused !== undefined)
    throw new InputError(
      "unknown-dimension",
      `--shape, --dim: no model that is compared has an input or a dimension named "${unused}"`,
    );
  const models = outcomes.map(({ comparison }) => comparison);
  return {
    report: compareReportOf({ ...parts, models }, version),
    bugs: outcomes.flatMap(({ bug }) => bug ?? []),
  };
}

function named(taken: readonly Taken[]): PairOutcome[] {
  const planned = taken.map(({ outcome, plan: { scenario } }): Planned<PairOutcome> => {
    const { error, target } = outcome.comparison;
    return { outcome, scenario, target, bound: error === null ? outcome.bound : undefined };
  });
  const byModel = groupBy(planned, ({ outcome }) => outcome.comparison.path);
  return [...byModel.values()].flatMap((ofModel) => {
    const { rows, left, notices } = rowsOf(ofModel);
    const budgets = budgetsElsewhere(left.map(({ comparison }) => comparison));
    // What a size changes nothing about is there once.
    const byName = new Map<string, PairOutcome>();
    for (const { name, outcome } of rows) {
      if (byName.has(name)) continue;
      const { path, ...rest } = outcome.comparison;
      const own = byName.size === 0 ? [...(rest.budgets ?? []), ...budgets] : (rest.budgets ?? []);
      const noted = {
        ...rest,
        ...(own.length > 0 ? { budgets: own } : {}),
        notices: [...rest.notices, ...notices],
      };
      const comparison = name === "" ? { path, ...noted } : { path, scenario: name, ...noted };
      byName.set(name, { ...outcome, comparison });
    }
    return [...byName.values()];
  });
}
