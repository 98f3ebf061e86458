/** @file The first half: lints what a change is about, compares it with its base, and says so everywhere that a step can. */
import { dirname, resolve } from "node:path";
import { compareVerdict, describeTarget, runCompare } from "../cli/run-compare.ts";
import { runLint } from "../cli/run-lint.ts";
import { complain } from "../cli/stderr.ts";
import { writeStdout } from "../cli/stdout.ts";
import { renderedReport, writeReports } from "../cli/write-reports.ts";
import type { CompareReport } from "../compare/result.ts";
import { BaseRevision } from "../files/base-revision.ts";
import { fetchedCommit, fetchLfsObjects, pullRequestBase } from "../files/fetch-base.ts";
import { makeFolder } from "../files/make-folder.ts";
import { InputError } from "../ir/errors.ts";
import { headOf } from "../ir/format.ts";
import type { LintReport } from "../lint/result.ts";
import { compareFormats } from "../report/compare-formats.ts";
import { movedTexts } from "../report/compare-prose.ts";
import { reportOf } from "../report/summary.ts";
import { version } from "../version.ts";
import { changedModels, type Reason } from "./changed-models.ts";
import { requireCheckout } from "./checkout.ts";
import { offerComment } from "./comment.ts";
import type { WorkflowEvent } from "./event.ts";
import { compareFlagsOf, lintFlagsOf, planRequestOf } from "./flags.ts";
import type { ActionInputs } from "./inputs.ts";
import { onlyNew } from "./new-findings.ts";
import { addSummary, command, inert, setOutput } from "./protocol.ts";
import { withUnchangedBudgets } from "./unchanged-budgets.ts";

