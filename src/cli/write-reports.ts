/** @file Renders a run's report in every format asked for, and writes each where it belongs. */
import { statSync } from "node:fs";
import { docOf } from "../api/custom-docs.ts";
import { type FixEntry, fixReportOf } from "../api/fix-report.ts";
import { loadedRules } from "../api/plugins.ts";
import { statOf } from "../files/look.ts";
import {
  appendReportFile,
  checkReportFiles,
  type RunFiles,
  writeReportFile,
  writeReportPieces,
} from "../files/report-file.ts";
import { Repository } from "../files/repository.ts";
import { findGpu } from "../hardware/gpus.ts";
import { findStack } from "../hardware/stacks.ts";
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import type { LintReport } from "../lint/result.ts";
import { jsonOf, jsonPieces } from "../report/json.ts";
import { jsonText } from "../report/json-text.ts";
import {
  docFormats,
  drawnFormats,
  fixFormats,
  type LintFormat,
  lintFormats,
  namesConfiguration,
  proseFormats,
  type RunFormat,
  type RunReports,
  renderRun,
  reportFor,
  silentFormats,
  wholeFormats,
} from "../report/registry.ts";
import type { RenderOptions } from "../report/render.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import type { CarriedRule } from "../settings/shard-report.ts";
import { homepage, pageOf } from "../version.ts";
import type { ReportRequest } from "./formats.ts";
import type { LintFlags } from "./options.ts";
import { complain } from "./stderr.ts";
import { writeStdout } from "./stdout.ts";
import { reportColor } from "./terminal.ts";

/** What reports depend on of a command line. */
export type ReportFlags = Pick<LintFlags, "reports" | "color" | "verbose" | "quiet" | "stats" | "table"> &
  Partial<Pick<LintFlags, "sources">>;

/** Where the models of a report are, and what is known of their files. */
export type Places = Pick<RenderOptions, "localPath" | "repositoryPath" | "bytesOf"> & {
  /** Rules of plugins that others ran; those of this process unless given. */
  readonly pluginRules?: readonly CarriedRule[];
};

/** Files first: what is on stdout then says how it went. */
export async function writeReports(
  report: LintReport,
  flags: ReportFlags,
  places = placesHere(flags),
): Promise<void> {
  const requests = flags.reports ?? standardRequests();
  const assets = await assetsOf(requests, places);
  const render = ({ format, path }: ReportRequest) =>
    lintFormats[format](reportFor(format, report, flags), {
      ...renderOptions(flags, path === undefined, places),
      ...assets,
    });
  for (const request of requests) {
    if (request.path === undefined) continue;
    if (isJson(request)) writeReportPieces(request.path, jsonPieces(report));
    else writeReportFile(request.path, await render(request));
  }
  if (flags.reports === undefined) await addStepSummary(report, flags, places);
  const toStdout = requests.filter(({ path }) => path === undefined);
  // It stands there alone.
  if (toStdout.some(isJson)) {
    for (const piece of jsonPieces(report)) await writeStdout(piece);
    return;
  }
  const onStdout = await Promise.all(toStdout.map(render));
  await writeStdout(onStdout.filter((text) => text !== "").join("\n"));
}

/** As it would stand in a file, for whoever puts it somewhere else. */
export async function renderedReport(
  format: LintFormat,
  report: LintReport,
  flags: LintFlags,
): Promise<string> {
  const assets = await assetsOf([{ format, path: undefined }]);
  const options = { ...renderOptions(flags, false, placesHere(flags)), ...assets };
  return lintFormats[format](reportFor(format, report, flags), options);
}

type Assets = Pick<RenderOptions, "docs" | "script">;

const noAssets: Assets = { docs: [], script: "" };

/** What few formats carry, and is loaded for them alone. */
async function assetsOf(
  requests: readonly ReportRequest[],
  { pluginRules = loadedRules() }: Pick<Places, "pluginRules"> = {},
): Promise<Assets> {
  const has = (formats: ReadonlySet<ReportRequest["format"]>) =>
    requests.some(({ format }) => formats.has(format));
  return {
    docs: has(docFormats) ? await allDocs(pluginRules) : [],
    script: has(drawnFormats) ? (await import("../files/page-script.ts")).pageScript() : "",
  };
}

