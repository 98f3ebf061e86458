/** @file The flags of `tc-lint lint` and `tc-lint print-config`: what yargs is told, and what it gives back, checked. */
import type { InferredOptionTypes } from "yargs";
import type { LfsPointers } from "../api/lfs-pointers.ts";
import type { ConfigChoice } from "../api/make-plans.ts";
import type { SourcePlaces } from "../files/repository.ts";
import { findGpu, gpus } from "../hardware/gpus.ts";
import { comparedStacks, float32Words, stackIds } from "../hardware/stacks.ts";
import { InputError } from "../ir/errors.ts";
import type { Limits } from "../limits/guard.ts";
import { lintFormatNames } from "../report/registry.ts";
import type { SettingFlags } from "../settings/resolve.ts";
import { precisions } from "../settings/rule-selectors.ts";
import { type Axes, combinationsOf, flagsOf, type ScenarioChoice, singleOf } from "../settings/scenarios.ts";
import {
  checkDistinct,
  parseChoice,
  parseCount,
  parseList,
  parsePositive,
  parsePrecision,
  parseShapes,
  parseShare,
  parseSizes,
  parseValues,
} from "../settings/values.ts";
import { mapped, parseMemory, single } from "./arguments.ts";
import { type CacheFlags, cacheOptions, readCacheFlags } from "./cache-options.ts";
import { type FailOn, failOns } from "./exit.ts";
import { parseFormats, type ReportRequest } from "./formats.ts";
import { readShardFlags, type ShardFlags, shardOptions } from "./shard-options.ts";
import { readSuppressFlags, type SuppressFlags, suppressOptions } from "./suppress-options.ts";

const text = (group: string, describe: string) =>
  ({ type: "string", requiresArg: true, group, describe }) as const;
const texts = (group: string, describe: string) =>
  ({ type: "string", array: true, requiresArg: true, group, describe }) as const;
const flag = (group: string, describe: string) => ({ type: "boolean", group, describe }) as const;

/** What decides about a model: flags that a configuration file has too. */
export const settingOptions = {
  gpu: text(
    "Target:",
    `GPU to predict for: ${[...gpus.keys()].join(", ")} (default h200); several are taken in turn, as l4,a100`,
  ),
  stack: text("Target:", `Libraries to predict for: ${stackIds.join(", ")} (default ort-cuda); or several`),
  precision: text(
    "Target:",
    `Data type that products are computed in: ${precisions.join(", ")} (default fp16); or several. FP32 as-is, and as exported, is ${float32Words()}`,
  ),
  calibration: text("Target:", "File of coefficients measured on your machine"),
  shape: texts("Sizes:", "Size of an input, such as input=1,3,224,224; repeatable"),
  dim: texts(
    "Sizes:",
    "Size of a symbolic dimension, such as batch=32, or several: batch=1,8,32; repeatable",
  ),
  select: texts(
    "Rules:",
    "Tell only these rules: codes, names, or prefixes of codes (TC1), separated by commas. --fix repairs all that it can",
  ),
  ignore: texts("Rules:", "Tell all but these rules"),
  "min-saving": text("Rules:", "Sum up findings that save less of the model's time than this (default 0.5%)"),
  "error-share": text(
    "Rules:",
    "A warning worth at least this much of the predicted time, which TC201's saving is no part of, is an error (default 5%)",
  ),
  "stack-guard": flag(
    "Rules:",
    `Leave safe fixes that slow the model down by over 2 % on ${comparedStacks.map(({ id }) => id).join(", ")}, where whole files were measured in half precision; --no-stack-guard makes them`,
  ),
  config: text("Configuration:", "Configuration file for every model; --no-config reads none"),
  scenario: texts("Configuration:", "Only these of the configuration's scenarios, separated by commas"),
} as const;

