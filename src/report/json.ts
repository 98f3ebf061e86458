/** @file The report as JSON, version 1: schemas/report.schema.json describes it. */

import type { LintReport, ModelReport } from "../lint/result.ts";
import { jsonText } from "./json-text.ts";

export function renderJson(report: LintReport): string {
  return jsonText(jsonOf(report));
}

/** What stands for it in JSON. */
export function jsonOf(report: LintReport) {
  return { ...report, models: report.models.map(asKnown) };
}

/** What `asKnown` makes null of a model that was not read. */
const figures = { irVersion: null, nodes: null, parameters: null, predicted: null } as const;

/** A model that could not be read has no figures: who adds times up does not count it as free. */
function asKnown(model: ModelReport): Omit<ModelReport, keyof typeof figures> {
  return model.error !== null && model.nodes === 0 ? { ...model, ...figures } : model;
}

/** Stands for the models in the text around them; no other part of a report holds one. */
const marker = "\u0000";
const indent = "    ";

/** The same text in pieces, a model each: layers of ten thousand models are more than a string holds. */
export function* jsonPieces(report: LintReport): Generator<string> {
  const [head = "", tail = ""] = jsonText({ ...report, models: [marker] }).split(JSON.stringify(marker));
  if (report.models.length === 0) return yield renderJson(report);
  yield head;
  for (const [index, model] of report.models.entries()) {
    // Line ends stand between values alone: in strings they are escapes.
    const text = jsonText(asKnown(model)).trimEnd().replaceAll("\n", `\n${indent}`);
    yield index === 0 ? text : `,\n${indent}${text}`;
  }
  yield tail;
}
