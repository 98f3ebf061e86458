/** @file Findings of plugins, whose types nobody checked: what reports take for granted is asked here. */
import type { InputError } from "../../ir/errors.ts";
import type { Node } from "../../ir/model.ts";
import type { RuleFinding } from "../rule.ts";

/** The finding, without what only built-in rules may say. Throws what `error` makes of what is wrong with it. */
export function checkedFinding(
  finding: RuleFinding,
  messages: Readonly<Record<string, string>>,
  error: (node: Node | undefined, what: string) => InputError,
): RuleFinding {
  const { at, message, saves, covers, cause, kind, fix, left } = finding;
  const data: RuleFinding["data"] = finding.data ?? {};
  const node: Node | undefined = at?.node;
  if (node === undefined || at.scope === undefined)
    throw error(undefined, "a finding is at a node: { node, scope }");
  const template = Object.hasOwn(messages, message) ? messages[message] : undefined;
  if (template === undefined) {
    const known = Object.keys(messages).join(", ");
    throw error(node, `found the message ${JSON.stringify(message)}, expected one of ${known}`);
  }
  for (const [, name = ""] of template.matchAll(/\{(\w+)\}/g))
    if (data[name] === undefined) throw error(node, `the message "${message}" lacks its {${name}}`);
  if (saves !== undefined) {
    const { microseconds, low, high } = saves;
    const isSaving = low <= microseconds && microseconds <= high && Number.isFinite(high - low);
    if (!isSaving)
      throw error(node, `found a saving of ${microseconds} µs between ${low} and ${high}, which is none`);
  }
  const optional = { covers, cause, kind, fix, left };
  const said = Object.fromEntries(Object.entries(optional).filter(([, each]) => each !== undefined));
  return { at, message, data, saves, ...said };
}
