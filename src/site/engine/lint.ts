/** @file What the page is asked for first: the report of the models that were dropped. */

import { decidedReport } from "../../api/decided-fix.ts";
import { failureOf } from "../../api/failed-report.ts";
import type { ModelReport } from "../../lint/result.ts";
import type { OpenModel } from "../../onnx/read-model.ts";
import { renderJson } from "../../report/json.ts";
import { reportOf } from "../../report/summary.ts";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { version } from "../../version.ts";
import type { Job, Linted } from "../protocol.ts";
import { openDropped, sorted } from "./dropped.ts";
import { jsonBlob, pageOf } from "./page.ts";
import { planFor, settingsFor } from "./settings.ts";

export type OnProgress = (what: string) => void;

/** Throws InputError where there is nothing to report; what is wrong with one of several models is in its report. */
export function lintJob({ files, target }: Job, onProgress: OnProgress): Linted {
  const { models, folder } = sorted(files);
  const reports = models.map((file) => {
    const plan = planFor(file.name, target);
    try {
      onProgress(`reading ${file.name}`);
      using model = openDropped(file, folder);
      onProgress(`inferring and costing ${file.name}`);
      return lintOpened(model, plan);
    } catch (error) {
      // Of one model nothing is left to show but the error.
      if (models.length === 1) throw error;
      return failureOf(plan, error).report;
    }
  });
  onProgress("drawing the report");
  const report = reportOf(reports, version);
  const { errors, warnings, infos, failedModels } = report.summary;
  return {
    kind: "linted",
    page: pageOf({ lint: report, fixes: [] }, files),
    json: jsonBlob(renderJson(report)),
    summary: { errors, warnings, infos, failedModels },
    fixable: reports.filter(isFixable).map(({ path }) => path),
  };
}

export function lintOpened(model: OpenModel, plan: LintPlan): ModelReport {
  return decidedReport(model, settingsFor(model, plan));
}

function isFixable({ groups }: ModelReport): boolean {
  return groups.some(({ fix }) => fix === "safe");
}
