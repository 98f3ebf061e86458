/** @file The JSON Schema of calibration files: the committed coefficients say which numbers there are. */

import { changeKinds } from "../src/cost/change.ts";
import { h200Calibration } from "../src/cost/coefficients/h200-cudnn.ts";
import { gpus } from "../src/hardware/gpus.ts";
import { stackIds } from "../src/hardware/stacks.ts";

const positive = { type: "number", exclusiveMinimum: 0 };

const forest = {
  type: "object",
  description: "Boosted trees, two bytes a node (src/cost/forest.ts)",
  required: ["counts", "thresholds", "base", "step", "trees", "nodes"],
  additionalProperties: false,
  properties: {
    counts: {
      type: "array",
      items: { type: "integer", minimum: 0 },
      description: "Thresholds of each feature",
    },
    thresholds: { type: "string", contentEncoding: "base64" },
    base: { type: "number" },
    step: { type: "number" },
    trees: { type: "integer", minimum: 0 },
    nodes: { type: "string", contentEncoding: "base64" },
    deflated: { type: "boolean", description: "nodes were deflated (RFC 1951) before they became base64" },
  },
};

const range = {
  type: "object",
  required: ["low", "high"],
  properties: { low: { type: "number", exclusiveMaximum: 0 }, high: positive },
};

const changeRange = { ...range, properties: { ...range.properties, scale: positive } };

const residual = {
  type: "object",
  required: ["mean", "spread", "range", "shared", "savingScale"],
  additionalProperties: false,
  properties: {
    mean: forest,
    spread: forest,
    range,
    shared: { type: "number", minimum: 0, maximum: 1 },
    savingScale: positive,
    change: {
      type: "object",
      description: "How far a predicted ratio of two times may be off (src/cost/change.ts)",
      required: ["spread", "ranges"],
      additionalProperties: false,
      properties: {
        spread: forest,
        ranges: {
          type: "object",
          additionalProperties: false,
          properties: Object.fromEntries(changeKinds.map((kind) => [kind, changeRange])),
        },
      },
    },
  },
};

export function calibrationSchema(): object {
  const families = Object.keys(h200Calibration.residuals);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "tc-lint calibration",
    description: "Cost model coefficients of one GPU and stack, for --calibration. See docs/cost-model.md.",
    type: "object",
    required: ["schema", "gpu", "stack", "source", "coefficients"],
    additionalProperties: false,
    properties: {
      $schema: { type: "string" },
      schema: { const: 1 },
      gpu: { enum: [...gpus.keys()] },
      stack: { enum: stackIds },
      source: { type: "string", description: "What was measured, with which versions, when" },
      coefficients: numbersLike(h200Calibration.coefficients),
      analytic: {
        ...numbersLike(h200Calibration.analytic),
        description: "Factors that enclose nine of ten of measured / analytic",
      },
      residuals: {
        type: "object",
        additionalProperties: false,
        properties: Object.fromEntries(families.map((family) => [family, residual])),
      },
    },
  };
}

/** Every number of `record` may be given, and nothing else. */
function numbersLike(record: object): object {
  const properties = Object.entries(record).map(([name, value]: [string, unknown]) => {
    const nested = typeof value === "object" && value !== null;
    return [name, nested ? numbersLike(value) : positive] as const;
  });
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}
