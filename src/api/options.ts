/** @file What programs say of a model, and how it becomes the plan that commands make of flags and configuration files. */
import { rules } from "../../rules/index.ts";
import type { Config } from "../config.ts";
import { checkConfig } from "../settings/check.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { type ResolvedSettings, resolveSettings } from "../settings/resolve.ts";
import { configSchema } from "../settings/schema.ts";

/** What a configuration file may say of one model. Configuration files themselves are not looked for. */
export type ModelOptions = Omit<Config, "$schema" | "extends" | "ignores" | "calibration">;

/** What a call may take, and what it says meanwhile. */
export interface CallOptions {
  /** Seconds; by the size of the model unless given, as `--timeout`. */
  readonly timeoutSeconds?: number;
  /** Bytes of the machine's own memory; three quarters of it unless given, as `--memory-gb`. */
  readonly memoryBytes?: number;
  /** Told what takes its time now. */
  readonly onProgress?: (what: string) => void;
  /** Told what is worth knowing and fails nothing. */
  readonly onNotice?: (message: string) => void;
}

/** Throws InputError naming an option that is wrong. */
function settingsOf(path: string, config: ModelOptions): ResolvedSettings {
  checkConfig(config, configSchema(rules), "options");
  const chain = { folder: process.cwd(), layers: [{ file: "options", config }] };
  return resolveSettings(path, chain, {}, rules);
}

/** Sizes that a program names, the model must have a place for. Throws InputError. */
export function planOf(path: string, config: ModelOptions): LintPlan {
  const settings = settingsOf(path, config);
  const mustHave = [...Object.keys(settings.shapes), ...Object.keys(settings.dims)];
  return { path, settings, layers: false, verbose: false, mustHave };
}
