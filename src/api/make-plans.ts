/** @file Which models are linted, and how: configurations, flags and ignores come together here. */

import { rules as builtIn } from "../../rules/index.ts";
import { budgetsOfNothing } from "../files/budget-files.ts";
import { ConfigFinder } from "../files/find-config.ts";
import { type FoundModel, findModels, isModelName } from "../files/find-models.ts";
import { ConfigLoader } from "../files/load-config.ts";
import { look, statOf } from "../files/look.ts";
import { InputError } from "../ir/errors.ts";
import type { Limits } from "../limits/guard.ts";
import type { AnyRule } from "../lint/rule.ts";
import { withBudgetsOnce } from "../settings/budgets.ts";
import type { ConfigChain } from "../settings/chain.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { toDisplayPath } from "../settings/paths.ts";
import {
  ignoringFile,
  isPrecisionStated,
  pluginsOf,
  type ResolvedSettings,
  resolveSettings,
  type SettingFlags,
} from "../settings/resolve.ts";
import {
  configuredScenarios,
  namedScenarios,
  type Scenario,
  type ScenarioChoice,
} from "../settings/scenarios.ts";
import { configSchema } from "../settings/schema.ts";
import { unflaggedOf } from "../settings/unflagged.ts";
import { loadPlugins } from "./plugins.ts";

/** The configuration nearest to each model, one file for all, or none. */
export type ConfigChoice =
  | { readonly kind: "nearest" | "none" }
  | { readonly kind: "file"; readonly path: string };

/** What holds for all models of a run. */
export interface PlanRequest {
  /** What stands above every configuration. */
  readonly settings: SettingFlags;
  /** Several targets and sizes for each model; undefined: one, whatever a configuration lists. */
  readonly scenarios?: ScenarioChoice | undefined;
  readonly config: ConfigChoice;
  /** Files of one profile, of the one model that is linted. */
  readonly profiles?: readonly string[];
  /** Whether reports list every layer. */
  readonly table: boolean;
  /** Whether they have what is drawn: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean;
  /** Whether they list all findings, also those that save too little, or perhaps nothing. */
  readonly verbose: boolean;
  /** Whether they list what was switched off. */
  readonly suppressed?: boolean;
  /** Whether they say what is switched off in vain. */
  readonly reportUnused?: boolean;
  /** Leaves out what a configuration ignores, also where it is named. */
  readonly forceExclude: boolean;
  /** Of folders also what Git ignores, and what is hidden. */
  readonly allFiles: boolean;
  readonly errorOnUnmatchedPattern: boolean;
  /** What the patterns are of where no command line gave them: messages name it, and no flags. */
  readonly patternsOf?: string;
  /** Also of loading each configuration and plugin that is code. */
  readonly limits?: Pick<Limits, "timeoutSeconds">;
  /** What is worth knowing and fails nothing: a configuration that is passed over. */
  readonly onNotice: (message: string) => void;
}

/** One plan a model and scenario, in the order of the command line. Throws InputError where a pattern or a configuration is wrong. */
export async function makePlans(patterns: readonly string[], flags: PlanRequest): Promise<LintPlan[]> {
  const configOf = configFinder(flags);
  const scenariosFor = scenarioFinder(flags);
  const plans: LintPlan[] = [];
  const ignoredBy = new Set<string>();
  const chains = new Set<ConfigChain | undefined>();
  const models = modelsOf(patterns, flags);
  // One folder's configuration must not keep the rest from being looked at; one that the user named is his own mistake.
  const isOneOfMany = flags.config.kind === "nearest" && models.length > 1;
  for (const { path, explicit, refused: unnamed } of models) {
    const { chain, rules, refused } = await chainOf(path, configOf, isOneOfMany, flags.limits);
    if (chain !== undefined && !chains.has(chain))
      for (const message of budgetsOfNothing(chain)) flags.onNotice(message);
    chains.add(chain);
    const ignoring = explicit && !flags.forceExclude ? undefined : ignoringFile(path, chain);
    if (ignoring !== undefined) {
      ignoredBy.add(ignoring);
      continue;
    }
    const { profiles = [], table: layers, drawings = false, verbose, reportUnused = false } = flags;
    // What overrides switch off in vain is told from what they do switch off.
    const suppressed = flags.suppressed === true || reportUnused;
    const scenarios = scenariosFor(chain);
    const flagsIn = (scenario: Scenario | undefined) =>
      withScenario({ ...flags.settings, profiled: profiles.length > 0 }, scenario);
    const resolved = scenarios.map((scenario) => resolveSettings(path, chain, flagsIn(scenario), rules));
    for (const [index, settings] of withBudgetsOnce(resolved).entries()) {
      plans.push({
        path,
        settings,
        scenario: scenarios[index],
        profiles,
        isPrecisionStated: isPrecisionStated(chain, flagsIn(scenarios[index])),
        unflagged: unflaggedOf(chain, flags.settings, scenarios[index]),
        given: { settings: flags.settings, config: flags.config },
        layers,
        drawings,
        verbose,
        suppressed,
        reportUnused,
        mustHave: [],
        refused: unnamed ?? refused,
      });
    }
  }
  if (plans.length === 0 && ignoredBy.size > 0) refuseNothing(models.length, [...ignoredBy], flags);
  checkOneProfiled(plans);
  const isOneModel = new Set(plans.map(({ path }) => path)).size === 1;
  return isOneModel ? plans.map((plan) => ({ ...plan, mustHave: sizeNames(flags) })) : plans;
}

