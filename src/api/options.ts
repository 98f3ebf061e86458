/** @file What programs say of a model and of a call, checked, and how it becomes the plan that commands make of flags and files. */
import { rules as builtIn } from "../../rules/index.ts";
import type { Config } from "../config.ts";
import type { Plugin } from "../lint/plugin/rule.ts";
import { checkConfig } from "../settings/check.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { isPrecisionStated, resolveSettings } from "../settings/resolve.ts";
import { configSchema, type Schema } from "../settings/schema.ts";
import { giveRules } from "./plugins.ts";

/** What a configuration file may say of one model. Configuration files themselves are not looked for. */
export type ModelOptions = Omit<
  Config,
  "$schema" | "extends" | "plugins" | "ignores" | "calibration" | "scenarios"
>;

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

/** A schema for every option, which the compiler asks for. */
export type OptionSchemas<Options> = { readonly [Name in keyof Options]-?: Schema };

const callSchemas: OptionSchemas<CallOptions> = {
  timeoutSeconds: { type: "number", minimum: 1e-3, maximum: 1e9, description: "seconds, more than 0" },
  memoryBytes: { type: "number", minimum: 1, maximum: 2 ** 53, description: "bytes, more than 0" },
  onProgress: { type: "function" },
  onNotice: { type: "function" },
};

const size: Schema = { type: "integer", minimum: 0, maximum: 2 ** 53, description: "a size, 0 or more" };
const most = 2 ** 31 - 1;

/** What options of several functions may be. */
export const schemas = {
  flag: { type: "boolean" },
  path: { type: "string", pattern: "^[^\\0]+$", description: "a path" },
  share: { type: "number", minimum: 0, maximum: 1, description: "a share, 0 to 1" },
  positive: { type: "integer", minimum: 1, maximum: most, description: "a whole number, 1 or more" },
  count: { type: "integer", minimum: 0, maximum: most, description: "a whole number, 0 or more" },
  sizes: { type: "object", additionalProperties: size },
  sizeLists: { type: "object", additionalProperties: { anyOf: [size, { type: "array", items: size }] } },
  /** A Map has no properties of its own. */
  inputs: { type: "object", additionalProperties: false },
  half: { type: "string", enum: ["fp16", "bf16"] },
  precision: { type: "string", enum: ["fp16", "bf16", "tf32", "fp32", "model"] },
} as const satisfies Record<string, Schema>;

/** Throws InputError `bad-config` naming the option, what was found and what was expected. */
export function checkOptions(options: unknown, own: Readonly<Record<string, Schema>>): void {
  const properties = { ...callSchemas, ...own };
  checkConfig(options, { type: "object", properties, additionalProperties: false }, "options");
}

/** Throws InputError `bad-config`: a program names a model by its path. */
export function checkPath(path: unknown, what = "model"): void {
  checkConfig(path, schemas.path, what);
}

/** Of ModelOptions, for functions that have others beside them. */
export function modelSchemas(): Readonly<Record<string, Schema>> {
  const ofFiles = ["$schema", "extends", "plugins", "ignores", "calibration", "scenarios"];
  const { properties = {} } = configSchema(builtIn);
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ofFiles.includes(name)));
}

export interface Listeners {
  readonly onProgress: (what: string) => void;
  readonly onNotice: (message: string) => void;
}

/** What `work` gives. An error that a listener throws does not stop it, and is thrown when it is done. */
export async function listening<T>(
  {
    onProgress,
    onNotice,
  }: {
    readonly onProgress?: CallOptions["onProgress"] | undefined;
    readonly onNotice?: CallOptions["onNotice"] | undefined;
  },
  work: (listeners: Listeners) => Promise<T>,
): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  const kept = (listener: ((text: string) => void) | undefined) => (text: string) => {
    if (failure !== undefined) return;
    try {
      listener?.(text);
    } catch (error) {
      failure = { error };
    }
  };
  const result = await work({ onProgress: kept(onProgress), onNotice: kept(onNotice) });
  // Assigned in the listeners, which the compiler does not follow.
  const thrown = failure as { readonly error: unknown } | undefined;
  if (thrown !== undefined) throw thrown.error;
  return result;
}

/** For functions that run rules. */
export interface PluginOptions {
  /** Rules of your own, beside the built-in ones. */
  readonly plugins?: readonly Plugin[];
}

/**
 * Sizes that a program names, the model must have a place for. The rules are known again by the plan's settings. Throws InputError naming
 * an option that is wrong.
 */
export function planOf(
  path: string,
  config: ModelOptions,
  rules = builtIn,
  profiles: readonly string[] = [],
): LintPlan {
  checkConfig(config, { type: "object", properties: modelSchemas(), additionalProperties: false }, "options");
  const chain = { folder: process.cwd(), layers: [{ file: "options", config }] };
  const settings = resolveSettings(path, chain, { profiled: profiles.length > 0 }, rules);
  giveRules(settings, rules);
  const mustHave = [...Object.keys(settings.shapes), ...Object.keys(settings.dims)];
  const isStated = isPrecisionStated(chain, {});
  return { path, settings, profiles, isPrecisionStated: isStated, layers: false, verbose: false, mustHave };
}
