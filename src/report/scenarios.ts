/** @file One model at several targets and sizes: its reports together, as a table, and as one report of findings that differ. */
import { counted, percent, printable, shortened } from "../ir/format.ts";
import { deriveSum } from "../ir/symbols.ts";
import type { BudgetReport, Finding, ModelReport, Severity } from "../lint/result.ts";
import { basisColumn, isMixed } from "./basis-column.ts";
import { bestStepText, standingOf } from "./standing.ts";
import { pricedText } from "./unpriced.ts";

/** Reports of one model. */
export type ModelGroup = readonly [ModelReport, ...ModelReport[]];

/** By model, in order; a model that was linted once is alone. */
export function groupsOf(models: readonly ModelReport[]): ModelGroup[] {
  const groups: [ModelReport, ...ModelReport[]][] = [];
  const byPath = new Map<string, [ModelReport, ...ModelReport[]]>();
  for (const model of models) {
    const group = model.scenario === undefined ? undefined : byPath.get(model.path);
    if (group !== undefined) group.push(model);
    else {
      groups.push([model]);
      const last = groups.at(-1);
      if (last !== undefined) byPath.set(model.path, last);
    }
  }
  return groups;
}

/** `54 models`, `2 models, 9 scenarios`. */
export function modelsText(models: readonly ModelReport[]): string {
  const text = counted(groupsOf(models).length, "model");
  const isPlain = models.every(({ scenario }) => scenario === undefined);
  return isPlain ? text : `${text}, ${counted(models.length, "scenario")}`;
}

/** A report under the name of its model and its scenario. */
export function titled(model: ModelReport): ModelReport {
  return model.scenario === undefined ? model : { ...model, path: `${model.path} (${model.scenario})` };
}

export interface Column {
  readonly title: string;
  readonly alignment: "left" | "right";
  readonly text: (model: ModelReport) => string;
}

/** What differs between the reports, and what each of them says. */
export function scenarioColumns(group: ModelGroup): readonly Column[] {
  const axes = axesOf(group);
  const named = (model: ModelReport) => sortedParts(axes.map(({ part }) => part(model))) !== partsOf(model);
  const name: Column[] = group.some(named)
    ? [{ title: "scenario", alignment: "left", text: ({ scenario = "" }) => scenario }]
    : [];
  const samples = new Set(group.flatMap((model) => model.samples ?? []));
  const isStored = group.some(hasStoredTime);
  const shown = figures.filter(
    (column) => (column.title !== perSample || samples.size > 1) && (column !== storedColumn || isStored),
  );
  return [...name, ...axes, ...(isMixed(group) ? [basisColumn] : []), ...shown];
}

interface Axis extends Column {
  /** As names of scenarios have it. */
  readonly part: (model: ModelReport) => string;
}

function axesOf(group: ModelGroup): readonly Axis[] {
  const targets = (["gpu", "stack", "precision"] as const).map((key): Axis => {
    const text = ({ target }: ModelReport) => target[key];
    return { title: key, alignment: "left", text, part: text };
  });
  const symbols = new Set(group.flatMap(givenSymbols));
  const sizes = [...symbols].map((symbol): Axis => {
    const text = ({ symbols }: ModelReport) => String(symbols[symbol] ?? "");
    const title = shortened(printable(symbol), longestTitle);
    return { title, alignment: "right", text, part: (model) => `${symbol}=${text(model)}` };
  });
  return [...targets, ...sizes].filter(({ text }) => new Set(group.map(text)).size > 1);
}

const longestTitle = 24;

/** A model may have tens of thousands of symbols. What others come to by its name is no axis of its own: a decoder's total. */
function givenSymbols({ symbols, assumed }: ModelReport): string[] {
  const left = new Set(assumed);
  const sizes = new Map(Object.entries(symbols).filter(([name]) => !left.has(name)));
  return [...sizes].flatMap(([name, size]) => {
    sizes.delete(name);
    deriveSum(name, sizes);
    const isSum = sizes.get(name) === size;
    sizes.set(name, size);
    return isSum ? [] : [name];
  });
}

/** What all reports of a model have in common of their target; empty parts left out. */
export function sharedTarget(group: ModelGroup): string {
  const shared = (["gpu", "stack", "precision"] as const).flatMap((key) => {
    const values = new Set(group.map(({ target }) => target[key]));
    return values.size === 1 ? [...values] : [];
  });
  return shared.join(", ");
}

function sortedParts(parts: readonly string[]): string {
  return [...parts].sort().join(", ");
}

function partsOf({ scenario = "" }: ModelReport): string {
  return sortedParts(scenario.split(", "));
}

const perSample = "a sample";

/** Of the file before `--fix`, as the column behind it is of the file after. */
export const storedColumn: Column = {
  title: "as stored",
  alignment: "right",
  text: (model) => timeText(model, standingOf(model)?.stored),
};

/** Whether a file stores other types than the target computes in, so that it has a time of its own. */
export function hasStoredTime({ account, predicted }: Pick<ModelReport, "account" | "predicted">): boolean {
  return predicted.half !== undefined || account.some(({ step }) => step === "precision");
}