export const lintOptions = {
  ...settingOptions,
  profile: texts(
    "Target:",
    "What was measured, in place of predictions: trtexec --exportProfile (and --exportLayerInfo, a second --profile), ONNX Runtime's or PyTorch's trace, tc-lint bench -f json",
  ),
  format: {
    ...texts(
      "Report:",
      `${lintFormatNames.join(", ")}, to stdout or to a file with =PATH; or blob=PATH, for merge-reports; repeatable (default text)`,
    ),
    alias: "f",
  },
  output: { ...text("Report:", "File of the report, where there is one format"), alias: "o" },
  table: flag("Report:", "Every layer: sizes, FLOPs, bytes, what bounds it, predicted time, findings"),
  verbose: flag(
    "Report:",
    "Every place of a finding, and findings that save too little, or perhaps nothing; with --diff every node that is removed",
  ),
  "show-suppressed": flag(
    "Report:",
    "In JSON and SARIF also what the model's metadata, overrides or suppressions switched off (GitHub shows SARIF's suppressed results as open alerts)",
  ),
  stats: flag("Report:", "Counts by rule"),
  quiet: { ...flag("Report:", "Report errors only; the exit code counts warnings all the same"), alias: "q" },
  color: flag("Report:", "Colour or not (--no-color); else FORCE_COLOR, NO_COLOR and the terminal decide"),
  ...suppressOptions,
  "max-warnings": text("Exit code:", "Exit with 1 where there are more warnings than this"),
  "fail-on": text(
    "Exit code:",
    "What exits with 1: error (default), or fixable, which is what --fix alone repairs, of any severity (what takes --fix --precision or --unsafe-fixes fails nothing: --diff with these exits with 1 for it)",
  ),
  "fail-on-untracked-data": flag(
    "Exit code:",
    "Exit with 1 where Git tracks a model and neither tracks nor ignores its external data: for hooks",
  ),
  "exit-zero": flag("Exit code:", "Exit with 0 whatever is found; a failure is still 2"),
  "force-exclude": flag("Files:", "Leave out what a configuration ignores, even where it is named here"),
  "all-files": flag("Files:", "Of folders and patterns also what Git ignores, and what is hidden"),
  "error-on-unmatched-pattern": {
    ...flag(
      "Files:",
      "Fail where a path or pattern matches no model; switch off with --no-error-on-unmatched-pattern",
    ),
    default: true,
  },
  "lfs-pointers": text(
    "Files:",
    "What a Git LFS pointer in a model's place is: error, warn, skip (default error)",
  ),
  jobs: { ...text("Files:", "Models linted at once (default: one a core)"), alias: "j" },
  ...shardOptions,
  ...cacheOptions,
  timeout: text("Limits:", "Seconds that a model may take (default: by its size, a minute and more)"),
  "memory-gb": text("Limits:", "Memory that a model may take (default: three quarters of the machine's)"),
  "source-root": text("Report:", "Folder that exporters' relative paths of Python sources are below"),
  "path-mapping": texts(
    "Report:",
    "FROM=TO: what the exporter's machine called FROM is TO here, for lines of Python; repeatable",
  ),
  "print-config": flag("Configuration:", "Print what was decided for each model, and stop"),
} as const;

export interface LintFlags {
  readonly settings: SettingFlags;
  readonly scenarios: ScenarioChoice;
  readonly config: ConfigChoice;
  readonly reports: readonly ReportRequest[] | undefined;
  /** Files of one profile of one model. */
  readonly profiles: readonly string[];
  readonly table: boolean;
  readonly verbose: boolean;
  readonly suppressed: boolean;
  readonly suppressions: SuppressFlags;
  readonly reportUnused: boolean;
  readonly stats: boolean;
  readonly quiet: boolean;
  readonly color: boolean | undefined;
  readonly maxWarnings: number | undefined;
  readonly failOn: FailOn;
  readonly failOnUntracked: boolean;
  readonly exitZero: boolean;
  readonly forceExclude: boolean;
  readonly allFiles: boolean;
  readonly errorOnUnmatchedPattern: boolean;
  readonly lfsPointers: LfsPointers;
  readonly sources: SourcePlaces;
  readonly jobs: number | undefined;
  readonly shards: ShardFlags;
  readonly cache: CacheFlags | undefined;
  /** Of each model. */
  readonly limits: Limits;
}

type SettingArguments = Partial<InferredOptionTypes<typeof settingOptions>>;
type LintArguments = Partial<InferredOptionTypes<typeof lintOptions>>;

/** Models, those after `--` too. */
export function pathsOf(argv: {
  readonly paths?: readonly string[] | undefined;
  readonly "--"?: unknown;
}): string[] {
  const { paths = [], "--": rest } = argv;
  return [...paths, ...(Array.isArray(rest) ? rest.map(String) : [])];
}

/** Throws InputError `usage` naming the flag, what was found and what was expected. */
export function readSettings(argv: SettingArguments): Pick<LintFlags, "settings" | "scenarios"> {
  const { "min-saving": minSaving, "error-share": errorShare } = argv;
  const axes = readAxes(argv);
  const settings = {
    ...singleOf(axes),
    calibration: single(argv.calibration, "--calibration"),
    shapes: mapped(argv.shape, parseShapes),
    select: mapped(argv.select, (texts) => parseList(texts, "--select")),
    ignore: mapped(argv.ignore, (texts) => parseList(texts, "--ignore")),
    minSaving: mapped(single(minSaving, "--min-saving"), (value) => parseShare(value, "--min-saving")),
    stackGuard: argv["stack-guard"],
    errorShare: mapped(single(errorShare, "--error-share"), (value) => parseShare(value, "--error-share")),
  };
  return { settings, scenarios: readScenarios(argv, axes) };
}

