/** @file Rules by what a user types: a code (`TC102`), a name (`misaligned-gemm`), or the start of codes (`TC1`, `acme/`). */
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import type { AnyRule } from "../lint/rule.ts";
import { suggestion } from "./closest.ts";

export type RuleInfo = Pick<AnyRule, "code" | "name" | "severity">;

export const precisions = Object.keys({
  fp16: true,
  bf16: true,
  tf32: true,
  int8: true,
  fp32: true,
  "as-is": true,
} satisfies Record<Precision, true>) as readonly Precision[];

/** Of rules that plugins bring: `acme/no-big-softmax`, and `acme/` for all of a plugin. */
export const customSelector = "^[a-z][a-z0-9-]*/[a-z0-9-]*$";

function pluginOf(code: string): string | undefined {
  return code.includes("/") ? code.slice(0, code.indexOf("/") + 1) : undefined;
}

/** Every code, every name, and every start of a code from `TC` on. */
export function selectorsOf(rules: readonly RuleInfo[]): ReadonlySet<string> {
  const selectors = new Set<string>();
  for (const { code, name } of rules) {
    selectors.add(name);
    const plugin = pluginOf(code);
    if (plugin !== undefined) {
      selectors.add(plugin);
      continue;
    }
    for (let length = 2; length <= code.length; length++) selectors.add(code.slice(0, length));
  }
  return selectors;
}

/** What names one rule: the start of codes that a slip is nearest to may be nothing that anybody meant. */
function namesOf(rules: readonly RuleInfo[]): string[] {
  return rules.flatMap(({ code, name }) => [code, name]);
}

/** The codes of the rules that a selector names. Throws InputError where it names none; `where` begins the message. */
export function selectRules(selector: string, rules: readonly RuleInfo[], where: string): string[] {
  const selected = rules.filter(
    ({ code, name }) =>
      name === selector ||
      pluginOf(code) === selector ||
      (selector.length >= 2 && pluginOf(code) === undefined && code.startsWith(selector.toUpperCase())),
  );
  if (selected.length === 0) {
    const plugin = pluginOf(selector);
    const isMissing = plugin !== undefined && !rules.some(({ code }) => pluginOf(code) === plugin);
    const missing = `: no plugin "${plugin?.slice(0, -1)}" is among the plugins of the configuration`;
    const hint = isMissing ? missing : suggestion(selector, namesOf(rules));
    throw new InputError(
      "unknown-rule",
      `${where}: "${selector}" is no rule${hint} (tc-lint explain lists them)`,
    );
  }
  return selected.map(({ code }) => code);
}

/** How closely a selector names one rule: names and whole codes before starts of codes. */
export function specificity(selector: string): number {
  if (selector.endsWith("/")) return 0;
  return /^tc\d*$/i.test(selector) ? selector.length : Number.POSITIVE_INFINITY;
}
