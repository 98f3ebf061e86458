/** @file Two models, each priced and linted, to what differs between them. */
import type { Model } from "../ir/model.ts";
import { type Budget, regressionReports } from "../lint/budgets.ts";
import type { BudgetReport, ModelReport, NoticeReport } from "../lint/result.ts";
import type { LintSettings } from "../lint/run.ts";
import { externalRanges } from "../onnx/weights.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import type { Workload } from "../workload/workload.ts";
import { compareFindings, noFindings } from "./findings.ts";
import { compareGraphs, nodeNames } from "./graph.ts";
import { newNames } from "./new-names.ts";
import type { FileStatus, ModelComparison, SideReport } from "./result.ts";
import { compareTimes, storedTimes, verdictOfBoth } from "./time.ts";

/** One of the two, with what it was priced and linted with. */
export interface Side {
  readonly model: Model;
  readonly settings: LintSettings;
  readonly workload: Workload;
  /** With its unlisted findings. */
  readonly report: ModelReport;
  readonly isToldAsStored: boolean;
}

/** At least one side is there. `isSame`: their files have the same content. */
export function compareSides(
  base: Side | undefined,
  head: Side | undefined,
  place: Pick<ModelComparison, "path" | "status"> & { readonly notices: readonly NoticeReport[] },
): ModelComparison {
  const { report } = head ?? base ?? absent();
  const names = base === undefined || head === undefined ? new Map() : newNames(base.model, head.model);
  const both = base !== undefined && head !== undefined ? compareBoth(base, head, names) : undefined;
  const budgets = budgetsOf(base, head, names);
  const fresh = head === undefined ? noFindings : { ...noFindings, new: head.report.findings };
  return {
    path: place.path,
    status: place.status,
    target: report.target,
    configFiles: report.configFiles,
    base: sideReport(base),
    head: sideReport(head),
    time: both?.time ?? null,
    stored: both?.stored ?? null,
    verdict: both?.verdict ?? null,
    kernels: both?.kernels ?? [],
    findings: both?.findings ?? fresh,
    graph: both?.graph ?? null,
    ...(budgets.length > 0 ? { budgets } : {}),
    notices: [...place.notices, ...(both?.notices ?? [])],
    error: errorOf(head),
  };
}

function absent(): never {
  throw new Error("tc-lint bug: neither side of a comparison is there");
}

type Both = Pick<
  ModelComparison,
  "kernels" | "findings" | "graph" | "time" | "stored" | "verdict" | "notices"
>;

function compareBoth(base: Side, head: Side, names: NewNames): Both {
  const isPriced = hasTime(base) && hasTime(head);
  const { cost } = head.settings;
  const times = isPriced
    ? compareTimes(base.workload, head.workload, cost, names)
    : { time: null, kernels: [] };
  const asked = times.time;
  const stored = asked === null ? null : storedTimes(base.workload, head.workload, { cost, names, asked });
  return {
    ...times,
    stored,
    verdict: asked && verdictOfBoth(base.workload, head.workload, asked, stored?.time),
    findings: compareFindings(base.report, head.report, {
      base: nodeNames(base.model),
      head: nodeNames(head.model),
      renamed: names,
      about: new Map(head.settings.rules.map(({ code, about }) => [code, about])),
    }),
    graph: compareGraphs(base.model, head.model, names),
    notices: [...invalidBase(base), ...otherSizes(base.report, head.report), ...toldAsStored(base, head)],
  };
}

/** A model that contradicts itself has none, and neither has one of which nothing could be looked at. */
function hasTime({ report: { error, skipped, predicted } }: Side): boolean {
  return error === null && (skipped.length === 0 || predicted.microseconds > 0);
}

/** A model that was broken may be repaired: that fails nothing, but its time is no time to compare with. */
function invalidBase({ report: { error } }: Side): NoticeReport[] {
  if (error === null) return [];
  return [
    { code: error.code, message: `base contradicts itself, so that its time says nothing: ${error.message}` },
  ];
}

/** What is priced at another size does other work: said, for the difference is not the graph's alone. */
function otherSizes(base: ModelReport, head: ModelReport): NoticeReport[] {
  const names = [...new Set([...Object.keys(base.symbols), ...Object.keys(head.symbols)])];
  const text = (size: number | undefined) => (size === undefined ? "not a symbol" : String(size));
  const differing = names.filter((name) => base.symbols[name] !== head.symbols[name]);
  if (differing.length === 0) return [];
  const listed = differing
    .slice(0, 3)
    .map((name) => `${name}: ${text(base.symbols[name])} → ${text(head.symbols[name])}`)
    .join(", ");
  const more = differing.length > 3 ? ` and ${differing.length - 3} more` : "";
  return [{ code: "other-sizes", message: `base and head are priced at other sizes (${listed}${more})` }];
}

/** Lint's page of such a file lists other findings than these, of another time (docs/adr/0042-told-as-stored.md). */
function toldAsStored(base: Side, head: Side): NoticeReport[] {
  const sides = { base, head };
  const told = (["base", "head"] as const).filter((name) => sides[name].isToldAsStored);
  if (told.length === 0) return [];
  const which = told.length === 2 ? "both files" : told.join();
  const message = `tc-lint tells of ${which} as stored, for FP16 may cost there; findings here are of FP16: --precision as-is compares what is stored`;
  return [{ code: "told-as-stored", message }];
}

/** Head's own, then those of the step to it. */
function budgetsOf(base: Side | undefined, head: Side | undefined, names: NewNames): BudgetReport[] {
  if (head === undefined) return [];
  const own = head.report.budgets ?? [];
  const isPriced = base !== undefined && hasTime(base) && hasTime(head);
  const budgets: readonly Budget[] = head.settings.budgets ?? [];
  return isPriced ? [...own, ...regressionReports(budgets, base, head, names)] : [...own];
}

function errorOf(head: Side | undefined): ModelComparison["error"] {
  if (head === undefined || head.report.error === null) return null;
  const { path, error } = head.report;
  return { side: "head", file: path, code: error.code, message: error.message };
}

function sideReport(side: Side | undefined): SideReport | null {
  if (side === undefined) return null;
  const { path, nodes, parameters, predicted, symbols, assumed, skipped, notices } = side.report;
  return {
    path,
    fileBytes: side.model.bytes,
    externalBytes: externalBytes(side.model),
    nodes,
    parameters,
    predicted,
    symbols,
    assumed,
    skipped: skipped.length,
    notices,
  };
}

function externalBytes(model: Model): number {
  let bytes = 0;
  for (const ranges of externalRanges(model).values()) for (const length of ranges.values()) bytes += length;
  return bytes;
}

/** Of a comparison that was not made, or could not be: figures are not known. */
export function withoutFigures(
  { path, status, notices }: { path: string; status: FileStatus; notices: readonly NoticeReport[] },
  { target, configFiles }: Pick<ModelReport, "target" | "configFiles">,
  error: ModelComparison["error"],
): ModelComparison {
  return {
    path,
    status,
    target,
    configFiles,
    base: null,
    head: null,
    time: null,
    stored: null,
    verdict: null,
    kernels: [],
    findings: noFindings,
    graph: null,
    notices,
    error,
  };
}
