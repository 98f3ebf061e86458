/** @file What a chain of configurations and the command line together say of one model: plain data. */
import { dirname, resolve } from "node:path";
import type { Config, Override, RuleSetting, RuleSettings } from "../config.ts";
import { findGpu, gpus } from "../hardware/gpus.ts";
import { findStack, type StackId, stackIds } from "../hardware/stacks.ts";
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { type BudgetTarget, budgetsFor, type ResolvedBudget } from "./budgets.ts";
import type { ConfigChain, ConfigLayer } from "./chain.ts";
import { suggestion } from "./closest.ts";
import { compilePattern, nameMatcher, pathMatcher } from "./glob.ts";
import { pathBelow, toDisplayPath } from "./paths.ts";
import { type RuleInfo, selectRules, specificity } from "./rule-selectors.ts";
import { standard } from "./standard.ts";
import { parseShare } from "./values.ts";

/** Rules at some nodes of a model. */
export interface NodeRules {
  /** Globs; undefined is every node. */
  readonly nodes: readonly string[] | undefined;
  /** Operators; undefined is every operator. */
  readonly ops: readonly string[] | undefined;
  /** By rule code. */
  readonly severities: Readonly<Record<string, RuleSetting>>;
  /** Why, where the configuration says so. */
  readonly reason?: string;
  /** Where it stands: `tc-lint.config.json: overrides[0]`. */
  readonly from: string;
}

/** Everything decided for one model, for `--print-config` and for a worker. */
export interface ResolvedSettings {
  readonly gpu: string;
  readonly stack: StackId;
  readonly precision: Precision;
  readonly minSaving: number;
  readonly errorShare: number;
  /** Whether what another stack that was measured would lose by is left. */
  readonly stackGuard: boolean;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly dims: Readonly<Record<string, number>>;
  /** Path of a calibration file. */
  readonly calibration: string | null;
  /** Those of this model. */
  readonly budgets: readonly ResolvedBudget[];
  /** Files of plugins, absolute, in the order that their configurations name them. */
  readonly plugins: readonly string[];
  /** Of every rule, by code. */
  readonly severities: Readonly<Record<string, RuleSetting>>;
  readonly nodeRules: readonly NodeRules[];
  /** Files that took part, the most general first. */
  readonly configFiles: readonly string[];
}

/** What the command line says; undefined where it says nothing. It wins over every configuration. */
export interface SettingFlags {
  readonly gpu?: string | undefined;
  readonly stack?: string | undefined;
  readonly precision?: Precision | undefined;
  /** Whether its times were measured: then of what ran, which is the file in its own types unless it is said. */
  readonly profiled?: boolean;
  readonly minSaving?: number | undefined;
  readonly errorShare?: number | undefined;
  readonly stackGuard?: boolean | undefined;
  readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined;
  readonly dims?: Readonly<Record<string, number>> | undefined;
  readonly calibration?: string | undefined;
  readonly select?: readonly string[] | undefined;
  readonly ignore?: readonly string[] | undefined;
}

/** Throws InputError where a GPU, a stack, a rule or a pattern is unknown. */
export function resolveSettings(
  modelPath: string,
  chain: ConfigChain | undefined,
  flags: SettingFlags,
  rules: readonly RuleInfo[],
): ResolvedSettings {
  const layers = chain?.layers ?? [];
  const config: Config = Object.assign(
    {},
    ...layers.map((layer) => withAbsolutePaths(layer.config, layer.file)),
  );
  const { severities, nodeRules } = severitiesOf(modelPath, chain, flags, rules);
  const target: BudgetTarget = {
    gpu: gpuId(flags.gpu ?? config.gpu ?? standard.gpu),
    stack: stackId(flags.stack ?? config.stack ?? standard.stack),
    precision:
      flags.precision ?? config.precision ?? (flags.profiled === true ? "as-is" : standard.precision),
  };
  return {
    ...target,
    minSaving: flags.minSaving ?? parseShare(config.minSaving ?? standard.minSaving, "minSaving"),
    errorShare: flags.errorShare ?? parseShare(config.errorShare ?? standard.errorShare, "errorShare"),
    stackGuard: flags.stackGuard ?? config.stackGuard ?? standard.stackGuard,
    shapes: merged([...layers.map(({ config: { shapes } }) => shapes), flags.shapes]),
    dims: merged([...layers.map(({ config: { dims } }) => dims), flags.dims]),
    calibration: flags.calibration ?? config.calibration ?? null,
    budgets: budgetsFor(modelPath, chain, target),
    plugins: pluginsOf(chain),
    severities,
    nodeRules,
    configFiles: layers.map(({ file }) => toDisplayPath(file)),
  };
}

/** Whether the precision is somebody's choice, not the default. */
export function isPrecisionStated(chain: ConfigChain | undefined, { precision }: SettingFlags): boolean {
  return (
    precision !== undefined || (chain?.layers ?? []).some(({ config }) => config.precision !== undefined)
  );
}

/** Each once: a base and what extends it may name the same. */
export function pluginsOf(chain: ConfigChain | undefined): string[] {
  return [...new Set((chain?.layers ?? []).flatMap(({ plugins = [] }) => plugins))];
}

