/** @file What an author saves of the file as it is stored, where the account tells it of a file in half that no command is sure to gain by storing. */
import { combineSavings } from "../cost/saving.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { byImportance } from "../ir/importance.ts";
import { labelOf } from "../ir/model.ts";
import type { WrittenSaving } from "../workload/account.ts";
import type { LintContext } from "./context.ts";
import { withDeclined } from "./declined.ts";
import { type Group, Groups, type RawFinding, sharesOf, standingOf, stepOf } from "./group.ts";
import type { Entry, Judged } from "./judge.ts";
import type { Finding, SavingReport, StoredSaving } from "./result.ts";
import { claimedTime, keepWithinBranches, savesOf, withoutIdle } from "./share-out.ts";

/** How the file as it is stored is looked at: behind what commands leave of it, by the same rules. */
export interface AsStored {
  /** Of the file behind a layout that the account claims, or without one. */
  readonly context: (layout: "command" | "setting" | undefined) => LintContext;
  readonly look: (context: LintContext) => readonly RawFinding[];
  readonly minSaving: number;
}

/** The author's step, and its findings, with what they save of that file. */
export function withStoredAuthor(judged: Judged, { context: contextOf, look, minSaving }: AsStored): Judged {
  const author = judged.account.find(({ step, restsOn }) => step === "author" && restsOn !== undefined);
  if (author === undefined) return judged;
  const layout = judged.account.find(({ step }) => step === "layout");
  const context = contextOf(layout && (layout.setting === undefined ? "command" : "setting"));
  const isOfAuthor = ({ group }: Entry) => group.step === "author";
  // The row is of what is told: what is sure to gain as stored alone is for `--precision as-is`.
  const told = new Set(judged.listed.filter(isOfAuthor).flatMap(({ findings }) => findings.map(keyOf)));
  const found = look(context).filter((finding) => told.has(rawKey(finding)));
  const claimed = claimedIn(context, found, minSaving);
  const saves = combineSavings(claimed.flatMap((group) => group.saves ?? []));
  const after = context.timeline.microseconds - saves.microseconds;
  const written: WrittenSaving = { ...saves, after };
  const account = judged.account.map((step) => (step === author ? { ...step, written } : step));
  const stored = storedSavings(claimed);
  const listed = judged.listed
    .map((entry) => (isOfAuthor(entry) ? ofEntry(entry, stored) : entry))
    .sort((a, b) => byImportance(a.group, b.group));
  return { ...judged, account, listed };
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

function ofEntry({ group, findings, isUntold }: Entry, stored: ReadonlyMap<string, StoredSaving>): Entry {
  const savings = findings.map((finding) => stored.get(keyOf(finding)) ?? none);
  const whole = savings.reduce((sum, each) => added(sum, each), none);
  // No file that anybody is told to write, nor the one that is there, gains by it: that fails no run.
  const severity = group.severity === "error" && whole.low <= 0 ? "warn" : group.severity;
  const told = findings.map((finding, index) => ({
    ...finding,
    severity,
    saves: asStored(finding.saves, savings[index] ?? none),
  }));
  return { group: { ...group, severity, saves: asStored(group.saves, whole) }, findings: told, isUntold };
}

function asStored(saves: SavingReport | null, stored: StoredSaving): SavingReport | null {
  return saves === null ? null : { ...saves, asStored: stored };
}
