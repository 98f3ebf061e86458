/** @file What a command exits with, and what the user sees of a failure: decided in one place. */
import { counted, printable } from "../ir/format.ts";
import { pushAll } from "../ir/lists.ts";
import type { BudgetReport, FindingGroup, LintReport } from "../lint/result.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { takenFirstText } from "../report/account-text.ts";
import { budgetText } from "../report/budget-text.ts";
import { fixableBy, unnamedSaving } from "../report/summary.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { StdoutError } from "./stdout.ts";

export const exitCodes = { clean: 0, findings: 1, failure: 2 } as const;

/** What fails a run: entries at error level, or what `--fix` would repair, be it an error or a warning. */
export const failOns = ["error", "fixable"] as const;
export type FailOn = (typeof failOns)[number];

export interface ExitPolicy {
  readonly failOn?: FailOn | undefined;
  /** More warnings than this fail the run; undefined: warnings never do. */
  readonly maxWarnings?: number | undefined;
  /** Findings never fail the run. Failures still do. */
  readonly exitZero: boolean;
}

export interface Verdict {
  readonly exitCode: number;
  /** What a reader of the report could not tell; undefined where its errors say it. */
  readonly why?: string;
}

/** 2 where a model could not be linted, else 1 where findings fail the run, else 0. */
export function verdictOf(
  { summary, models }: Pick<LintReport, "summary" | "models">,
  { failOn = "error", maxWarnings, exitZero }: ExitPolicy,
): Verdict {
  if (summary.failedModels > 0) return { exitCode: exitCodes.failure };
  if (exitZero) return { exitCode: exitCodes.clean };
  const fixable = failOn === "fixable" ? whyFixable({ summary, models }) : undefined;
  if (fixable !== undefined) return { exitCode: exitCodes.findings, why: fixable };
  const isError = failOn === "error" && summary.errors > 0;
  const exceeded = isError ? undefined : exceededBudgets(models);
  // Whoever mends the errors, or keeps the budget, would be stopped by the warnings next.
  const reasons = [exceeded, tooManyWarnings({ summary, models }, maxWarnings)].flatMap((each) => each ?? []);
  if (reasons.length > 0) return { exitCode: exitCodes.findings, why: reasons.join("; and ") };
  return { exitCode: isError ? exitCodes.findings : exitCodes.clean };
}

function tooManyWarnings(
  { summary, models }: Pick<LintReport, "summary" | "models">,
  most: number | undefined,
): string | undefined {
  if (most === undefined || summary.warnings <= most) return undefined;
  return `${counted(summary.warnings, "warning")}, more than --max-warnings ${most} allows${unclearedText(models)}`;
}

/**
 * `; no command clears 1 of them (m.onnx: TC301 /c/Conv, which prefer_nhwc clears: set it, and lint with --stack ort-cuda-nhwc): --suppress-all …`: a
 * team that runs every command would look for the next one. Empty where a command is told for each.
 */
function unclearedText(models: LintReport["models"]): string {
  const places = models.flatMap((model) => {
    const placed = placesIn(model);
    return model.groups
      .filter(({ severity, fixCommand }) => severity === "warn" && fixCommand === null)
      .map((group) => {
        const place = placed(group);
        const { setting } = group;
        if (setting === undefined) return place;
        return `${place}, which ${setting.option} clears: set it, and lint with --stack ${setting.stack}`;
      });
  });
  if (places.length === 0) return "";
  return `; no command clears ${places.length} of them (${placesText(places)}): --suppress-all lets off what is there, the configuration switches a rule off, and --fail-on fixable in place of --max-warnings fails on what --fix repairs alone`;
}

const fails = "which --fail-on fixable fails";

