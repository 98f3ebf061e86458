/** @file What a configuration may hold, as a JSON schema: the shipped file and the check at run time are this one. */
import type { BudgetConfig, Config, Override, ScenarioConfig } from "../config.ts";
import { gpus } from "../hardware/gpus.ts";
import { stackIds } from "../hardware/stacks.ts";
import { customSelector, precisions, type RuleInfo, selectorsOf } from "./rule-selectors.ts";
import { mostScenarios } from "./scenarios.ts";

/** The part of JSON schema (draft 7) that configurations need. */
export interface Schema {
  readonly $schema?: string;
  readonly $id?: string;
  readonly title?: string;
  readonly description?: string;
  /** `boolean` and `function` are of options that programs give; files have neither. */
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean" | "function";
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly default?: string | number;
}

type Properties<T> = { readonly [Key in keyof T]-?: Schema };

const severities = ["off", "info", "warn", "error"] as const;
const size: Schema = { type: "integer", minimum: 0 };
const globs = (description: string): Schema => ({ type: "array", items: { type: "string" }, description });

const share = (description: string, standard?: string): Schema => ({
  description,
  ...(standard === undefined ? {} : { default: standard }),
  anyOf: [
    { type: "number", minimum: 0, maximum: 1, description: "a part of the whole, 0 to 1" },
    { type: "string", pattern: String.raw`^\d+(\.\d+)?\s*%$`, description: 'a percentage such as "0.5%"' },
  ],
});

const gpu: Schema = { type: "string", enum: [...gpus.keys()] };
const stack: Schema = { type: "string", enum: stackIds };
const precision: Schema = { type: "string", enum: precisions };
const dims: Schema = { type: "object", additionalProperties: size };

const scenario: Properties<ScenarioConfig> = {
  name: {
    type: "string",
    // Names stand in lists, separated by commas, and in tables.
    pattern: String.raw`^[^\s,](?:[^,]{0,62}[^\s,])?$`,
    description: "a name of 1 to 64 characters, without commas",
  },
  gpu: { ...gpu, description: "The GPU to predict for." },
  stack: { ...stack, description: "The libraries to predict for." },
  precision: { ...precision, description: "Data type that products are computed in." },
  dims: { ...dims, description: "Sizes of symbolic dimensions by name, above those of the configuration." },
};

const globOrGlobs: Schema = {
  description: "A glob of model files, or several, relative to this file's folder. Left out: every file.",
  anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
};

const budget: Properties<BudgetConfig> = {
  gpu: { ...gpu, description: "The GPU that it is a budget for, whatever GPU the model is linted for." },
  stack: { ...stack, description: "Left out: as the model is linted." },
  precision: { ...precision, description: "Left out: as the model is linted." },
  files: globOrGlobs,
  maxMicroseconds: {
    type: "number",
    minimum: 1e-3,
    maximum: 1e12,
    description: "microseconds of one run, more than 0",
  },
  minTensorCoreShare: share("Least part of the time that products on Tensor Cores take."),
  maxRegression: share("Most that a change may add to the time, of the time before; for tc-lint compare."),
};

export function configSchema(rules: readonly RuleInfo[]): Schema {
  const ruleSettings = ruleSettingsSchema(rules);
  const override: Properties<Override> = {
    files: globs("Globs of model files, relative to this file's folder. Left out: every file."),
    nodes: globs('Globs of node names; "*" also matches "/". Left out: every node.'),
    ops: globs('Operators, such as "Conv" or "com.microsoft::FusedConv". Left out: every operator.'),
    rules: ruleSettings,
    reason: { type: "string", description: "Why; --show-suppressed says it." },
  };
  const properties: Properties<Config> = {
    $schema: { type: "string", description: "Where this schema is; for editors." },
    extends: {
      description: "Configurations to start from: paths relative to this file, or packages.",
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
    },
    plugins: {
      type: "array",
      items: { type: "string" },
      description:
        "Modules with rules of your own: paths relative to this file, or packages. Not in a configuration beside a model.",
    },
    rules: ruleSettings,
    gpu: { ...gpu, default: "h200", description: "The GPU to predict for." },
    stack: { ...stack, default: "ort-cuda", description: "The libraries to predict for." },
    precision: {
      ...precision,
      default: "fp16",
      description: 'Data type that products are computed in; "as-is" keeps the model\'s own types.',
    },
    minSaving: share("Findings that save less of the model's time are summed up in one line.", "0.5%"),
    errorShare: share("A warning worth at least this much of the model's time is an error.", "5%"),
    stackGuard: {
      type: "boolean",
      description:
        "Whether (as by default) --fix leaves what would slow the model down by more than 2 % on another stack on which whole files were measured, all of them in half precision.",
    },
    shapes: {
      type: "object",
      additionalProperties: { type: "array", items: size },
      description: "Sizes of graph inputs by name. Models without such an input pass them over.",
    },
    dims: {
      ...dims,
      description: "Sizes of symbolic dimensions by name. Models without such a dimension pass them over.",
    },
    scenarios: {
      type: "array",
      maxItems: mostScenarios,
      description:
        "Targets and sizes that every model is linted at, in one table; what one leaves out is as the rest of the configuration says.",
      items: {
        type: "object",
        properties: { ...scenario },
        additionalProperties: false,
        required: ["name"],
      },
    },
    budgets: {
      type: "array",
      description:
        "What models may take on a target; a run fails where the whole interval of the prediction is beyond it.",
      items: {
        type: "object",
        properties: { ...budget },
        additionalProperties: false,
        required: ["gpu"],
      },
    },
    calibration: { type: "string", description: "Path of a calibration file, relative to this file." },
    ignores: globs("Globs of model files that are not linted, relative to this file's folder."),
    overrides: {
      type: "array",
      description: "Rules for some files, or for some nodes of them. Later entries win.",
      items: {
        type: "object",
        properties: { ...override },
        additionalProperties: false,
        required: ["rules"],
      },
    },
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "tc-lint configuration",
    type: "object",
    properties: { ...properties },
    additionalProperties: false,
  };
}

function ruleSettingsSchema(rules: readonly RuleInfo[]): Schema {
  const properties: Record<string, Schema> = {};
  for (const { code, name, severity } of rules) {
    const setting = { type: "string", enum: severities, default: severity } as const;
    properties[code] = { ...setting, description: name };
    properties[name] = { ...setting, description: code };
  }
  for (const prefix of selectorsOf(rules)) {
    properties[prefix] ??= {
      type: "string",
      enum: severities,
      description: `Every rule whose code begins with ${prefix}.`,
    };
  }
  return {
    type: "object",
    properties,
    patternProperties: {
      [customSelector]: {
        type: "string",
        enum: severities,
        description: "A rule of a plugin, or all of its rules.",
      },
    },
    additionalProperties: false,
    description:
      'Severity by rule code, rule name, or start of codes; "off" switches off. The more specific key wins.',
  };
}
