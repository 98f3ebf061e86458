/** @file Pairs of models compared one after another: two files, or the working tree with a commit. */

import type { CompareReport } from "../compare/result.ts";
import { compareReportOf } from "../compare/summary.ts";
import { InputError } from "../ir/errors.ts";
import type { Limits } from "../limits/guard.ts";
import { answerSignals } from "../onnx/cleanup.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { scenarioName } from "../settings/scenarios.ts";
import { version } from "../version.ts";
import { comparePair, type Pair, type PairOutcome } from "./compare-pair.ts";
import { makePlans, type PlanRequest, sizeNames } from "./make-plans.ts";
import { prepare } from "./prepare.ts";

export interface CompareRequest
  extends Pick<
    PlanRequest,
    "settings" | "scenarios" | "config" | "allFiles" | "errorOnUnmatchedPattern" | "onNotice"
  > {
  /** Of each pair. */
  readonly limits: Limits;
  readonly onProgress: (what: string) => void;
  /** Told what is read, before any of it is. */
  readonly checkFiles: (inputs: readonly string[]) => void;
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
  const compared = new Comparisons(request);
  for (const plan of plans) {
    const pair: Pair = {
      path: plan.path,
      status: "changed",
      base: { plan: { ...plan, path: base }, file: base, notices: [] },
      head: { plan, file: plan.path, notices: [] },
      mayLackBase: false,
    };
    await compared.add(pair, plan);
  }
  return compared.result({ base: null, unchanged: [] });
}

/** What the plans read. */
export function filesOf(plans: readonly LintPlan[]): string[] {
  return plans.flatMap(({ path, settings: { configFiles, calibration } }) => [
    path,
    ...configFiles,
    ...(calibration === null ? [] : [calibration]),
  ]);
}

/** Outcomes of pairs, each named by its scenario. */
export class Comparisons {
  readonly #request: CompareRequest;
  readonly #outcomes: PairOutcome[] = [];
  readonly #known = new Set<string>();

  constructor(request: CompareRequest) {
    this.#request = request;
  }

  async add(pair: Pair, plan: LintPlan): Promise<void> {
    this.#request.onProgress(`${pair.path}: comparing …`);
    // A signal that came while git ran is answered now, not after minutes of work.
    await answerSignals();
    await prepare(plan);
    const { base, head } = pair;
    // Of two models a size may be of one alone; that it is of neither is said at the end.
    const without = (side: Pair["base"]) => side && { ...side, plan: { ...side.plan, mustHave: [] } };
    this.take(comparePair({ ...pair, base: without(base), head: without(head) }, this.#request.limits), plan);
    await answerSignals();
  }

  take(outcome: PairOutcome, { scenario }: Pick<LintPlan, "scenario">): void {
    const has = (symbol: string) => outcome.comparison.error !== null || outcome.bound.includes(symbol);
    const name = scenario === undefined ? "" : scenarioName(scenario, has);
    const key = `${outcome.comparison.path}\u0000${name}`;
    // What a size changes nothing about is there once.
    if (this.#known.has(key)) return;
    this.#known.add(key);
    const { path, ...rest } = outcome.comparison;
    const comparison = name === "" ? outcome.comparison : { path, scenario: name, ...rest };
    this.#outcomes.push({ ...outcome, comparison });
  }

  /** Throws InputError where no model has a place for a size that was given. */
  result(parts: Pick<CompareReport, "base" | "unchanged">): Compared {
    const compared = this.#outcomes.filter(({ comparison }) => comparison.error === null);
    const bound = new Set(compared.flatMap((outcome) => outcome.bound));
    const unused = sizeNames(this.#request).find((name) => !bound.has(name));
    if (compared.length > 0 && unused !== undefined)
      throw new InputError(
        "unknown-dimension",
        `--shape, --dim: no model that is compared has an input or a dimension named "${unused}"`,
      );
    const models = this.#outcomes.map(({ comparison }) => comparison);
    return {
      report: compareReportOf({ ...parts, models }, version),
      bugs: this.#outcomes.flatMap(({ bug }) => bug ?? []),
    };
  }
}
