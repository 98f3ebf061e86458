/** @file Holds a value from outside against a schema; the first thing wrong is named with what was expected. */
import { inspect } from "node:util";
import { InputError } from "../ir/errors.ts";
import { suggestion } from "./closest.ts";
import type { Schema } from "./schema.ts";

interface Problem {
  /** `overrides[0].rules.TC101` */
  readonly key: string;
  readonly what: string;
  /** Whether it is a list where one value is expected. */
  readonly isList?: boolean;
}

/** Throws InputError `code` naming the file and the key. */
export function checkConfig(value: unknown, schema: Schema, file: string, code = "bad-config"): void {
  for (const { key, what, isList } of problemsOf(value, schema, "")) {
    const several = isList === true ? severalText(key, schema) : "";
    throw new InputError(code, `${file}: ${key === "" ? "" : `${key}: `}${what}${several}`);
  }
}

/** Flags take several targets and sizes in one list; a configuration has a scenario for each. */
function severalText(key: string, { properties = {} }: Schema): string {
  const [first = ""] = key.split(".");
  const { scenarios } = properties;
  const takes = scenarios?.items?.properties ?? {};
  return Object.hasOwn(takes, first) ? `; several are "scenarios": [{ "name": …, "${first}": … }, …]` : "";
}

function* problemsOf(value: unknown, schema: Schema, key: string): Generator<Problem> {
  if (schema.anyOf !== undefined) {
    const fits = schema.anyOf.some((option) => problemsOf(value, option, key).next().done === true);
    if (!fits) yield wrong(key, value, schema.anyOf.map(describe).join(" or "));
    return;
  }
  if (!hasType(value, schema)) {
    yield { ...wrong(key, value, describe(schema)), isList: Array.isArray(value) };
    return;
  }
  if (typeof value === "string") yield* stringProblems(value, schema, key);
  else if (typeof value === "number") yield* numberProblems(value, schema, key);
  else if (Array.isArray(value)) {
    if (value.length > (schema.maxItems ?? Number.POSITIVE_INFINITY))
      yield { key, what: `found ${value.length} entries, expected at most ${schema.maxItems}` };
    for (const [index, entry] of value.entries())
      yield* problemsOf(entry, schema.items ?? {}, `${key}[${index}]`);
  } else if (typeof value === "object" && value !== null) yield* objectProblems(value, schema, key);
}

function* stringProblems(value: string, schema: Schema, key: string): Generator<Problem> {
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    const { what } = wrong(key, value, describe(schema));
    yield { key, what: `${what}${suggestion(value, schema.enum)}` };
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) {
    yield wrong(key, value, describe(schema));
  }
}

function* numberProblems(value: number, schema: Schema, key: string): Generator<Problem> {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if (!(value >= minimum && value <= maximum)) yield wrong(key, value, describe(schema));
}

function* objectProblems(value: object, schema: Schema, key: string): Generator<Problem> {
  // Nothing is said of what it holds.
  if (schema.properties === undefined && schema.additionalProperties === undefined) return;
  const { properties = {}, patternProperties = {}, additionalProperties, required = [] } = schema;
  const byPattern = Object.entries(patternProperties);
  for (const [name, entry] of Object.entries(value)) {
    const path = key === "" ? name : `${key}.${name}`;
    const [, matching] = byPattern.find(([pattern]) => new RegExp(pattern).test(name)) ?? [];
    const inner = Object.hasOwn(properties, name) ? properties[name] : (matching ?? additionalProperties);
    if (inner === false || inner === undefined) {
      const known = Object.keys(properties);
      yield {
        key: path,
        what: `unknown key${suggestion(name, known) || `; known keys are ${listOf(known)}`}`,
      };
    } else if (entry !== undefined) yield* problemsOf(entry, inner, path);
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) yield { key, what: `lacks "${name}"` };
  }
}

function hasType(value: unknown, { type }: Schema): boolean {
  switch (type) {
    case undefined:
      return true;
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function wrong(key: string, value: unknown, expected: string): Problem {
  return { key, what: `found ${show(value)}, expected ${expected}` };
}

function describe(schema: Schema): string {
  if (schema.enum !== undefined) return `one of ${listOf(schema.enum)}`;
  if (schema.pattern !== undefined || schema.maximum !== undefined)
    return schema.description ?? "another value";
  switch (schema.type) {
    case "array":
      return "a list";
    case "integer":
      return "a whole number, 0 or more";
    case "object":
      return "an object";
    default:
      return `a ${schema.type ?? "value"}`;
  }
}

/** Long lists of names are cut: the shipped schema has them all. */
const maxListed = 24;

function listOf(names: readonly string[]): string {
  const listed = names.slice(0, maxListed).map((name) => JSON.stringify(name));
  return names.length > maxListed
    ? `${listed.join(", ")} and ${names.length - maxListed} more`
    : listed.join(", ");
}

function show(value: unknown): string {
  const text = shown(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** As the file says it, where that is JSON. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value) && value.every((entry) => typeof entry !== "object"))
    return `[${value.map(shown).join(", ")}]`;
  return inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
}
