/** @file Rules of a run: the built-in ones, and those of the plugins that its configurations name. */
import { rules as builtIn } from "../../rules/index.ts";
import { digestOfModule, runModule } from "../files/run-module.ts";
import { InputError, invariant } from "../ir/errors.ts";
import { ReadTooMuch } from "../limits/reading.ts";
import type { CustomRule } from "../lint/plugin/custom-rule.ts";
import type { AnyRule } from "../lint/rule.ts";
import { checkConfig } from "../settings/check.ts";
import { toDisplayPath } from "../settings/paths.ts";
import type { ResolvedSettings } from "../settings/resolve.ts";
import type { CarriedPlugin, CarriedRule } from "../settings/shard-report.ts";

const loading = new Map<string, Promise<readonly CustomRule[]>>();
const loaded = new Map<string, readonly CustomRule[]>();
/** Of programs, which have plugins without a file. */
const given = new WeakMap<object, readonly AnyRule[]>();

/** The rules of a run with these plugins; `seconds`: how long each may take to load. Throws InputError `bad-plugin`, and `timeout`. */
export async function loadPlugins(files: readonly string[], seconds?: number): Promise<readonly AnyRule[]> {
  for (const file of files) {
    const rules = loading.get(file) ?? loadPlugin(file, seconds);
    loading.set(file, rules);
    loaded.set(file, await rules);
  }
  return rulesOf({ plugins: files });
}

async function loadPlugin(file: string, seconds: number | undefined): Promise<readonly CustomRule[]> {
  const shown = toDisplayPath(file);
  const { rulesOfPlugin } = await compiler();
  return rulesOfPlugin(await runModule({ file, shown, seconds }, "bad-plugin"), shown, isOurs);
}

/** Patterns and their search, which runs without plugins do not load. */
function compiler(): Promise<typeof import("../lint/plugin/compile.ts")> {
  return import("../lint/plugin/compile.ts");
}

/** The same of plugins that a program has. Throws InputError `bad-plugin`. */
export async function rulesWith(plugins: unknown): Promise<readonly AnyRule[]> {
  checkConfig(plugins, { type: "array" }, "options: plugins");
  if (!Array.isArray(plugins) || plugins.length === 0) return builtIn;
  const { rulesOfPlugin } = await compiler();
  return together(
    plugins.map((plugin, index) => rulesOfPlugin(plugin, `options: plugins[${index}]`, isOurs)),
  );
}

/** Of all plugins that were loaded for runs of this process. */
export function loadedRules(): readonly CustomRule[] {
  return [...loaded.values()].flat();
}

/** The plugins that were loaded for runs of this process, for whoever reports on them elsewhere. */
export function loadedPlugins(): CarriedPlugin[] {
  return [...loaded].map(([file, rules]) => ({
    from: toDisplayPath(file),
    code: digestOfModule(file),
    rules: rules.map(carriedRule),
  }));
}

function carriedRule(rule: CustomRule): CarriedRule {
  const { code, name, severity, fix, messages, description, url, plugin, from } = rule;
  return { code, name, severity, fix, messages, description, url, plugin, from };
}

/** Says which rules a program gave with these settings. */
export function giveRules(settings: ResolvedSettings, rules: readonly AnyRule[]): void {
  given.set(settings, rules);
}

/** Plugins are loaded before, in every thread and process. */
export function rulesOf(settings: Pick<ResolvedSettings, "plugins">): readonly AnyRule[] {
  const own = given.get(settings);
  if (own !== undefined) return own;
  const ofPlugins = settings.plugins.map((file) => {
    const rules = loaded.get(file);
    invariant(rules !== undefined, `${file} is asked for its rules before it is loaded`);
    return rules;
  });
  return together(ofPlugins);
}

/** Rules of a run of several models, which may be configured differently. */
export function rulesOfAll(plans: readonly { readonly settings: ResolvedSettings }[]): readonly AnyRule[] {
  return [...new Set([...builtIn, ...plans.flatMap(({ settings }) => rulesOf(settings))])];
}

/** Throws InputError `bad-plugin` where two plugins have one name. */
function together(plugins: readonly (readonly CustomRule[])[]): readonly AnyRule[] {
  if (plugins.length === 0) return builtIn;
  const from = new Map<string, string>();
  for (const [first] of plugins) {
    if (first === undefined) continue;
    const other = from.get(first.plugin);
    if (other !== undefined)
      throw new InputError(
        "bad-plugin",
        `${first.from}: name: "${first.plugin}" is the name of ${other}, too`,
      );
    from.set(first.plugin, first.from);
  }
  return [...builtIn, ...plugins.flat()];
}

/** What limits throw at work that is to stop is no fault of the rule that it stops. */
function isOurs(error: unknown): boolean {
  return error instanceof ReadTooMuch;
}
