/** @file Which models are linted, and how: configurations, flags and ignores come together here. */
import { rules } from "../../rules/index.ts";
import { ConfigFinder } from "../files/find-config.ts";
import { type FoundModel, findModels } from "../files/find-models.ts";
import { ConfigLoader } from "../files/load-config.ts";
import { look } from "../files/look.ts";
import { InputError } from "../ir/errors.ts";
import type { ConfigChain } from "../settings/chain.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import {
  isIgnoredFile,
  type ResolvedSettings,
  resolveSettings,
  type SettingFlags,
} from "../settings/resolve.ts";
import { configSchema } from "../settings/schema.ts";

/** The configuration nearest to each model, one file for all, or none. */
export type ConfigChoice =
  | { readonly kind: "nearest" | "none" }
  | { readonly kind: "file"; readonly path: string };

/** What holds for all models of a run. */
export interface PlanRequest {
  /** What stands above every configuration. */
  readonly settings: SettingFlags;
  readonly config: ConfigChoice;
  /** Whether reports list every layer. */
  readonly table: boolean;
  /** Whether they list all findings, also those that save too little, or perhaps nothing. */
  readonly verbose: boolean;
  /** Leaves out what a configuration ignores, also where it is named. */
  readonly forceExclude: boolean;
  readonly errorOnUnmatchedPattern: boolean;
  /** What is worth knowing and fails nothing: a configuration that is passed over. */
  readonly onNotice: (message: string) => void;
}

/** One plan a model, in the order of the command line. Throws InputError where a pattern or a configuration is wrong. */
export async function makePlans(patterns: readonly string[], flags: PlanRequest): Promise<LintPlan[]> {
  const configOf = configFinder(flags);
  const plans: LintPlan[] = [];
  const models = modelsOf(patterns, flags);
  // One folder's configuration must not keep the rest from being looked at; one that the user named is his own mistake.
  const isOneOfMany = flags.config.kind === "nearest" && models.length > 1;
  for (const { path, explicit, refused: unnamed } of models) {
    const { chain, refused } = await chainOf(path, configOf, isOneOfMany);
    const mayIgnore = !explicit || flags.forceExclude;
    if (mayIgnore && isIgnoredFile(path, chain)) continue;
    const settings = resolveSettings(path, chain, flags.settings, rules);
    const { table: layers, verbose } = flags;
    plans.push({ path, settings, layers, verbose, mustHave: [], refused: unnamed ?? refused });
  }
  const [only, ...more] = plans;
  return only !== undefined && more.length === 0 ? [{ ...only, mustHave: sizeNames(flags) }] : plans;
}

type ConfigOf = ReturnType<typeof configFinder>;

async function chainOf(path: string, configOf: ConfigOf, isOneOfMany: boolean) {
  try {
    return { chain: await configOf(path), refused: undefined };
  } catch (error) {
    if (!isOneOfMany || !(error instanceof InputError)) throw error;
    return { chain: undefined, refused: { code: error.code, message: error.message } };
  }
}

/** What holds for a model in the current folder. */
export async function settingsHere(
  request: Pick<PlanRequest, "config" | "settings" | "onNotice">,
): Promise<ResolvedSettings> {
  const path = "model.onnx";
  return resolveSettings(path, await configFinder(request)(path), request.settings, rules);
}

/** Inputs and dimensions that the command line gives sizes for. */
export function sizeNames({ settings }: Pick<PlanRequest, "settings">): string[] {
  return [...Object.keys(settings.shapes ?? {}), ...Object.keys(settings.dims ?? {})];
}

function configFinder({
  config,
  onNotice,
}: Pick<PlanRequest, "config" | "onNotice">): (modelPath: string) => Promise<ConfigChain | undefined> {
  const loader = new ConfigLoader(configSchema(rules), new ConfigFinder(process.cwd(), onNotice));
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
  { errorOnUnmatchedPattern }: PlanRequest,
): readonly FoundModel[] {
  if (patterns.length === 0) {
    throw new InputError(
      "usage",
      "no model given; expected files, folders or patterns, such as: tc-lint model.onnx",
    );
  }
  const { models, unmatched } = findModels(patterns);
  if (!errorOnUnmatchedPattern) {
    return models.filter(({ path, refused }) => refused !== undefined || look(path) !== "absent");
  }
  if (unmatched.length === 0) return models;
  const listed = unmatched.map((pattern) => `"${pattern}"`).join(", ");
  throw new InputError(
    "unmatched-pattern",
    `${listed}: no .onnx file there (--no-error-on-unmatched-pattern takes that as nothing to do)`,
  );
}
