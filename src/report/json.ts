/** @file The report as JSON, version 1: schemas/report.schema.json describes it. */
import type { LintReport } from "../lint/result.ts";

export function renderJson(report: LintReport): string {
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
