/** @file What a plugin's module exports, held against what a plugin is. */
import { InputError } from "../../ir/errors.ts";
import type { Plugin } from "./rule.ts";

const kebab = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** Throws InputError `bad-plugin` naming the place. */
export function checkPlugin(value: unknown, from: string): Plugin {
  const fail = (key: string, expected: string) => {
    throw new InputError("bad-plugin", `${from}: ${key}: expected ${expected}`);
  };
  if (!isObject(value)) fail("default export", "a plugin: { name, rules }");
  else {
    if (!isName(value["name"])) fail("name", "a kebab-case name, such as acme");
    const rules = value["rules"];
    if (!Array.isArray(rules)) fail("rules", "a list of rules");
    else checkRules(rules, fail);
  }
  return value as unknown as Plugin;
}

type Fail = (key: string, expected: string) => void;

function checkRules(rules: readonly unknown[], fail: Fail): void {
  const names = new Set<unknown>();
  for (const [index, rule] of rules.entries()) {
    const key = `rules[${index}]`;
    if (!isObject(rule)) return fail(key, "a rule: { name, severity, messages, match or check }");
    const { name } = rule;
    if (!isName(name)) fail(`${key}.name`, "a kebab-case name, such as no-big-softmax");
    if (names.has(name)) fail(`${key}.name`, `a name of its own, and "${name}" is another rule's`);
    names.add(name);
    checkRule(rule, `${key} (${name})`, fail);
  }
}

function checkRule(rule: Readonly<Record<string, unknown>>, key: string, fail: Fail): void {
  if (rule["severity"] !== "warn" && rule["severity"] !== "info") fail(`${key}.severity`, '"warn" or "info"');
  const { messages } = rule;
  const isText = (text: unknown) => typeof text === "string" && text !== "";
  if (!isObject(messages) || Object.keys(messages).length === 0 || !Object.values(messages).every(isText))
    fail(`${key}.messages`, "texts by name");
  const ways = ["match", "check"].filter((way) => typeof rule[way] === "function");
  if (ways.length !== 1) fail(key, "either match or check, a function");
  for (const [part, type] of Object.entries(parts)) {
    const value = rule[part];
    if (value === undefined) continue;
    if (typeof value !== type) fail(`${key}.${part}`, `a ${type}`);
    if (type === "function" && ways[0] === "check")
      fail(`${key}.${part}`, "match beside it: it is about a pattern");
  }
}

const parts = {
  report: "function",
  cost: "function",
  fix: "function",
  description: "string",
  url: "string",
  at: "string",
} as const;

function isName(name: unknown): boolean {
  return typeof name === "string" && name.length <= 64 && kebab.test(name);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