export interface Step {
  readonly inputs: ActionInputs;
  readonly event: WorkflowEvent;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the exit code. Throws InputError where nothing can be said. */
export async function review(step: Step, workerUrl: URL): Promise<number> {
  const { inputs } = step;
  for (const path of [inputs.sarifFile, inputs.html]) if (path !== undefined) makeFolder(dirname(path));
  const base = await baseOf(step);
  const revision = base === undefined ? undefined : new BaseRevision(base, process.cwd());
  if (revision !== undefined) fetchLfsObjects(revision);
  const compared = revision === undefined ? undefined : await compareWith(revision.commit, inputs, workerUrl);
  const wanted = inputs.models === "all" ? undefined : revision;
  const hasBase = compared !== undefined;
  const models = await changedModels(inputs.paths, wanted, planRequestOf(inputs, hasBase));
  const linted = await lint(models, inputs, { hasBase, workerUrl });
  const whole = compared === undefined ? undefined : withUnchangedBudgets(compared.report, linted.report);
  await report(step, { compared: whole, linted: linted.report, models });
  const { exitCode } =
    whole === undefined || base === undefined
      ? { exitCode: 0 }
      : compareVerdict(whole, compareFlagsOf(inputs, base));
  return Math.max(exitCode, compared?.exitCode ?? 0, linted.exitCode);
}

/** The commit that the change is compared with; undefined where there is none. */
async function baseOf({ inputs, event }: Step): Promise<string | undefined> {
  const folder = process.cwd();
  if (inputs.base !== undefined || event.kind === "pull-request" || event.kind === "push")
    requireCheckout(folder);
  if (inputs.base !== undefined) return fetchedCommit(folder, inputs.base);
  if (event.kind === "pull-request") {
    const { commit, isExact } = pullRequestBase(folder, event);
    if (!isExact) await writeStdout(command("warning", inexactBase));
    return commit;
  }
  if (event.kind !== "push" || event.base === undefined) return undefined;
  try {
    return fetchedCommit(folder, event.base);
  } catch (error) {
    // A forced push may leave nothing of what was there.
    if (!(error instanceof InputError && error.code === "unknown-ref")) throw error;
    complain(`${error.message}; nothing is compared`);
    return undefined;
  }
}

const inexactBase =
  "where the branch left its base is not in this checkout: it is compared with the base as that is now, and what others merged " +
  "since may look like part of the change. actions/checkout without ref, or with fetch-depth: 0, has it";

async function compareWith(commit: string, inputs: ActionInputs, workerUrl: URL) {
  let report: CompareReport | undefined;
  const exitCode = await runCompare(
    inputs.paths,
    compareFlagsOf(inputs, commit),
    workerUrl,
    async (found) => {
      report = found;
    },
  );
  return report === undefined ? undefined : { report, exitCode };
}

interface Linting {
  readonly hasBase: boolean;
  readonly workerUrl: URL;
}

async function lint(
  models: ReadonlyMap<string, Reason>,
  inputs: ActionInputs,
  { hasBase, workerUrl }: Linting,
) {
  const flags = lintFlagsOf(inputs, hasBase);
  let report = reportOf([], version);
  if (models.size === 0) {
    // Steps that upload a report find one, which says that there is nothing.
    await writeReports(report, flags);
    return { report, exitCode: 0 };
  }
  const exitCode = await runLint([...models.keys()], flags, workerUrl, {
    write: async (found) => {
      report = found;
      await writeReports(found, flags);
    },
  });
  return { report, exitCode };
}

interface Outcome {
  readonly compared: CompareReport | undefined;
  readonly linted: LintReport;
  readonly models: ReadonlyMap<string, Reason>;
}

async function report(step: Step, outcome: Outcome): Promise<void> {
  const { compared, linted, models } = outcome;
  const { inputs, env } = step;
  const flags = lintFlagsOf(inputs, compared !== undefined);
  const options = { color: 0, verbose: false, describeTarget } as const;
  const texts = [
    compared === undefined ? "" : compareFormats.text(compared, options),
    models.size === 0 ? "" : await renderedReport("text", linted, flags),
  ];
  await writeStdout(inert(texts.filter((text) => text !== "").join("\n")));
  const fresh = compared === undefined ? linted : onlyNew(linted, compared, models);
  // Before those of the findings: GitHub shows the first ten errors of a step.
  await writeStdout(`${notComparedCommands(outcome)}${verdictCommand(compared)}`);
  await writeStdout(await renderedReport("github", fresh, flags));
  addSummary(env, [
    ...(compared === undefined
      ? []
      : [`# Against the base\n\n${compareFormats.markdown(compared, options)}`]),
    models.size === 0 ? "No model differs.\n" : await renderedReport("markdown", linted, flags),
  ]);
  setOutputs(step, outcome);
  if (compared !== undefined) await offerComment(step, compared);
}

const shownAtMost = 3;

/** What the lint of the same model says is said there. */
function notComparedCommands({ compared, linted }: Outcome): string {
  const said = new Set(linted.models.flatMap(({ path, error }) => (error === null ? [] : [path])));
  const messages = (compared?.models ?? []).flatMap(({ path, error }) =>
    error === null || said.has(path) ? [] : [`${path} is not compared: ${error.message}${lfsHint(error)}`],
  );
  const unique = [...new Set(messages)];
  const { shown, more } = headOf(unique, shownAtMost, "the summary has them all");
  return unique.length === 0 ? "" : command("error", [...shown, ...more].join("\n"));
}

function lfsHint({ code }: { readonly code: string }): string {
  return code === "lfs-not-fetched" ? "; this step fetches it itself where git lfs is installed" : "";
}

/** Those of the step from the base are in no lint, whose annotations have the others. */
function verdictCommand(compared: CompareReport | undefined): string {
  if (compared === undefined || compared.summary.budgetsExceeded === 0) return "";
  return command("error", `${movedTexts(compared).join(", ")}: the step's summary has the budgets`);
}

function setOutputs({ inputs, env }: Step, { compared, linted }: Outcome): void {
  const found = linted.models.reduce((sum, { findings }) => sum + findings.length, 0);
  const { newErrors, newWarnings, newInfos, slower } = compared?.summary ?? {
    newErrors: found,
    newWarnings: 0,
    newInfos: 0,
    slower: 0,
  };
  setOutput(env, "findings", String(found));
  setOutput(env, "new-findings", String(newErrors + newWarnings + newInfos));
  setOutput(env, "regressions", String(slower));
  // Whole paths: other steps stand in the checkout, wherever this one stood.
  setOutput(env, "sarif-file", inputs.sarifFile === undefined ? "" : resolve(inputs.sarifFile));
  setOutput(env, "html", inputs.html === undefined ? "" : resolve(inputs.html));
}
