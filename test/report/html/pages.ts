/** @file Pages of models, as the command line makes them. */
import { ruleDocs } from "../../../rules/docs.ts";
import { type LintOptions, lint } from "../../../src/index.ts";
import type { LintReport } from "../../../src/lint/result.ts";
import { renderHtml } from "../../../src/report/html/page.ts";
import type { RenderOptions } from "../../../src/report/render.ts";
import { reportOf } from "../../../src/report/summary.ts";
import { options } from "../sample.ts";

export async function reported(
  models: readonly (string | Uint8Array)[],
  settings: LintOptions = {},
): Promise<LintReport> {
  const reports = models.map((model) =>
    lint(model, { gpu: "h200", ...settings, layers: true, drawings: true }),
  );
  return reportOf(await Promise.all(reports), "0.0.0-test");
}

export function pageOf(report: LintReport, given: Partial<RenderOptions> = {}): string {
  return renderHtml(report, { ...options, docs: ruleDocs, ...given });
}
