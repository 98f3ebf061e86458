/** @file A value from a stranger held against one of the schemas that tc-lint ships: as much of JSON Schema as these use. */
import { invariant } from "../ir/errors.ts";

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
}

/** Any other is refused, not passed over: what it would forbid would be let through. */
const keywords: ReadonlySet<string> = new Set([
  ...["type", "const", "enum", "anyOf", "$ref", "pattern", "minimum", "maximum", "items"],
  ...["properties", "additionalProperties", "required", "definitions", "$schema", "title", "description"],
]);

/** Where a value is first another than the schema says, as `models[0].path`; undefined where it is as it says. */
export function mismatchOf(value: unknown, schema: JsonSchema): string | undefined {
  return mismatches(value, schema, { root: schema, place: "" }).next().value;
}

interface At {
  readonly root: JsonSchema;
  readonly place: string;
}

function* mismatches(value: unknown, schema: JsonSchema, at: At): Generator<string, undefined> {
  for (const key of Object.keys(schema)) invariant(keywords.has(key), `a schema says "${key}"`);
  const place = at.place === "" ? "the whole" : at.place;
  if (schema.$ref !== undefined) {
    yield* mismatches(value, referred(schema.$ref, at.root), at);
    return;
  }
  if (schema.anyOf?.every((option) => !fits(value, option, at.root))) yield place;
  if (!hasType(value, schema.type)) yield place;
  if ("const" in schema && value !== schema.const) yield place;
  if (schema.enum?.includes(value) === false) yield place;
  if (typeof value === "string" && schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
    yield place;
  if (typeof value === "number") {
    const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
    if (!(value >= minimum && value <= maximum)) yield place;
  }
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries())
      yield* mismatches(entry, schema.items ?? {}, { ...at, place: `${at.place}[${index}]` });
  } else if (typeof value === "object" && value !== null) yield* inObject(value, schema, at);
}

function* inObject(value: object, schema: JsonSchema, at: At): Generator<string, undefined> {
  const { properties = {}, additionalProperties = true, required = [] } = schema;
  const placeOf = (name: string) => (at.place === "" ? name : `${at.place}.${name}`);
  for (const name of required) if (!Object.hasOwn(value, name)) yield placeOf(name);
  for (const [name, entry] of Object.entries(value)) {
    const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (inner === false) yield placeOf(name);
    else if (typeof inner === "object") yield* mismatches(entry, inner, { ...at, place: placeOf(name) });
  }
}

function fits(value: unknown, schema: JsonSchema, root: JsonSchema): boolean {
  return mismatches(value, schema, { root, place: "" }).next().done === true;
}

function referred(reference: string, root: JsonSchema): JsonSchema {
  const name = reference.replace("#/definitions/", "");
  const found = root.definitions?.[name];
  invariant(found !== undefined, `a schema refers to "${reference}"`);
  return found;
}

function hasType(value: unknown, type: JsonSchema["type"]): boolean {
  if (type === undefined) return true;
  if (typeof type !== "string") return type.some((each) => hasType(value, each));
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}
