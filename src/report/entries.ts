/** @file What is listed of a model: one entry a cause, with the places that it is found at. */
import { counted, duration } from "../ir/format.ts";
import type { CountedFindings, Finding, FindingGroup, ModelReport } from "../lint/result.ts";

export interface Entry {
  readonly group: FindingGroup;
  /** In graph order; one at the least. */
  readonly findings: readonly [Finding, ...Finding[]];
}

export function entriesOf({ groups, findings }: Pick<ModelReport, "groups" | "findings">): Entry[] {
  const byFingerprint = new Map(findings.map((finding) => [finding.fingerprint, finding]));
  return groups.flatMap((group): Entry[] => {
    const [first, ...more] = group.findings.flatMap((fingerprint) => byFingerprint.get(fingerprint) ?? []);
    return first === undefined ? [] : [{ group, findings: [first, ...more] }];
  });
}

/** What is only counted, where it was asked for. */
export function unlistedOf({ unlisted }: ModelReport): Entry[] {
  return unlisted === undefined ? [] : entriesOf(unlisted);
}

/** Where the exporter says that a node is from: its module, and the line that made it. */
export function originOf({ source, module }: Finding): string[] {
  return [module ?? "", source === null ? "" : `${source.file}:${source.line}`].filter((part) => part !== "");
}

/** `L.0.w … L.1.w`: the first and the last of many modules; of one finding, its module and line, in short `…/modeling_gpt2.py:697`. */
export function originsOf({ findings }: Entry, isShort = false): string[] {
  const [first] = findings;
  const last = findings.at(-1) ?? first;
  const [from, to] = [first.module ?? "", last.module ?? ""];
  const modules = from === to || to === "" ? from : `${from} … ${to}`;
  const isOneLine = findings.every(({ source }) => source?.line === first.source?.line);
  const fileOf = (file: string) => (isShort ? file.replace(/^.*[\\/](?=[^\\/])/, "…/") : file);
  const line = isOneLine && first.source !== null ? `${fileOf(first.source.file)}:${first.source.line}` : "";
  return [modules, line].filter((part) => part !== "");
}

/** ` and 3 more` behind the name of the first; nothing where there is one. */
export function moreText({ findings }: Entry): string {
  return findings.length > 1 ? ` and ${findings.length - 1} more` : "";
}

/** What stands in for measurements of a target that has none. */
export const standInText = {
  scaled: "scaled from a GPU of the same compute capability",
  datasheet: "from the datasheet",
} as const satisfies Partial<Record<ModelReport["predicted"]["basis"], string>>;

/** How a prediction came about, in a few words. */
export const basisText = {
  measured: "fitted to measurements",
  kernels: "kernels fitted to measurements, fusions not measured",
  planned: "by its own planner",
  scaled: `not measured: ${standInText.scaled}`,
  datasheet: `not measured: ${standInText.datasheet}`,
  profile: "measured",
} as const satisfies Record<ModelReport["predicted"]["basis"], string>;

type CountedModel = Pick<ModelReport, "belowThreshold" | "uncertain">;

/** Half precision saves what it does without the Casts that a file in half needs, and what a setting saves no command does. */
function partsText({ microseconds, withoutCasts = 0, withSetting }: CountedFindings): string {
  const parts = [
    { part: withoutCasts, by: "from half precision, not counting the Casts that convert to and from it" },
    { part: withSetting?.microseconds ?? 0, by: `where ${withSetting?.option} saves it` },
  ].filter(({ part }) => part > 0);
  return parts
    .map(({ part, by }) =>
      duration(part) !== duration(microseconds) ? `; ${duration(part)} of it ${by}` : ` ${by}`,
    )
    .join("");
}

/** What is counted, and why it is not listed; in brief without what its parts would take. */
export function countedNotes({ belowThreshold: below, uncertain }: CountedModel, isBrief = false): string[] {
  const notes: string[] = [];
  if (below.count > 0) {
    const what = counted(below.count, "finding");
    const together = below.count === 1 ? "" : " together";
    // What `--fix` and `--fail-on fixable` leave, too.
    const fixable = below.hidesFix === true ? "; --fix repairs some at a lower --min-saving" : "";
    notes.push(
      `${what} below the threshold (predicted ${duration(below.microseconds)}${together}${fixable})`,
    );
  }
  if (uncertain.count > 0) {
    const what = counted(uncertain.count, "finding");
    const parts = isBrief ? "" : partsText(uncertain);
    // What may cost, and saves nothing, adds up to no figure.
    const figure =
      uncertain.microseconds > 0 ? ` (predicted ${duration(uncertain.microseconds)}${parts})` : "";
    notes.push(`${what} may save nothing${figure}`);
  }
  return notes;
}