/** A profile is of one model, at one size and on one target. Throws InputError `usage`. */
function checkOneProfiled(plans: readonly LintPlan[]): void {
  const [first, second] = plans;
  if (second === undefined || first?.profiles === undefined || first.profiles.length === 0) return;
  const what = second.path === first.path ? "scenarios" : "models";
  throw new InputError(
    "usage",
    `--profile: expected one model at one size and target, found ${plans.length} ${what}: a profile is of one`,
  );
}

/** A report on nothing reads as if nothing were wrong. Throws InputError `all-ignored`, unless nothing to do is right. */
function refuseNothing(
  found: number,
  files: readonly string[],
  { errorOnUnmatchedPattern, patternsOf, onNotice }: PlanRequest,
): void {
  const what = found === 1 ? "the model found is" : `all ${found} models found are`;
  const why = `nothing is linted: ${what} ignored by ${files.join(" and ")} (ignores)`;
  if (!errorOnUnmatchedPattern) return onNotice(why);
  const advice = "name a model to lint it all the same";
  throw new InputError(
    "all-ignored",
    inWordsOf(patternsOf, why, { ask: `; ${advice}`, allow: allowNothing }),
  );
}

const allowNothing = " (--no-error-on-unmatched-pattern takes that as nothing to do)";

/** What is wrong with patterns, with what to do about it: with flags, where there are any. */
function inWordsOf(
  patternsOf: string | undefined,
  what: string,
  { ask, allow }: { readonly ask: string; readonly allow: string },
): string {
  return patternsOf === undefined ? `${what}${ask}${allow}` : `${patternsOf}: ${what}`;
}

type ConfigOf = ReturnType<typeof configFinder>;

async function chainOf(
  path: string,
  configOf: ConfigOf,
  isOneOfMany: boolean,
  limits: PlanRequest["limits"],
) {
  try {
    const chain = await configOf(path);
    return { chain, rules: await loadPlugins(pluginsOf(chain), limits?.timeoutSeconds), refused: undefined };
  } catch (error) {
    if (!isOneOfMany || !(error instanceof InputError)) throw error;
    return { chain: undefined, rules: builtIn, refused: { code: error.code, message: error.message } };
  }
}

/** The rules of a model in the current folder. */
export async function rulesHere(
  request: Pick<PlanRequest, "config" | "onNotice">,
): Promise<readonly AnyRule[]> {
  return loadPlugins(pluginsOf(await configFinder(request)("model.onnx")));
}

/** What holds for a model in the current folder, in each scenario. */
export async function settingsHere(
  request: Pick<PlanRequest, "config" | "settings" | "scenarios" | "onNotice">,
): Promise<{ readonly scenario: Scenario | undefined; readonly settings: ResolvedSettings }[]> {
  const path = "model.onnx";
  const chain = await configFinder(request)(path);
  const rules = await loadPlugins(pluginsOf(chain));
  return scenarioFinder(request)(chain).map((scenario) => ({
    scenario,
    settings: resolveSettings(path, chain, withScenario(request.settings, scenario), rules),
  }));
}

/** Inputs and dimensions that the command line gives sizes for. */
export function sizeNames({ settings, scenarios }: Pick<PlanRequest, "settings" | "scenarios">): string[] {
  const [combination] = scenarios?.combinations ?? [];
  const { shapes, dims } = withScenario(settings, combination);
  return [...Object.keys(shapes ?? {}), ...Object.keys(dims ?? {})];
}

