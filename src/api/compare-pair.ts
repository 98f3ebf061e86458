/** @file Opens the two models of a comparison, prices and lints each as `tc-lint` does, and compares them. */
import { compareSides, type Side, withoutFigures } from "../compare/compare.ts";
import type { FileStatus, ModelComparison } from "../compare/result.ts";
import { readCalibration } from "../files/read-calibration.ts";
import { priced } from "../fix/prices.ts";
import { invariant } from "../ir/errors.ts";
import type { NoticeReport } from "../lint/result.ts";
import { lintPriced } from "../lint/run.ts";
import { missingWeights } from "../onnx/missing-weights.ts";
import { type OpenModel, openModel } from "../onnx/open.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { decidedBy } from "./decided-fix.ts";
import { failureOf } from "./failed-report.ts";
import { inMemory } from "./lint-file.ts";
import { rulesOf } from "./plugins.ts";
import { refuse } from "./refuse.ts";
import { settingsOf, TimelineMissing } from "./timelines.ts";

export interface SidePlan {
  /** Its path is what reports call it. */
  readonly plan: LintPlan;
  /** Opens. */
  readonly file: string;
  readonly notices: readonly NoticeReport[];
}

/** One of the sides is there. */
export interface Pair {
  readonly path: string;
  readonly status: FileStatus;
  readonly base: SidePlan | undefined;
  readonly head: SidePlan | undefined;
  /** What is the matter with the base alone fails nothing: a broken file may be repaired. */
  readonly mayLackBase: boolean;
}

export interface PairOutcome {
  readonly comparison: ModelComparison;
  /** Inputs and dimensions of the plan that one of the models has. */
  readonly bound: readonly string[];
  /** A bug in tc-lint, with its stack. */
  readonly bug?: string;
}

/** Runs the work on a file within limits of time and memory. */
export type Bounded = (path: string, work: () => PairOutcome) => PairOutcome;

/** Never throws for what is wrong with a model. Timelines of all stacks are loaded before. */
export function comparePair(pair: Pair, bounded: Bounded): PairOutcome {
  const side = pair.head ?? pair.base;
  invariant(side !== undefined, "a pair of no models is to be compared");
  const work = new PairWork(pair, side);
  try {
    return bounded(side.file, () => work.outcome());
  } catch (error) {
    if (error instanceof TimelineMissing) throw error;
    const failed = work.failure(error);
    const withoutBase = work.repaired(failed);
    return withoutBase === undefined ? failed : comparePair(withoutBase, bounded);
  } finally {
    work.close();
  }
}

/** Knows at which side it is, for whoever is told of a failure. */
class PairWork {
  readonly #pair: Pair;
  readonly #opened: OpenModel[] = [];
  #at: { readonly name: "base" | "head"; readonly side: SidePlan };

  constructor(pair: Pair, side: SidePlan) {
    this.#pair = pair;
    this.#at = { name: pair.head === undefined ? "base" : "head", side };
  }

  outcome(): PairOutcome {
    const { base, head, path, status } = this.#pair;
    const before = this.#sideOf("base", base);
    const after = this.#sideOf("head", head);
    const notices = [base, head].flatMap((each) => each?.notices ?? []);
    const comparison = compareSides(before, after, { path, status, notices });
    return { comparison, bound: [before, after].flatMap(boundOf) };
  }

  #sideOf(name: "base" | "head", side: SidePlan | undefined): Side | undefined {
    if (side === undefined) return undefined;
    this.#at = { name, side };
    const { plan, file } = side;
    refuse(plan);
    const model = openModel(file, inMemory);
    this.#opened.push(model);
    const calibration = readCalibration(plan.settings.calibration);
    const notices = [...model.notices, ...missingWeights(model)];
    const isAlone = this.#pair.base === undefined || this.#pair.head === undefined;
    return lintedSide(model, plan, { calibration, notices }, isAlone);
  }

  failure(thrown: unknown): PairOutcome {
    return failedPair(this.#pair, this.#at.name, this.#at.side, thrown);
  }

  /** The pair without a base that is broken in itself. */
  repaired({ comparison: { error } }: PairOutcome): Pair | undefined {
    const { head, mayLackBase } = this.#pair;
    if (error?.side !== "base" || head === undefined || !mayLackBase || isOfSurroundings(error.code))
      return undefined;
    const message = `base cannot be read, so that all is new: ${error.message}`;
    const notices = [...head.notices, { code: error.code, message }];
    return { ...this.#pair, status: "added", base: undefined, head: { ...head, notices } };
  }

  close(): void {
    for (const model of this.#opened) model[Symbol.dispose]();
  }
}

/** Of a model that is deleted, its content is no matter. */
export function failedPair(
  pair: Pick<Pair, "path" | "status">,
  name: "base" | "head",
  { plan, file, notices }: SidePlan,
  thrown: unknown,
): PairOutcome {
  const { report, bug } = failureOf(plan, thrown);
  const { code, message: said } = report.error ?? { code: "internal-error", message: String(thrown) };
  const message = said.replaceAll(file, plan.path);
  const isGone = pair.status === "deleted" && bug === undefined;
  const place = { path: pair.path, status: pair.status };
  const comparison = isGone
    ? withoutFigures({ ...place, notices: [...notices, { code, message }] }, report, null)
    : withoutFigures({ ...place, notices }, report, { side: name, file: plan.path, code, message });
  return { comparison, bound: [], ...(bug === undefined ? {} : { bug }) };
}

/** Of a file that is not fetched, or beyond the limits, nothing is known. */
function isOfSurroundings(code: string): boolean {
  return ["lfs-pointer", "timeout", "out-of-memory", "unreadable", "internal-error"].includes(code);
}

/** A model priced and linted by its plan; alone as lint tells of it, of a pair in the target's precision. */
export function lintedSide(
  model: OpenModel,
  plan: LintPlan,
  given: Pick<Parameters<typeof settingsOf>[1], "calibration" | "notices">,
  isAlone = false,
): Side {
  const settings = decidedBy(
    model,
    settingsOf(model, { ...plan, rules: rulesOf(plan.settings), ...given, layers: false, verbose: true }),
  );
  const workload = priced(model, settings);
  return { model, settings, workload, ...lintPriced(workload, { ...settings, isToldInTarget: !isAlone }) };
}

function boundOf(side: Side | undefined): string[] {
  if (side === undefined) return [];
  const { shapes, dims } = side.settings;
  return [...(shapes?.keys() ?? []), ...(dims?.keys() ?? [])];
}
