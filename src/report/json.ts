/** @file The report as JSON, version 1: schemas/report.schema.json describes it. */

import type { LintReport } from "../lint/result.ts";
import { jsonText } from "./json-text.ts";

export function renderJson(report: LintReport): string {
  return jsonText(report);
}

/** Stands for the models in the text around them; no other part of a report holds one. */
const marker = "\u0000";
const indent = "    ";

/** The same text in pieces, a model each: layers of ten thousand models are more than a string holds. */
export function* jsonPieces(report: LintReport): Generator<string> {
  const [head = "", tail = ""] = jsonText({ ...report, models: [marker] }).split(JSON.stringify(marker));
  if (report.models.length === 0) return yield jsonText(report);
  yield head;
  for (const [index, model] of report.models.entries()) {
    // Line ends stand between values alone: in strings they are escapes.
    const text = jsonText(model).trimEnd().replaceAll("\n", `\n${indent}`);
    yield index === 0 ? text : `,\n${indent}${text}`;
  }
  yield tail;
}