/** The configuration file that leaves a model out, where one does. */
export function ignoringFile(modelPath: string, chain: ConfigChain | undefined): string | undefined {
  if (chain === undefined) return undefined;
  const path = pathBelow(chain.folder, modelPath);
  const ignores = ({ config, file }: ConfigLayer) =>
    (config.ignores ?? []).some((pattern) =>
      compilePattern(pattern, pathMatcher, `${toDisplayPath(file)}: ignores`)(path),
    );
  const layer = chain.layers.find(ignores);
  return layer && toDisplayPath(layer.file);
}

/** A matcher of any of some patterns, for node names. */
export function anyNameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map((pattern) => compilePattern(pattern, nameMatcher, "nodes"));
  return (name) => matchers.some((matches) => matches(name));
}

/** Later records win. Names of tensors may be anything, `__proto__` included, so nothing is assigned. */
function merged<T>(records: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> {
  return Object.fromEntries(records.flatMap((record) => Object.entries(record ?? {})));
}

function severitiesOf(
  modelPath: string,
  chain: ConfigChain | undefined,
  flags: SettingFlags,
  rules: readonly RuleInfo[],
): Pick<ResolvedSettings, "severities" | "nodeRules"> {
  const severities: Record<string, RuleSetting> = {};
  for (const { code, severity } of rules) severities[code] = severity;
  const nodeRules: NodeRules[] = [];
  const layers = chain?.layers ?? [];
  for (const { config, file } of layers) {
    Object.assign(severities, expand(config.rules ?? {}, rules, toDisplayPath(file)));
  }
  for (const { config, file } of layers) {
    const shown = toDisplayPath(file);
    for (const [index, override] of (config.overrides ?? []).entries()) {
      if (!appliesTo(override, modelPath, chain?.folder ?? dirname(file), shown)) continue;
      const { nodes, ops, reason } = override;
      const because = reason === undefined ? {} : { reason };
      const expanded = expand(override.rules, rules, shown);
      if (nodes === undefined && ops === undefined) Object.assign(severities, expanded);
      else
        nodeRules.push({
          nodes,
          ops,
          severities: expanded,
          ...because,
          from: `${shown}: overrides[${index}]`,
        });
    }
  }
  return selected({ severities, nodeRules }, flags, rules);
}

/** `--select` leaves its rules only, and switches them on where a configuration switched them off. */
function selected(
  { severities, nodeRules }: Pick<ResolvedSettings, "severities" | "nodeRules">,
  flags: SettingFlags,
  rules: readonly RuleInfo[],
): Pick<ResolvedSettings, "severities" | "nodeRules"> {
  const codes = (selectors: readonly string[] | undefined, flag: string) =>
    selectors && new Set(selectors.flatMap((selector) => selectRules(selector, rules, flag)));
  const [select, ignore] = [codes(flags.select, "--select"), codes(flags.ignore, "--ignore")];
  const isOut = (code: string) => select?.has(code) === false || ignore?.has(code) === true;
  if (select !== undefined && ignore !== undefined && rules.every(({ code }) => isOut(code)))
    throw new InputError("usage", "--select, --ignore: leave no rule of those that there are");
  const result: Record<string, RuleSetting> = {};
  for (const { code, severity } of rules) {
    const before = severities[code] ?? severity;
    const wanted = select !== undefined && before === "off" ? severity : before;
    result[code] = isOut(code) ? "off" : wanted;
  }
  const kept = nodeRules.map((each) => ({
    ...each,
    severities: Object.fromEntries(Object.entries(each.severities).filter(([code]) => !isOut(code))),
  }));
  return { severities: result, nodeRules: kept };
}

/** Settings by code; starts of codes first, so that whole codes and names win over them. */
function expand(
  settings: RuleSettings,
  rules: readonly RuleInfo[],
  where: string,
): Record<string, RuleSetting> {
  const entries = Object.entries(settings).sort(([a], [b]) => specificity(a) - specificity(b));
  const expanded: Record<string, RuleSetting> = {};
  for (const [selector, setting] of entries) {
    for (const code of selectRules(selector, rules, `${where}: rules`)) expanded[code] = setting;
  }
  return expanded;
}

function appliesTo({ files }: Override, modelPath: string, folder: string, shown: string): boolean {
  if (files === undefined) return true;
  const path = pathBelow(folder, modelPath);
  return files.some((pattern) => compilePattern(pattern, pathMatcher, `${shown}: overrides`)(path));
}

function withAbsolutePaths(config: Config, file: string): Config {
  if (config.calibration === undefined) return config;
  return { ...config, calibration: resolve(dirname(file), config.calibration) };
}

function gpuId(id: string): string {
  const gpu = findGpu(id);
  if (gpu !== undefined) return gpu.id;
  const known = [...gpus.keys()];
  throw new InputError(
    "unknown-gpu",
    `--gpu: found "${id}", expected one of ${known.join(", ")} (tc-lint gpus describes them)${suggestion(id, known)}`,
  );
}

function stackId(id: string): StackId {
  const stack = findStack(id);
  if (stack !== undefined) return stack.id;
  throw new InputError(
    "unknown-stack",
    `--stack: found "${id}", expected one of ${stackIds.join(", ")}${suggestion(id, stackIds)}`,
  );
}
