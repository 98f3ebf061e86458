/** @file Budgets in words: the limit, what is predicted, its interval, and what that comes to. */
import { fingerprintOf } from "../ir/fingerprint.ts";
import { duration, durationRange, noInterval, percent } from "../ir/format.ts";
import type { BudgetReport } from "../lint/result.ts";
import type { Palette } from "./color.ts";

const unpriced = "not held: nothing of the model could be looked at";

const ofMost = {
  kept: "kept",
  "may-exceed": "may exceed: a part of the interval is beyond",
  exceeded: "exceeded",
  unpriced,
} as const satisfies Record<BudgetReport["verdict"], string>;

/** What is to be reached is not exceeded. */
const ofLeast: Record<BudgetReport["verdict"], string> = {
  kept: "kept",
  "may-exceed": "may fall short: a part of the interval is below",
  exceeded: "not reached",
  unpriced,
};

function verdictText({ budget, verdict }: BudgetReport): string {
  return (budget === "minTensorCoreShare" ? ofLeast : ofMost)[verdict];
}

/** `budget on l4 (ort-cuda, fp16): at most 500 µs; predicted 612 µs (540 to 690 µs): exceeded`. */
export function budgetText(report: BudgetReport): string {
  return `${claimOf(report)}: ${verdictText(report)}`;
}

function claimOf(report: BudgetReport): string {
  const { budget, target, asStored, limit, predicted, low, high, verdict } = report;
  const precision = asStored === true ? "as stored" : target.precision;
  const where = `budget on ${target.gpu} (${target.stack}, ${precision})`;
  const { most, figure } = wordsOf[budget];
  const isTime = budget === "maxMicroseconds";
  const figures = () => (low < 0 && high > 1 ? noInterval : `${figure(low)} to ${figure(high)}`);
  const range = isTime ? durationRange(low, high) : figures();
  const found = verdict === "unpriced" ? "" : `; predicted ${figure(predicted)} (${range})`;
  return `${where}: ${most(limit)}${found}`;
}

interface Words {
  readonly most: (limit: number) => string;
  readonly figure: (value: number) => string;
}

const wordsOf: Readonly<Record<BudgetReport["budget"], Words>> = {
  maxMicroseconds: { most: (limit) => `at most ${duration(limit)}`, figure: duration },
  minTensorCoreShare: {
    most: (limit) => `at least ${percent(limit)} of the time on Tensor Cores`,
    figure: percent,
  },
  maxRegression: { most: (limit) => `at most ${percent(limit)} slower`, figure: signedPercent },
};

/** `+4.2 %`, `-63 %`, `0 %`. */
export function signedPercent(share: number): string {
  return share > 0 ? `+${percent(share)}` : percent(share);
}

export function exceededOf({ budgets = [] }: { readonly budgets?: readonly BudgetReport[] }): BudgetReport[] {
  return budgets.filter(({ verdict }) => verdict === "exceeded");
}

/** Budgets of models that fail a run. */
export function exceededCount(models: readonly { readonly budgets?: readonly BudgetReport[] }[]): number {
  return models.flatMap(exceededOf).length;
}

/** What stands in a rule's place in formats that list findings: a code, and a name that no other limit of a model has. */
export const budgetCode = "budget";
export function budgetName({ budget, target, asStored }: BudgetReport): string {
  const precision = asStored === true ? "as-stored" : target.precision;
  return `${budget}/${target.gpu}/${target.stack}/${precision}`;
}

/** Of the limit's name, not of its figures: it is known from run to run as fingerprints of findings are. */
export function budgetFingerprint(report: BudgetReport): string {
  return fingerprintOf([budgetCode, budgetName(report)].join("\u0000"));
}

/** In the terminal: one line each. */
export function budgetLines(budgets: readonly BudgetReport[] | undefined, palette: Palette): string[] {
  return (budgets ?? []).map((report) => {
    const verdict = verdictText(report);
    const shown = report.verdict === "exceeded" ? palette.bad(verdict) : verdict;
    return `${claimOf(report)}: ${shown}`;
  });
}

/** In Markdown: a list, and the line that ends it. Names are of the tool's own rows. */
export function budgetItems(budgets: readonly BudgetReport[] | undefined): string[] {
  if (budgets === undefined || budgets.length === 0) return [];
  const items = budgets.map((report) => {
    const verdict = verdictText(report);
    return `- ${claimOf(report)}: ${report.verdict === "exceeded" ? `**${verdict}**` : verdict}`;
  });
  return [...items, ""];
}
