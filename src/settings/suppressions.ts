/** @file tc-lint-suppressions.json: how many findings of a rule each model is let off (docs/adr/0023-suppressions-by-count.md). */
import { InputError } from "../ir/errors.ts";
import { checkConfig } from "./check.ts";
import { JsonError, parseJson } from "./json.ts";
import type { Schema } from "./schema.ts";
import { standard } from "./standard.ts";

export const suppressionsName = "tc-lint-suppressions.json";

/** What is let off in one model. */
export interface SuppressedModel {
  /** Targets and sizes that the counts were taken at; empty: any. */
  readonly at: readonly string[];
  /** Share of the time below which nothing was counted. */
  readonly minSaving: number;
  /** Of the fingerprints of what was counted: what a model that was moved is known by. Empty: nothing. */
  readonly digest: string;
  /** Findings by rule code. */
  readonly rules: ReadonlyMap<string, number>;
}

/** By path of the model, relative to the file, with `/`. */
export type Suppressions = ReadonlyMap<string, SuppressedModel>;

interface FileShape {
  readonly models: Readonly<
    Record<
      string,
      {
        readonly at?: readonly string[];
        readonly minSaving?: number;
        readonly digest?: string;
        readonly rules: Readonly<Record<string, { readonly count: number }>>;
      }
    >
  >;
}

const count: Schema = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "a whole number, 1 or more",
};

const model: Schema = {
  type: "object",
  properties: {
    at: {
      type: "array",
      items: { type: "string" },
      description:
        "Targets and sizes that the counts were taken at: runs that lack one of them call nothing stale.",
    },
    minSaving: {
      type: "number",
      minimum: 0,
      maximum: 1,
      description:
        "Share of a model's time below which nothing was counted, if not 0.005: runs that hide more call stale only what is not there either.",
    },
    digest: {
      type: "string",
      description: "Of the fingerprints of what was counted; what a model that was moved is known by.",
    },
    rules: {
      type: "object",
      description: "By rule code: findings at error or warning level that are let off.",
      additionalProperties: {
        type: "object",
        properties: { count },
        additionalProperties: false,
        required: ["count"],
      },
    },
  },
  additionalProperties: false,
  required: ["rules"],
};

export const suppressionsSchema: Schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "tc-lint suppressions",
  type: "object",
  properties: {
    version: { type: "integer", minimum: 1, maximum: 1, description: "1" },
    models: {
      type: "object",
      description: "By path of the model, relative to this file.",
      additionalProperties: model,
    },
  },
  additionalProperties: false,
  required: ["version", "models"],
};

/** Throws InputError `bad-suppressions` naming `file` and the key. */
export function parseSuppressions(text: string, file: string): Suppressions {
  const value = parsed(text, file);
  assertShape(value, file);
  return new Map(
    Object.entries(value.models).map(
      ([path, { at = [], minSaving = standard.minSaving, digest = "", rules }]) => {
        const counts = Object.entries(rules).map(([code, { count }]) => [code, count] as const);
        return [path, { at, minSaving, digest, rules: new Map(counts) }];
      },
    ),
  );
}

function parsed(text: string, file: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new InputError("bad-suppressions", `${file}: ${error.message}`, { cause: error });
  }
}

function assertShape(value: unknown, file: string): asserts value is FileShape {
  checkConfig(value, suppressionsSchema, file, "bad-suppressions");
}

/** What is written: sorted, so that two people's changes are two places of the file. */
export function suppressionsValue(suppressions: Suppressions): object {
  const models = sorted(suppressions).map(([path, { at, minSaving, digest, rules }]) => {
    const counts = sorted(rules).map(([code, count]) => [code, { count }]);
    const threshold = minSaving === standard.minSaving ? {} : { minSaving };
    return [path, { at: [...at].sort(), ...threshold, digest, rules: Object.fromEntries(counts) }];
  });
  return { version: 1, models: Object.fromEntries(models) };
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