/** What `--fix` would repair, where, and in which scenarios, for it takes one; undefined where there is nothing. */
function whyFixable(report: Pick<LintReport, "summary" | "models">): string | undefined {
  const counts = new Map<string, number>();
  const places: string[] = [];
  const failing: LintReport["models"][number][] = [];
  for (const model of report.models) {
    const { groups, scenario } = model;
    const own = groups.filter(({ fix }) => fix === "safe");
    if (own.length > 0) failing.push(model);
    pushAll(places, own.map(placesIn(model)));
    if (own.length > 0 && scenario !== undefined)
      counts.set(scenario, (counts.get(scenario) ?? 0) + own.length);
  }
  if (places.length > 0)
    return `${counted(places.length, "entry", "entries")} that ${fixableBy(report)} repairs${scenariosText(counts)}, ${fails}: ${placesText(places)}${firstText(failing)}`;
  return unnamedSaving(report) > 0 ? `--fix saves time by what no finding names, ${fails}` : undefined;
}

/** Of an entry of a model, by its first finding. */
function placesIn({
  path,
  findings,
}: LintReport["models"][number]): (group: Pick<FindingGroup, "code" | "findings">) => string {
  const nodes = new Map(findings.map(({ fingerprint, node }) => [fingerprint, node]));
  return ({ code, findings: [first = ""] }) => placeOf(path, code, nodes.get(first));
}

export function placeOf(path: string, code: string, node: string | null | undefined): string {
  return `${path}: ${[code, node ?? []].flat().join(" ")}`;
}

/** Scenarios and entries that are named before the rest is counted. */
const mostNamed = 4;

/** `misaligned_cnn.onnx: TC101 /a/a.0/Conv`: once, however many scenarios have it. */
export function placesText(places: readonly string[]): string {
  const all = [...new Set(places)];
  const more = all.length > mostNamed ? ` and ${all.length - mostNamed} more` : "";
  return `${all.slice(0, mostNamed).map(printable).join("; ")}${more}`;
}

/** ` (m.onnx: take --fix --precision fp16 instead of …)`: of the first of them whose gain `--fix` would take away. It is no entry of the list. */
function firstText(models: LintReport["models"]): string {
  for (const { path, account } of models) {
    const first = takenFirstText(account);
    if (first !== undefined) return ` (${printable(path)}: ${first})`;
  }
  return "";
}

/** ` (4 in scenario "prompt", 3 in "step"; --fix takes one)`. */
function scenariosText(counts: ReadonlyMap<string, number>): string {
  const all = [...counts];
  if (all.length === 0) return "";
  const parts = all
    .slice(0, mostNamed)
    .map(([name, count], index) => `${count} in ${index === 0 ? "scenario " : ""}"${printable(name)}"`);
  const more = all.length > mostNamed ? ` and ${all.length - mostNamed} more` : "";
  return ` (${parts.join(", ")}${more}; --fix takes one)`;
}

/** The first in words, for formats that have no place for budgets; undefined where none is exceeded. */
export function exceededBudgets(
  models: readonly { readonly path: string; readonly budgets?: readonly BudgetReport[] }[],
): string | undefined {
  const exceeded = models.flatMap(({ path, budgets = [] }) =>
    budgets.filter(({ verdict }) => verdict === "exceeded").map((budget) => `${path}: ${budgetText(budget)}`),
  );
  const [first] = exceeded;
  if (first === undefined) return undefined;
  const more = exceeded.length - 1;
  return more === 0 ? first : `${first}; and ${counted(more, "more budget")} exceeded`;
}

/**
 * A bad input is its message; anything else is a bug in tc-lint, said so with its stack. Returns the exit code. `command`: whose help
 * says what there is, if one was given.
 */
export function reportFailure(error: unknown, command: string | undefined): number {
  const input = inputErrorOf(error);
  if (error instanceof StdoutError) {
    complain(error.message);
  } else if (input !== undefined) {
    complain(input.message);
    if (input.code === "usage")
      process.stderr.write(
        `Run ${["tc-lint", command ?? [], "--help"].flat().join(" ")} for what there is.\n`,
      );
  } else {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    complainOfBug(stack);
  }
  return exitCodes.failure;
}
