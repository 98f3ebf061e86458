/** @file The report as JSON, version 1: schemas/report.schema.json describes it. */

import type { LintReport } from "../lint/result.ts";
import { jsonText } from "./json-text.ts";

export function renderJson(report: LintReport): string {
  return jsonText(report);
}
