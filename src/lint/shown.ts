/** @file A threshold that is above what is solved for hides entries, and changes nothing about any: neither its saving nor the account. */
import { groupBy } from "../ir/group.ts";
import { byImportance } from "../ir/importance.ts";
import { withEntries } from "./counted.ts";
import { messageWithOthers, together } from "./group.ts";
import type { Judged } from "./judge.ts";
import type { Finding, FindingGroup, Severity } from "./result.ts";
import type { LintSettings } from "./run.ts";

type Entry = Judged["listed"][number];

type Shown = Pick<LintSettings, "leastListed" | "layers" | "verbose">;

/** What saves less than `leastListed` of the model's time is counted; causes of one rule that reach it together are one entry. */
export function withoutSmall(told: Judged, { leastListed = 0, layers, verbose }: Shown): Judged {
  const layout = shareOf(told.listed.filter(({ group }) => group.step === "layout"));
  const isSmall = ({ group }: Entry) =>
    group.saves !== null &&
    group.saves.share < leastListed &&
    // A step that is taken is listed, however many causes it has.
    (group.step !== "layout" || layout < leastListed);
  const small = told.listed.filter(isSmall);
  if (small.length === 0 && !savesLittleSafely(told, leastListed)) return told;
  const alike = [...groupBy(small, ({ group }) => causeOf(group)).values()];
  const joined = alike.filter((entries) => entries.length > 1 && shareOf(entries) >= leastListed);
  const hidden = alike.filter((entries) => !joined.includes(entries)).flat();
  const listed = [...told.listed.filter((entry) => !isSmall(entry)), ...joined.map(joinedOf)];
  // As of what is below the threshold that is solved for: described where somebody asked for all.
  const findings = new Set(hidden.flatMap((entry) => entry.findings));
  const hidesFix = savesLittleSafely(told, leastListed) || hidden.some(({ group }) => group.fix === "safe");
  const isAll = layers === true || verbose === true;
  return {
    ...told,
    listed: listed.sort(inOrder),
    unlisted: [...told.unlisted, ...hidden].sort(inOrder),
    below: { ...withEntries(told.below, hidden), ...(hidesFix ? { hidesFix } : {}) },
    described: isAll ? told.described : told.described.filter((finding) => !findings.has(finding)),
  };
}

/** All that `--fix` saves is below the threshold. */
function savesLittleSafely({ account }: Judged, leastListed: number): boolean {
  const safe = account.find(({ step }) => step === "safe");
  const saved = safe?.saves?.microseconds ?? 0;
  return safe !== undefined && saved < leastListed * (safe.microseconds + saved);
}

function shareOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { group }) => sum + (group.saves?.share ?? 0), 0);
}

function inOrder(a: Entry, b: Entry): number {
  return byImportance(a.group, b.group);
}

function causeOf({ code, fix, fixCommand, step, setting }: FindingGroup): string {
  return [code, fix, fixCommand, step, setting?.option].join("\u0000");
}

const severities: readonly Severity[] = ["error", "warn", "info"];

/** The largest is said first, with the worst severity. */
function joinedOf(parts: readonly Entry[]): Entry {
  const ranked = parts.toSorted((a, b) => (b.group.saves?.share ?? 0) - (a.group.saves?.share ?? 0));
  const [first] = ranked;
  if (first === undefined) throw new Error("tc-lint bug: no entry is joined with others");
  const { group } = first;
  const severity = severities.find((each) => parts.some((part) => part.group.severity === each));
  return {
    group: {
      ...group,
      severity: severity ?? group.severity,
      message: messageWithOthers(group, ranked.length - 1),
      saves: ranked.map((part) => part.group.saves).reduce(together, null),
      findings: ranked.flatMap((part) => part.group.findings),
    },
    findings: ranked.flatMap((part): readonly Finding[] => part.findings),
    base: first.base,
  };
}