/** Pages of the built-in rules, and what plugins say of theirs. */
async function allDocs(pluginRules: readonly CarriedRule[]): Promise<Assets["docs"]> {
  const { ruleDocs } = await import("../../rules/docs.ts");
  return pluginRules.length === 0 ? ruleDocs : [...ruleDocs, ...pluginRules.map(docOf)];
}

/** In a GitHub workflow annotations come with the text, unless `-f` says what is wanted. */
export function standardRequests(): ReportRequest[] {
  const text: ReportRequest = { format: "text", path: undefined };
  return inGithubActions() ? [text, { format: "github", path: undefined }] : [text];
}

function inGithubActions(): boolean {
  const { GITHUB_ACTIONS } = process.env;
  return GITHUB_ACTIONS === "true";
}

async function addStepSummary(report: LintReport, flags: ReportFlags, places: Places): Promise<void> {
  const { GITHUB_STEP_SUMMARY: path } = process.env;
  if (!inGithubActions() || path === undefined || path === "") return;
  const options = { ...renderOptions(flags, false, places), ...noAssets };
  appendReportFile(path, await lintFormats.markdown(report, options));
}

/** As the disk has them. */
export function placesHere({ sources }: Pick<ReportFlags, "sources">): Places {
  const { GITHUB_WORKSPACE } = process.env;
  const repository = new Repository(process.cwd(), GITHUB_WORKSPACE, sources);
  return {
    localPath: (file) => repository.sourceOf(file),
    repositoryPath: (path) => repository.pathOf(path),
    bytesOf: (path) => statSync(path, { throwIfNoEntry: false })?.size,
  };
}

/** Undefined where it is no terminal: lines are left whole. */
function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number | undefined {
  return isTTY === true ? columns : undefined;
}

function renderOptions(
  flags: ReportFlags,
  toStdout: boolean,
  places: Places,
): Omit<RenderOptions, keyof Assets> {
  return {
    ...places,
    color: reportColor(flags.color, toStdout),
    columns: toStdout ? columnsOf(process.stdout) : undefined,
    verbose: flags.verbose,
    stats: flags.stats,
    quiet: flags.quiet,
    pages: { home: homepage, rule: pageOf },
    describeTarget: ({ gpu, stack }) =>
      `${findGpu(gpu)?.name ?? gpu} with ${findStack(stack)?.name ?? stack}`,
  };
}

/**
 * Before any work: whether each report could go where it is to, which is none of the files of the run, and whether sources are where they
 * are said to be.
 */
export function checkReportsOf(
  { reports, shards, config, settings, sources }: LintFlags,
  files: RunFiles = {},
): void {
  requireFolder(sources.root, "--source-root");
  const named = [config.kind === "file" ? config.path : undefined, settings.calibration];
  checkReportFiles([...(reports ?? []).map(({ path }) => path), shards.blob], {
    ...files,
    inputs: [...named, ...(files.inputs ?? [])],
  });
}

/** A folder that is misspelt has no line of Python, and nobody would learn why. Throws InputError. */
function requireFolder(path: string | undefined, flag: string): void {
  if (path === undefined) return;
  const seen = statOf(path);
  if (typeof seen === "string" || !seen.isDirectory())
    throw new InputError("usage", `${flag}: found "${path}", expected a folder`);
}

/** Text on repairs: on stdout, unless a format for programs is there, or, where it `isAlone` with them, one that has the repairs itself. */
export async function writeFixText(
  textFor: (columns: number | undefined) => string,
  flags: LintFlags,
  isAlone: boolean,
): Promise<void> {
  const onStdout = (flags.reports ?? []).filter(({ path }) => path === undefined);
  const goesWith = ({ format }: ReportRequest) =>
    proseFormats.has(format) && !(isAlone && format in fixFormats);
  if (onStdout.every(goesWith)) await writeStdout(textFor(columnsOf(process.stdout)));
  else if (onStdout.every(({ format }) => format !== "json"))
    process.stderr.write(textFor(columnsOf(process.stderr)));
}

