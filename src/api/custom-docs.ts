/** @file What plugins say of their rules, in the form of the built-in rules' pages. */
import { isCustom } from "../lint/plugin/custom-rule.ts";
import type { AnyRule } from "../lint/rule.ts";
import type { RuleDoc } from "../report/render.ts";
import type { CarriedRule } from "../settings/shard-report.ts";

export function customDocs(rules: readonly AnyRule[]): RuleDoc[] {
  return rules.filter(isCustom).map(docOf);
}

/** Of a rule whose code may be elsewhere. */
export function docOf(rule: CarriedRule): RuleDoc {
  const { code, name, severity, fix, description, url, plugin, from, messages } = rule;
  const summary = description ?? Object.values(messages)[0] ?? name;
  const said = Object.values(messages).map((message) => `- ${message}`);
  const parts = [summary, `Of the plugin ${plugin} (${from}). It says:`, said.join("\n"), url ?? ""];
  const markdown = parts.filter((part) => part !== "").join("\n\n");
  return { code, name, severity, fix, summary, markdown, url: url ?? null };
}