function readScenarios({ scenario }: SettingArguments, axes: Axes): ScenarioChoice {
  const combinations = combinationsOf(axes);
  const only = mapped(scenario, (texts) => texts.flatMap((text) => parseValues(text, "--scenario")));
  const flags = flagsOf(axes);
  // What a fix stores is asked for beside the scenario that it is decided for.
  const beside = axes.precision.length === 1 ? flags.filter((flag) => flag !== "--precision") : flags;
  if (only !== undefined && beside.length > 0) {
    const what = "expected alone, or beside one --precision: it names scenarios of a configuration";
    throw new InputError("usage", `--scenario: found beside ${beside.join(", ")}, ${what}`);
  }
  return { combinations, only, flags };
}

function readAxes(argv: SettingArguments): Axes {
  const several = (flag: "gpu" | "stack" | "precision") =>
    mapped(single(argv[flag], `--${flag}`), (value) => parseValues(value, `--${flag}`)) ?? [];
  const gpu = several("gpu");
  // One GPU may be known by several names.
  checkDistinct(
    gpu.map((id) => findGpu(id)?.id ?? id),
    "--gpu",
  );
  const dims = parseSizes(argv.dim ?? []);
  for (const [name, sizes] of Object.entries(dims)) checkDistinct(sizes, `--dim ${name}`);
  return { gpu, stack: several("stack"), precision: several("precision").map(parsePrecision), dims };
}

export function readConfigChoice(argv: { readonly config?: unknown }): ConfigChoice {
  // yargs gives `--no-config` back as false, whatever the type of the option.
  if (argv.config === false) return { kind: "none" };
  const path = single(argv.config, "--config");
  return path === undefined ? { kind: "nearest" } : { kind: "file", path };
}

export function parseJobs(text: string): number {
  return parseCount(text, "--jobs", 1, 4096);
}

export function readLintFlags(argv: LintArguments): LintFlags {
  const maxWarnings = single(argv["max-warnings"], "--max-warnings");
  const jobs = single(argv.jobs, "--jobs");
  const pointers = single(argv["lfs-pointers"], "--lfs-pointers") ?? "error";
  const { reports, blob } = parseFormats(argv.format ?? [], single(argv.output, "--output"));
  return {
    ...readSettings(argv),
    config: readConfigChoice(argv),
    reports,
    profiles: argv.profile ?? [],
    table: argv.table ?? false,
    verbose: argv.verbose ?? false,
    suppressed: argv["show-suppressed"] ?? false,
    suppressions: readSuppressFlags(argv),
    reportUnused: argv["report-unused-suppressions"] ?? false,
    stats: argv.stats ?? false,
    quiet: argv.quiet ?? false,
    color: argv.color,
    maxWarnings: mapped(maxWarnings, (value) => parseCount(value, "--max-warnings")),
    failOn: parseChoice(single(argv["fail-on"], "--fail-on") ?? "error", "--fail-on", failOns),
    failOnUntracked: argv["fail-on-untracked-data"] ?? false,
    exitZero: argv["exit-zero"] ?? false,
    forceExclude: argv["force-exclude"] ?? false,
    allFiles: argv["all-files"] ?? false,
    errorOnUnmatchedPattern: argv["error-on-unmatched-pattern"] ?? true,
    lfsPointers: parseChoice(pointers, "--lfs-pointers", ["error", "warn", "skip"]),
    jobs: mapped(jobs, parseJobs),
    shards: readShardFlags(argv, blob),
    cache: readCacheFlags(argv),
    sources: {
      root: single(argv["source-root"], "--source-root"),
      mapping: (argv["path-mapping"] ?? []).map(parseMapping),
    },
    limits: readLimits(argv),
  };
}

/** The last `=` parts the two: paths of other machines may have one. */
function parseMapping(text: string): readonly [from: string, to: string] {
  const at = text.lastIndexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1) || "."];
  throw new InputError("usage", `--path-mapping: found "${text}", expected FROM=TO, such as /build/src=src`);
}

function readLimits({ timeout, "memory-gb": memory }: LintArguments): Limits {
  return {
    timeoutSeconds: mapped(single(timeout, "--timeout"), (value) => parsePositive(value, "--timeout")),
    memoryBytes: mapped(single(memory, "--memory-gb"), parseMemory),
  };
}