export function isJson({ format }: Pick<ReportRequest, "format">): boolean {
  return format === "json";
}

/**
 * JSON reports hold the repairs with the lint report inside; where nothing was linted, other formats hold what the repairs change, else
 * the lint report as ever.
 */
export async function writeFixReports(
  entries: readonly FixEntry[],
  lint: LintReport | undefined,
  flags: LintFlags,
): Promise<void> {
  const report = fixReportOf(entries, lint);
  const json = jsonText({ ...report, lint: report.lint && jsonOf(report.lint) });
  const assets = await assetsOf(flags.reports ?? []);
  const places = placesHere(flags);
  for (const { format, path } of flags.reports ?? []) {
    const options = { ...renderOptions(flags, path === undefined, places), ...assets };
    const text = isJson({ format })
      ? json
      : lint === undefined || wholeFormats.has(format)
        ? await fixFormats[format]?.(report, options)
        : undefined;
    if (text === undefined) continue;
    if (path === undefined) await writeStdout(text);
    else writeReportFile(path, text);
  }
  if (lint === undefined) return;
  const reports = flags.reports?.filter((request) => !isJson(request) && !wholeFormats.has(request.format));
  await writeReports(lint, { ...flags, reports }, places);
}

/** Where the report of one run goes: `-f`, `-o` and `--color` of the commands that run models. */
export interface RunOutput {
  readonly format: RunFormat;
  /** Undefined is stdout. */
  readonly output: string | undefined;
  readonly color: boolean | undefined;
  /** Every step; false where there are none to list. */
  readonly verbose?: boolean;
}

export async function writeRun<Kind extends keyof RunReports>(
  kind: Kind,
  report: RunReports[Kind],
  { format, output, color, verbose = false }: RunOutput,
): Promise<void> {
  const text = await renderRun(kind, report, format, {
    color: reportColor(color, output === undefined),
    verbose,
  });
  if (output === undefined) await writeStdout(text);
  else writeReportFile(output, text);
}

/** Says what configured the models of a run, where none of its reports does. */
export function sayConfigurations(
  plans: readonly Pick<LintPlan, "path" | "settings">[],
  reports: readonly Pick<ReportRequest, "format">[],
): void {
  if (reports.some(({ format }) => namesConfiguration[format])) return;
  const byFiles = new Map<string, string[]>();
  for (const { path, settings } of plans) {
    const files = settings.configFiles.join(", ");
    const before = byFiles.get(files);
    if (before === undefined) byFiles.set(files, [path]);
    else if (before.at(-1) !== path) before.push(path);
  }
  for (const [files, [first, ...more]] of byFiles) {
    const others = more.length === 0 ? "" : ` and ${counted(more.length, "more model")}`;
    if (files !== "") complain(`${first}${others}: configured by ${files}`);
  }
}

/** Why a run fails, where no report on stdout says it: files may be read by nobody. */
export function sayFailures({ models }: LintReport, reports: readonly ReportRequest[]): void {
  if (reports.some(({ format, path }) => path === undefined && !silentFormats.has(format))) return;
  const failed = models.flatMap(({ path, error }) =>
    error === null ? [] : [error.message.startsWith(path) ? error.message : `${path}: ${error.message}`],
  );
  const [first, ...more] = new Set(failed);
  if (first === undefined) return;
  complain(more.length === 0 ? first : `${first}; and ${counted(more.length, "more model")} failed`);
}

/** What the plans of a run read. */
export function filesOf(plans: readonly LintPlan[]): string[] {
  return plans.flatMap(({ path, profiles = [], settings: { configFiles, calibration } }) => [
    path,
    ...profiles,
    ...configFiles,
    ...(calibration === null ? [] : [calibration]),
  ]);
}
