/** @file The report of a model that could not be linted. */
import type { ModelReport, NoticeReport } from "../lint/result.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";

/** A bad input is named; anything else is a bug in tc-lint and keeps its stack. */
export function failureOf(plan: LintPlan, error: unknown): LintOutcome {
  const input = inputErrorOf(error);
  if (input !== undefined) {
    return {
      report: emptyReport(plan, { code: input.code, message: input.message }),
      bound: [],
      weights: [],
    };
  }
  const [reason, bug] =
    error instanceof Error ? [error.message, error.stack ?? error.message] : [String(error), String(error)];
  const message = `${plan.path}: ${reason.startsWith("tc-lint bug") ? reason : `tc-lint bug: ${reason}`}`;
  return { report: emptyReport(plan, { code: "internal-error", message }), bound: [], weights: [], bug };
}

/** Figures are zero: nothing is known of the model but what it was asked at. */
function emptyReport(
  { path, settings }: LintPlan,
  error: ModelReport["error"],
  notices: readonly NoticeReport[] = [],
): ModelReport {
  return {
    path,
    irVersion: 0,
    opset: {},
    producer: "",
    nodes: 0,
    parameters: 0,
    target: { gpu: settings.gpu, stack: settings.stack, precision: settings.precision },
    symbols: settings.dims,
    assumed: [],
    configFiles: settings.configFiles,
    predicted: {
      microseconds: 0,
      low: 0,
      high: 0,
      precision: "as-is",
      tensorCoreShare: 0,
      families: {},
      basis: "datasheet",
    },
    account: [],
    findings: [],
    groups: [],
    suppressed: 0,
    belowThreshold: { count: 0, microseconds: 0 },
    uncertain: { count: 0, microseconds: 0 },
    skipped: [],
    notices,
    error,
  };
}
