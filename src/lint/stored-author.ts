/** @file What an author saves of the file as it is stored, where the account tells it of a file in half that no command is sure to gain by storing. */
import { combineSavings } from "../cost/saving.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { byImportance } from "../ir/importance.ts";
import { labelOf } from "../ir/model.ts";
import type { WrittenSaving } from "../workload/account.ts";
import type { LintContext } from "./context.ts";
import { withEntries } from "./counted.ts";
import { withDeclined } from "./declined.ts";
import { type Group, Groups, type RawFinding, sharesOf, standingOf, stepOf } from "./group.ts";
import type { Entry, Judged } from "./judge.ts";
import type { Finding, SavingReport, StoredSaving } from "./result.ts";
import { claimedTime, keepWithinBranches, savesOf, withoutIdle } from "./share-out.ts";
import { accountOfTold } from "./told.ts";

/** How the file as it is stored is looked at: behind what commands leave of it, by the same rules. */
export interface AsStored {
  /** Of the file behind a layout that the account claims, or without one. */
  readonly context: (layout: "command" | "setting" | undefined) => LintContext;
  readonly look: (context: LintContext) => readonly RawFinding[];
  readonly minSaving: number;
}

/**
 * The author's step, and its findings, with what they save of that file. What saves nothing of it is only counted: no file gains by it that is there, or
 * that anybody is told to write.
 */
export function withStoredAuthor(judged: Judged, { context: contextOf, look, minSaving }: AsStored): Judged {
  const { account, listed } = judged;
  if (!account.some(({ step, restsOn }) => step === "author" && restsOn !== undefined)) return judged;
  const layout = account.find(({ step }) => step === "layout");
  const context = contextOf(layout && (layout.setting === undefined ? "command" : "setting"));
  // The row is of what is told: what is sure to gain as stored alone is for `--precision as-is`.
  const told = new Set(listed.filter(isOfAuthor).flatMap(({ findings }) => findings.map(keyOf)));
  const found = look(context).filter((finding) => told.has(rawKey(finding)));
  const claimed = claimedIn(context, found, minSaving);
  const saves = combineSavings(claimed.flatMap((group) => group.saves ?? []));
  const after = context.timeline.microseconds - saves.microseconds;
  const written: WrittenSaving = { ...saves, after };
  const stored = storedSavings(claimed);
  const all = listed.map((entry) => (isOfAuthor(entry) ? ofEntry(entry, stored) : entry));
  const sure = all.filter((entry) => !isUnsure(entry)).sort((a, b) => byImportance(a.group, b.group));
  const rows = sure.length < all.length ? accountOfTold(account, sure, ["author"]) : account;
  return {
    ...judged,
    account: rows.map((step) => (step.step === "author" ? { ...step, written } : step)),
    listed: sure,
    ...withUnsure(judged, all.filter(isUnsure)),
  };
}

function isOfAuthor({ group }: Entry): boolean {
  return group.step === "author";
}

function isUnsure({ group: { saves } }: Entry): boolean {
  return saves?.asStored !== undefined && saves.asStored.low <= 0;
}

function withUnsure(
  { uncertain, unlisted }: Judged,
  unsure: readonly Entry[],
): Pick<Judged, "uncertain" | "unlisted"> {
  const told = unsure.filter(({ isUntold }) => isUntold !== true);
  if (told.length === 0) return { uncertain, unlisted };
  const all = [...unlisted, ...told.map(asUnlisted)];
  return {
    uncertain: withEntries(uncertain, told),
    unlisted: all.sort((a, b) => byImportance(a.group, b.group)),
  };
}

/** A part of no step, as all that is counted of one that adds up what is listed; no surer than the half that it rests on. */
function asUnlisted({ group, findings, base: severity }: Entry): Entry {
  const unsure = (saves: SavingReport | null) => saves && { ...saves, low: Math.min(0, saves.low) };
  return {
    group: { ...group, severity, step: null, saves: unsure(group.saves) },
    findings: findings.map((finding) => ({ ...finding, severity, saves: unsure(finding.saves) })),
    base: severity,
  };
}

/** As the account claims it of other files. */
function claimedIn(context: LintContext, found: readonly RawFinding[], minSaving: number): Group[] {
  const states = { context, later: context };
  const groups = new Groups();
  for (const finding of withoutIdle(withDeclined(found, context), states)) groups.add(finding);
  const all = [...groups.all(minSaving)].filter((group) => stepOf(group) === "author");
  const asked = savesOf(all);
  keepWithinBranches(all, states);
  const isListed = (group: Group) => standingOf(group, minSaving) === "listed";
  return claimedTime(all.filter(isListed), states, { asked, isListed });
}

/** By place and rule. */
function storedSavings(groups: readonly Group[]): ReadonlyMap<string, StoredSaving> {
  const saved = new Map<string, StoredSaving>();
  for (const group of groups) {
    const shares = sharesOf(group);
    for (const [index, member] of group.members.entries()) {
      const key = rawKey(member);
      saved.set(key, added(saved.get(key), shares[index] ?? none));
    }
  }
  return saved;
}

const none: StoredSaving = { microseconds: 0, low: 0, high: 0 };

function added(before: StoredSaving = none, { microseconds, low, high }: StoredSaving): StoredSaving {
  return {
    microseconds: before.microseconds + microseconds,
    low: before.low + low,
    high: before.high + high,
  };
}

function rawKey({ raw: { at }, rule: { code } }: RawFinding): string {
  const { node, scope } = siteOf(at.node, at.scope);
  return keyOf({ code, graph: scope.path, node: labelOf(node) });
}

function keyOf({ code, graph, node }: Pick<Finding, "code" | "graph" | "node">): string {
  return [code, graph, node].join("\u0000");
}

function ofEntry(entry: Entry, stored: ReadonlyMap<string, StoredSaving>): Entry {
  const { group, findings } = entry;
  const savings = findings.map((finding) => stored.get(keyOf(finding)) ?? none);
  const whole = savings.reduce((sum, each) => added(sum, each), none);
  const told = findings.map((finding, index) => ({
    ...finding,
    saves: asStored(finding.saves, savings[index] ?? none),
  }));
  return { ...entry, group: { ...group, saves: asStored(group.saves, whole) }, findings: told };
}

function asStored(saves: SavingReport | null, stored: StoredSaving): SavingReport | null {
  return saves && { ...saves, asStored: stored };
}
