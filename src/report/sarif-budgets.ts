/** @file Budgets that are exceeded as results of SARIF: they fail a run as errors do. */
import type { ModelReport } from "../lint/result.ts";
import { budgetCode, budgetFingerprint, budgetName, budgetText, exceededOf } from "./budget-text.ts";
import type { RenderOptions } from "./render.ts";
import { fileLocation, quoted } from "./sarif-parts.ts";

const summary = "A limit of the configuration that the whole interval of the prediction is beyond";

export const budgetRule = {
  id: budgetCode,
  name: budgetCode,
  shortDescription: { text: summary },
  fullDescription: { text: summary },
  help: { text: summary, markdown: summary },
  defaultConfiguration: { level: "error" },
  properties: { precision: "high", "problem.severity": "error", tags: ["performance"] },
} as const;

/** At the file: no node is what makes a model too slow. */
export function budgetResults(model: ModelReport, ruleIndex: number, options: RenderOptions): object[] {
  return exceededOf(model).map((report) => ({
    ruleId: budgetCode,
    ruleIndex,
    level: "error",
    message: { text: quoted(budgetText(report)) },
    locations: [
      {
        physicalLocation: fileLocation(model.path, options),
        logicalLocations: [{ name: budgetName(report), kind: "budget" }],
      },
    ],
    ...(model.suppressions === undefined ? {} : { suppressions: [] }),
    partialFingerprints: {
      primaryLocationLineHash: `${budgetFingerprint(report)}:1`,
      "tcLint/v1": budgetFingerprint(report),
    },
  }));
}
