/** @file What is not claimed because nobody measured its target: a report without findings there is no clean one. */
import { counted, duration } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { standInText } from "./entries.ts";

type Unmeasured = NonNullable<LintReport["summary"]["unmeasured"]>;

type StandIn = keyof typeof standInText;

function standInOf({ predicted: { basis } }: ModelReport): StandIn | undefined {
  return Object.keys(standInText).find((each): each is StandIn => each === basis);
}

/** Those with something that is not claimed. */
function unmeasuredModels(models: readonly ModelReport[]): readonly ModelReport[] {
  return models.filter((model) => standInOf(model) !== undefined && model.uncertain.count > 0);
}

/** Undefined where all that may save nothing rests on measurements. */
export function unmeasuredIn(models: readonly ModelReport[]): Unmeasured | undefined {
  const found = unmeasuredModels(models);
  if (found.length === 0) return undefined;
  const byTarget = groupBy(found, ({ target: { gpu, stack } }) => `${gpu} ${stack}`);
  return {
    findings: found.reduce((sum, { uncertain }) => sum + uncertain.count, 0),
    microseconds: found.reduce((sum, { uncertain }) => sum + uncertain.microseconds, 0),
    targets: [...byTarget.values()].flatMap(([first]) =>
      first === undefined ? [] : [{ gpu: first.target.gpu, stack: first.target.stack }],
    ),
  };
}

/** `not measured on l4 (ort-cuda): from the datasheet, 3 findings may save 134 µs, which is not claimed`; empty where nothing is. */
export function unmeasuredText({ models, summary: { unmeasured } }: LintReport): string {
  const [first, ...others] = unmeasured?.targets ?? [];
  if (unmeasured === undefined || first === undefined) return "";
  const more = others.length === 0 ? "" : ` and ${counted(others.length, "other target")}`;
  // Scenarios of one file are no sum.
  const isOne = models.every(({ scenario }) => scenario === undefined);
  const time =
    isOne && unmeasured.microseconds > 0 ? ` ${duration(unmeasured.microseconds)}, which is` : " something,";
  const of = isOne ? "" : " of every scenario";
  const standIns = new Set(unmeasuredModels(models).map(standInOf));
  const how = [...standIns].map((each) => each && standInText[each]).join(" or ");
  const what = `${how}, ${counted(unmeasured.findings, "finding")}${of} may save${time}`;
  return `not measured on ${first.gpu} (${first.stack})${more}: ${what} not claimed`;
}