/** A scenario of a configuration gives way to the precision of the command line, which its name may stand beside. */
function withScenario(flags: SettingFlags, scenario: Scenario | undefined): SettingFlags {
  const { precision } = flags;
  const isAbove = scenario?.name !== undefined && precision !== undefined;
  return { ...flags, ...scenario?.settings, ...(isAbove ? { precision } : {}) };
}

/** The scenarios of a model with a given configuration: undefined stands for what the rest says. */
function scenarioFinder({
  scenarios: choice,
  onNotice,
}: Pick<PlanRequest, "scenarios" | "onNotice">): (
  chain: ConfigChain | undefined,
) => readonly (Scenario | undefined)[] {
  const passedOver = new Set<string>();
  return (chain) => {
    if (choice === undefined) return [undefined];
    const configured = configuredScenarios(chain);
    if (choice.only !== undefined) return namedScenarios(configured, choice.only);
    if (configured !== undefined && choice.flags.length > 0 && !passedOver.has(configured.file)) {
      passedOver.add(configured.file);
      onNotice(`${configured.file}: its scenarios are passed over: ${choice.flags.join(", ")} given`);
    }
    if (choice.combinations.length > 0) return choice.combinations;
    return configured === undefined || choice.flags.length > 0 ? [undefined] : configured.scenarios;
  };
}

function configFinder({
  config,
  limits,
  onNotice,
}: Pick<PlanRequest, "config" | "limits" | "onNotice">): (
  modelPath: string,
) => Promise<ConfigChain | undefined> {
  const finder = new ConfigFinder(process.cwd(), onNotice);
  const loader = new ConfigLoader(configSchema(builtIn), finder, limits?.timeoutSeconds);
  switch (config.kind) {
    case "none":
      return () => Promise.resolve(undefined);
    case "file":
      return () => loader.load(config.path);
    case "nearest":
      return (modelPath) => loader.nearest(modelPath);
  }
}

function modelsOf(
  patterns: readonly string[],
  { errorOnUnmatchedPattern, allFiles, patternsOf, onNotice }: PlanRequest,
): readonly FoundModel[] {
  if (patterns.length === 0) {
    throw new InputError(
      "usage",
      "no model given; expected files, folders or patterns, such as: tc-lint model.onnx",
    );
  }
  const { models, unmatched, passedOver, passedOverBy } = findModels(patterns, { allFiles, say: onNotice });
  const ofModels = passedOver.filter((path) => isModelName(path));
  const isAnyone = models.length > 0 || !errorOnUnmatchedPattern;
  if (ofModels.length > 0 && isAnyone) onNotice(`${listed(ofModels)}: ignored by Git, or hidden: ${asked}`);
  if (!errorOnUnmatchedPattern) {
    return models.filter(({ path, refused }) => refused !== undefined || look(path) !== "absent");
  }
  // A shell's *.onnx names folders that are called so, too: the models beside them are linted all the same.
  const folders = models.length > 0 ? unmatched.filter(isModelFolder) : [];
  const missing = unmatched.filter((pattern) => !folders.includes(pattern));
  if (missing.length === 0) return [...models, ...folders.map(refusedFolder)];
  const patternList = missing.map((pattern) => `"${pattern}"`).join(", ");
  const over = [...new Set(missing.flatMap((pattern) => passedOverBy.get(pattern) ?? []))];
  const hidden = over.length === 0 ? "" : `, but for what Git ignores or is hidden (${listed(over)})`;
  const ask = hidden === "" ? "" : `: ${asked}`;
  throw new InputError(
    "unmatched-pattern",
    inWordsOf(patternsOf, `${patternList}: no .onnx file there${hidden}`, { ask, allow: allowNothing }),
  );
}

function isModelFolder(pattern: string): boolean {
  if (!isModelName(pattern)) return false;
  const seen = statOf(pattern);
  return typeof seen !== "string" && seen.isDirectory();
}

function refusedFolder(pattern: string): FoundModel {
  const path = toDisplayPath(pattern);
  const message = `${path}: is a folder, and no .onnx file is in it`;
  return { path, explicit: true, refused: { code: "unmatched-pattern", message } };
}

const asked = "--all-files takes it too, as does naming it";
const mostListed = 3;

function listed(paths: readonly string[]): string {
  const more = paths.length > mostListed ? ` and ${paths.length - mostListed} more` : "";
  return `${paths.slice(0, mostListed).join(", ")}${more}`;
}
