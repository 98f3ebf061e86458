/** @file Findings of plugins, whose types nobody checked: what reports take for granted is asked here. */
import type { InputError } from "../../ir/errors.ts";
import type { Node } from "../../ir/model.ts";
import { quoted } from "../pattern/answers.ts";
import type { Datum } from "../result.ts";
import type { RuleFinding } from "../rule.ts";

/** The finding, without what only built-in rules may say. Throws what `error` makes of what is wrong with it. */
export function checkedFinding(
  finding: RuleFinding,
  messages: Readonly<Record<string, string>>,
  error: (node: Node | undefined, what: string) => InputError,
): RuleFinding {
  if (typeof finding !== "object" || finding === null)
    throw error(undefined, `found ${quoted(finding)} in place of a finding: { at, message, data }`);
  const { at, message, shared, saves, covers, cause, kind, fix, left } = finding;
  const data: RuleFinding["data"] = finding.data ?? {};
  const node: Node | undefined = at?.node;
  if (node === undefined || at.scope === undefined)
    throw error(undefined, "a finding is at a node: { node, scope }");
  const templates = (shared === undefined ? [message] : [message, shared]).map((id) => {
    const text = Object.hasOwn(messages, id) ? messages[id] : undefined;
    if (text !== undefined) return { id, text };
    const known = Object.keys(messages).join(", ");
    throw error(node, `found the message ${quoted(id)}, expected one of ${known}`);
  });
  const odd = Object.keys(data).find((name) => !isDatum(data[name]));
  if (odd !== undefined)
    throw error(
      node,
      `data "${odd}" is ${quoted(data[odd])}, expected text, a number, true or false, or a list`,
    );
  for (const { id, text } of templates)
    for (const [, name = ""] of text.matchAll(/\{(\w+)\}/g))
      if (data[name] === undefined) throw error(node, `the message "${id}" lacks its {${name}}`);
  if (saves !== undefined) {
    const { microseconds, low, high } = saves;
    const isSaving = low <= microseconds && microseconds <= high && Number.isFinite(high - low);
    if (!isSaving)
      throw error(node, `found a saving of ${microseconds} µs between ${low} and ${high}, which is none`);
  }
  const optional = { shared, covers, cause, kind, fix, left };
  const said = Object.fromEntries(Object.entries(optional).filter(([, each]) => each !== undefined));
  return { at, message, data, saves, ...said };
}

/** What reports can show, and JSON can hold. */
function isDatum(value: unknown): value is Datum | undefined {
  if (Array.isArray(value))
    return value.every((each) => typeof each === "string") || value.every((each) => typeof each === "number");
  return value === undefined || ["string", "number", "boolean"].includes(typeof value);
}
