/** @file A report as a list of things to say at a place: what formats of code quality tools have in common. */
import { fingerprintOf } from "../ir/fingerprint.ts";
import { printable } from "../ir/format.ts";
import { byImportance } from "../ir/importance.ts";
import type { Finding, FindingGroup, LintReport, ModelReport, Severity } from "../lint/result.ts";
import { budgetCode, budgetFingerprint, budgetName, budgetText, exceededOf } from "./budget-text.ts";
import { type Place, placeOf, sentenceOf } from "./finding-text.ts";
import type { RenderOptions } from "./render.ts";
import { acrossScenarios } from "./scenarios.ts";

/** `failure`: the model could not be linted, whatever else is said of it. */
export type Level = Severity | "failure";

export interface Diagnostic {
  readonly level: Level;
  readonly place: Place;
  /** Of a rule, such as TC102; of what failed, such as `truncated`; `budget`. */
  readonly code: string;
  /** The rule's name; of what failed, its code again; what a budget limits, and where. */
  readonly rule: string;
  readonly message: string;
  /** What it says; undefined where it is of no rule's. */
  readonly finding?: Finding;
  /** The finding's own, as every other format has it. */
  readonly fingerprint: string;
}

export interface DiagnosedModel {
  /** From the repository's root. */
  readonly path: string;
  /** What failed, budgets that are exceeded, then the worst first. */
  readonly diagnostics: readonly Diagnostic[];
  /** What its findings save, those of one cause together. */
  readonly groups: readonly FindingGroup[];
}

/** By model, in the order of the report; a finding of several scenarios is there once. */
export function diagnosedModels(
  { models }: LintReport,
  options: Pick<RenderOptions, "localPath" | "repositoryPath">,
): DiagnosedModel[] {
  return acrossScenarios(models).map((model) => {
    const path = wellFormed(options.repositoryPath(model.path));
    const findings = [...model.findings].sort(byImportance).map((finding): Diagnostic => {
      const { file, line } = placeOf(finding, model.path, options);
      const { severity: level, code, rule, fingerprint } = finding;
      const place = { file: wellFormed(file), line };
      return { level, place, code, rule, message: sentenceOf(finding), finding, fingerprint };
    });
    return {
      path,
      diagnostics: [...failureOf(model, path), ...budgetsOf(model, path), ...findings],
      groups: model.groups,
    };
  });
}

function failureOf({ error }: ModelReport, path: string): Diagnostic[] {
  return error === null ? [] : [failureAt(error, path)];
}

/** Of a file, or of a run that failed as a whole. */
export function failureAt({ code, message }: NonNullable<ModelReport["error"]>, path: string): Diagnostic {
  const fingerprint = fingerprintOf(["failure", code].join("\u0000"));
  const place = { file: path, line: 1 };
  return { level: "failure", place, code, rule: code, message: printable(message), fingerprint };
}

/** A budget fails a run as an error does; what may exceed it fails nothing, and is for reports that show every budget. */
function budgetsOf(model: ModelReport, path: string): Diagnostic[] {
  return exceededOf(model).map((report) => ({
    level: "error",
    place: { file: path, line: 1 },
    code: budgetCode,
    rule: budgetName(report),
    message: budgetText(report),
    fingerprint: budgetFingerprint(report),
  }));
}

/** Half a character of two units is in no other language a string: readers of JSON and XML refuse the whole file for it. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, "\ufffd");
}
