/** @file Shards' reports as one: what `tc-lint lint` of all models would have printed, and its exit code. */
import { mergeShards } from "../api/shards.ts";
import { progressText } from "../api/tally.ts";
import { checkReportFiles } from "../files/report-file.ts";
import { readShardFile, shardFiles } from "../files/shard-file.ts";
import { InputError } from "../ir/errors.ts";
import type { ModelReport } from "../lint/result.ts";
import { drawnFormats, type LintFormat, layerFormats } from "../report/registry.ts";
import type { ShardHeader, ShardModel } from "../settings/shard-report.ts";
import { version } from "../version.ts";
import { checkSizesUsed, finishLint, withPlacesSaid } from "./finish-lint.ts";
import type { MergeFlags } from "./merge-options.ts";
import { withProgress } from "./progress.ts";
import { type CarriedOptions, mergedFlags } from "./shard-carried.ts";
import { complainOfBug } from "./stderr.ts";
import { carriedBaseline } from "./suppressions.ts";
import { type Places, writeReports } from "./write-reports.ts";

/** Returns the exit code. Throws InputError where the files are not all shards of one run. */
export async function runMerge(paths: readonly string[], { reports, color }: MergeFlags): Promise<number> {
  const files = shardFiles(paths);
  checkReportFiles(
    (reports ?? []).map(({ path }) => path),
    { inputs: files },
  );
  const formats = (reports ?? []).map(({ format }) => format);
  const shards = await readShards(files, formats);
  const merged = mergeShards(shards);
  const [first] = shards;
  if (first === undefined) return 0;
  const { header } = first.report;
  checkVersion(header, first.file);
  const options = header.options as unknown as CarriedOptions;
  checkCarried(formats, options);
  const models = merged.models.map((model) => withoutLayers(model, formats, options));
  const outcomes = models.flatMap((model) => model.outcomes);
  const flags = mergedFlags(options, { reports, color });
  checkSizesUsed(outcomes, options["--dim"]);
  const noted = withPlacesSaid(outcomes, options["--dim"]);
  for (const { bug } of outcomes) if (bug !== undefined) complainOfBug(bug);
  const keys = new Map(models.map(({ path, key }) => [path, key]));
  const baseline = carriedBaseline(header.suppressions, keys, flags);
  const pluginRules = header.plugins.flatMap(({ rules }) => rules);
  const places = { ...placesOf(models, merged.sources), pluginRules };
  return finishLint({ plans: merged.plans, outcomes: noted, baseline, isWhole: true }, flags, (report) =>
    writeReports(report, flags, places),
  );
}

function readShards(files: readonly string[], formats: readonly LintFormat[]) {
  return withProgress((say) =>
    files.map((file, done) => {
      say(progressText({ done, total: files.length, running: [file] }, "shards"));
      return { file, report: readShardFile(file, keptFor(formats)) };
    }),
  );
}

function checkVersion({ version: made }: ShardHeader, file: string): void {
  if (made === version) return;
  throw new InputError(
    "bad-shard",
    `${file}: is of tc-lint ${made}, and this is ${version}: merge shards with the version that linted them`,
  );
}

/** Throws InputError where a format shows what was not carried. */
function checkCarried(formats: readonly LintFormat[], options: CarriedOptions): void {
  const carried = options["--merge-as"];
  const has = (needed: ReadonlySet<LintFormat>) => carried.some((format) => needed.has(format));
  const lacks = formats.find(
    (format) =>
      (layerFormats.has(format) && !options["--table"] && !has(layerFormats)) ||
      (drawnFormats.has(format) && !has(drawnFormats)),
  );
  if (lacks === undefined) return;
  throw new InputError(
    "bad-shard",
    `--format: ${lacks} shows more of each model than these shards carry: lint them with --merge-as ${lacks}`,
  );
}

/** Drawings go as a model is read: they are most of it. */
function keptFor(formats: readonly LintFormat[]): (model: ShardModel) => ShardModel {
  if (formats.some((format) => drawnFormats.has(format))) return (model) => model;
  return (model) => mapReports(model, ({ ceilings: _, surroundings: __, ...report }) => report);
}

/** Layers that were carried for a format that is not asked for now. */
function withoutLayers(
  model: ShardModel,
  formats: readonly LintFormat[],
  options: CarriedOptions,
): ShardModel {
  if (options["--table"] || formats.some((format) => layerFormats.has(format))) return model;
  return mapReports(model, ({ layers: _, ...report }) => report);
}

function mapReports(model: ShardModel, map: (report: ModelReport) => ModelReport): ShardModel {
  const outcomes = model.outcomes.map((outcome) => ({ ...outcome, report: map(outcome.report) }));
  return { ...model, outcomes };
}

/** As the machines that linted the models had them: the files may not be here. */
function placesOf(models: readonly ShardModel[], sources: ReadonlyMap<string, string | null>): Places {
  const byPath = new Map(models.map((model) => [model.path, model]));
  return {
    localPath: (file) => sources.get(file) ?? undefined,
    repositoryPath: (path) => byPath.get(path)?.repositoryPath ?? path,
    bytesOf: (path) => byPath.get(path)?.bytes ?? undefined,
  };
}