const figures: readonly Column[] = [
  { title: "predicted", alignment: "right", text: (model) => timeText(model, standingOf(model)?.now) },
  storedColumn,
  { title: "after --fix", alignment: "right", text: (model) => timeText(model, standingOf(model)?.afterFix) },
  {
    title: perSample,
    alignment: "right",
    text: ({ samples = 0, ...model }) => {
      const now = standingOf(model)?.now;
      return samples > 0 && now !== undefined ? timeText(model, now / samples) : "";
    },
  },
  {
    title: "Tensor Cores",
    alignment: "right",
    text: ({ predicted, nodes }) =>
      nodes === 0 ? "" : percent((predicted.half ?? predicted).tensorCoreShare),
  },
  {
    title: "errors",
    alignment: "right",
    text: (model) => (model.error === null ? count(model, "error") : "failed"),
  },
  { title: "warnings", alignment: "right", text: (model) => (model.nodes === 0 ? "" : count(model, "warn")) },
  { title: "best step", alignment: "left", text: (model) => bestStepText(model) },
];

/** Empty where nothing is known. */
export function timeText(model: ModelReport, microseconds: number | undefined): string {
  return microseconds === undefined ? "" : pricedText(model, microseconds);
}

function count(model: ModelReport, severity: Severity): string {
  return String(countOf(model, severity));
}

export function countOf({ groups }: ModelReport, wanted: Severity): number {
  return groups.filter(({ severity }) => severity === wanted).length;
}

function isExceeded({ verdict }: BudgetReport): boolean {
  return verdict === "exceeded";
}

/** Whether something of it fails a run. */
export function hasErrors(model: ModelReport): boolean {
  const { error, budgets = [] } = model;
  return error !== null || countOf(model, "error") > 0 || budgets.some(isExceeded);
}

const rank = { error: 0, warn: 1, info: 2 } as const satisfies Record<Severity, number>;

/**
 * One report a model, for formats that show places: a finding of several scenarios is there once, as it is where it is worst, and
 * says in which scenarios it is.
 */
export function acrossScenarios(models: readonly ModelReport[]): ModelReport[] {
  return groupsOf(models).map((group) => (group[0].scenario === undefined ? group[0] : merged(group)));
}

function merged(group: ModelGroup): ModelReport {
  const { scenario: _, samples: __, ...first } = group.find(({ error }) => error === null) ?? group[0];
  const notices = new Map(group.flatMap((model) => model.notices.map((notice) => [notice.message, notice])));
  return {
    ...first,
    ...mergedFindings(group),
    ...mergedSuppressions(group),
    ...mergedBudgets(group),
    notices: [...notices.values()],
    error: mergedError(group),
  };
}

/** Each scenario has budgets of its own. */
function mergedBudgets(group: ModelGroup): Pick<ModelReport, "budgets"> {
  const budgets = group.flatMap((model) => model.budgets ?? []);
  return budgets.length === 0 ? {} : { budgets };
}

/** What is switched off in one of them is listed once; where nobody asked for a list, there is none. */
function mergedSuppressions(group: ModelGroup): Pick<ModelReport, "suppressions"> {
  if (group.every(({ suppressions }) => suppressions === undefined)) return {};
  const all = group.flatMap(({ suppressions = [] }) => suppressions);
  return { suppressions: [...new Map(all.map((each) => [each.fingerprint, each])).values()] };
}

/** With the entries of the scenarios that they are worst in. */
function mergedFindings(group: ModelGroup): Pick<ModelReport, "findings" | "groups"> {
  const places = new Map<string, { worst: Finding; model: ModelReport; scenarios: string[] }>();
  for (const model of group) {
    const { findings, scenario = "" } = model;
    for (const finding of findings) {
      const place = places.get(finding.fingerprint);
      if (place === undefined)
        places.set(finding.fingerprint, { worst: finding, model, scenarios: [scenario] });
      else {
        const isWorst = isWorse(finding, place.worst);
        place.scenarios.splice(isWorst ? 0 : place.scenarios.length, 0, scenario);
        if (isWorst) [place.worst, place.model] = [finding, model];
      }
    }
  }
  const worst = (fingerprint: string, model: ModelReport) => places.get(fingerprint)?.model === model;
  return {
    findings: [...places.values()].map(({ worst: finding, scenarios }) => ({
      ...finding,
      message: `${finding.message} (${atScenarios(scenarios, group.length)})`,
    })),
    groups: group.flatMap((model) =>
      model.groups.filter(({ findings }) => findings.some((fingerprint) => worst(fingerprint, model))),
    ),
  };
}

function isWorse(a: Finding, b: Finding): boolean {
  const bySeverity = rank[a.severity] - rank[b.severity];
  return bySeverity < 0 || (bySeverity === 0 && (a.saves?.share ?? 0) > (b.saves?.share ?? 0));
}

/** Scenarios that a message names beside the first. */
const mostNamed = 3;

/** `at l4, batch=8; also at l4, batch=1, of 4 scenarios`: the first is the one that the rest of the message is of. */
function atScenarios([first, ...others]: readonly string[], all: number): string {
  if (others.length === 0) return all === 1 ? `at ${first}` : `at ${first}, alone of ${all} scenarios`;
  if (others.length + 1 === all) return `at ${first}; found in all ${all} scenarios`;
  const more = others.length > mostNamed ? ` and ${others.length - mostNamed} more` : "";
  return `at ${first}; also at ${others.slice(0, mostNamed).join("; ")}${more}, of ${all} scenarios`;
}

function mergedError(group: ModelGroup): ModelReport["error"] {
  const failed = group.flatMap(({ error, scenario = "" }) => (error === null ? [] : [{ error, scenario }]));
  const [first] = failed;
  if (first === undefined) return null;
  const where = atScenarios(
    failed.map(({ scenario }) => scenario),
    group.length,
  );
  return { code: first.error.code, message: `${first.error.message} (${where})` };
}
