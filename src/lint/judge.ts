/** @file What is listed of what was found, how bad it is, and what it comes to in the model's account. */

import { alikeText, withoutNames } from "../ir/alike-reasons.ts";
import { fingerprintOf } from "../ir/fingerprint.ts";
import { isOfCodes } from "../ir/fix-command.ts";
import { counted as countedText } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import { byImportance } from "../ir/importance.ts";
import { pushAll } from "../ir/lists.ts";
import {
  alikeTheirSteps,
  claimedLayout,
  estimatedIn,
  keepWithinSteps,
  lintAccount,
  reachTheirSteps,
  type States,
  stepIn,
} from "./claims.ts";
import type { LintContext } from "./context.ts";
import { shareOutCopies } from "./copies.ts";
import { countedOf } from "./counted.ts";
import { describe, identityOf } from "./describe.ts";
import { commandOf } from "./ends.ts";
import {
  type Group,
  mayBeNothing,
  type Standing,
  severityOf,
  sharesOf,
  standingOf,
  stepOf,
} from "./group.ts";
import type {
  AccountStep,
  AccountStepName,
  CountedFindings,
  Finding,
  FindingGroup,
  Severity,
} from "./result.ts";
import type { LintSettings } from "./run.ts";
import { claimedTime, keepWithinBranches, savesOf } from "./share-out.ts";

export interface Entry {
  readonly group: FindingGroup;
  readonly findings: readonly Finding[];
  /** Before its saving counts. */
  readonly base: Severity;
  /** Set where its findings are told to nobody. */
  readonly isUntold?: true | undefined;
}

export interface Judged {
  readonly listed: readonly Entry[];
  /** What is counted only, where it is asked for. */
  readonly unlisted: readonly Entry[];
  readonly below: CountedFindings;
  readonly uncertain: CountedFindings;
  readonly account: readonly AccountStep[];
  /** Of all, also those that are only counted, where layers are asked for. */
  readonly described: readonly Finding[];
}

export function judged(groups: readonly Group[], states: States, settings: LintSettings): Judged {
  const { context } = states;
  const counted: Record<Exclude<Standing, "listed">, Counted> = {
    below: { count: 0, microseconds: 0 },
    uncertain: { count: 0, microseconds: 0 },
  };
  const listed: Entry[] = [];
  const unlisted: Entry[] = [];
  const described: Finding[] = [];
  const occurrences = new Map<string, number>();
  const needsAll = settings.layers === true || settings.verbose === true;
  const layout = claimedLayout(groups, states);
  const asked = savesOf(groups);
  keepWithinBranches(groups, states);
  // A step that is taken is listed, however many causes it has.
  const standing = (group: Group): Standing =>
    layout !== undefined && stepOf(group) === "layout" && !mayBeNothing(group.saves)
      ? "listed"
      : standingOf(group, settings.minSaving);
  const standings = new Map(groups.map((group) => [group, standing(group)]));
  shareOutCopies(groups, context);
  const claimed = groups.filter((group) => standings.get(group) === "listed");
  const isListed = (group: Group) => standing(group) === "listed";
  const inAccount = claimedTime(claimed, states, { asked, isListed });
  for (const group of claimed) standings.set(group, standing(group));
  const account = lintAccount(inAccount, states);
  const estimated: readonly (AccountStepName | null)[] = estimatedIn(states);
  keepWithinSteps(inAccount, account);
  reachTheirSteps(inAccount, account);
  alikeTheirSteps(
    groups.filter((group) => standings.get(group) === "uncertain"),
    account,
  );
  for (const group of groups) {
    const stands = standings.get(group) ?? "listed";
    // Of what it is told to save, which others' claims have lowered.
    const severity = severityOf(group, settings.errorShare);
    if (stands !== "listed" && group.isUntold !== true) count(counted[stands], group, stands, settings);
    // Counted for all, so that no threshold moves what a finding is known by.
    const identities = group.members.map((member) => identityOf(member, occurrences));
    // Of what is only counted, a large model has too much to describe.
    if (stands !== "listed" && (!needsAll || group.isUntold === true)) continue;
    const shares = sharesOf(group);
    const command =
      stands === "uncertain" && group.fix === "unsafe" ? null : commandOf(group, context, layout);
    const findings = group.members.map((member, index) =>
      describe(member, shares[index] ?? null, severity, fingerprintOf(identities[index] ?? ""), command),
    );
    if (group.isUntold !== true) pushAll(described, findings);
    const named = stepIn(account, group);
    // Of what is counted only, a step that is added up of what is listed has no part.
    const isPart =
      stands === "listed" || (!estimated.includes(named) && account.some((each) => each.step === named));
    const step = isPart ? named : null;
    const report = groupReport({ ...group, step, command }, severity, findings, context);
    const entry = { group: report, findings, base: group.base, isUntold: group.isUntold };
    (stands === "listed" ? listed : unlisted).push(entry);
  }
  const ranked = (entries: Entry[]) => entries.sort((a, b) => byImportance(a.group, b.group));
  return { listed: ranked(listed), unlisted: ranked(unlisted), ...counted, account, described };
}

type Counted = { -readonly [K in keyof CountedFindings]: CountedFindings[K] };

function count(counted: Counted, group: Group, stands: Standing, { target }: LintSettings): void {
  const saved = Math.max(0, group.saves?.microseconds ?? 0);
  counted.count += group.members.length;
  counted.byRule = countedOf(counted.byRule, group.rule.code, group.members.length);
  counted.microseconds += saved;
  // Of a file that is to be quantized half is what some of it may be left in.
  const isOfHalf = stepOf(group) === "precision" && !isOfCodes(target.precision);
  if (stands === "uncertain" && saved > 0 && isOfHalf)
    counted.withoutCasts = (counted.withoutCasts ?? 0) + saved;
  if (stands !== "uncertain" || group.setting === undefined || saved === 0) return;
  const { microseconds = 0 } = counted.withSetting ?? {};
  counted.withSetting = { option: group.setting.option, microseconds: microseconds + saved };
}

function groupReport(
  group: Group & Pick<FindingGroup, "step"> & { readonly command: string | null },
  severity: Severity,
  findings: readonly Finding[],
  context: LintContext,
): FindingGroup {
  const { rule, fix, message, saves, members, step, command, setting } = group;
  const [first] = members;
  const isLeft = rule.fix === "safe" && fix === "none";
  const reason = isLeft ? reasonText(members, context) : undefined;
  return {
    code: rule.code,
    rule: rule.name,
    severity,
    message,
    saves,
    fix,
    fixCommand: command,
    step,
    ...(setting === undefined ? {} : { setting }),
    left: first?.raw.left ?? reason ?? null,
    findings: findings.map(({ fingerprint }) => fingerprint),
  };
}

/** Why the first is left, of how many others the same is said with other nodes' names, and how many reasons others have. */
function reasonText(members: Group["members"], { decision, products }: LintContext): string | undefined {
  if (decision === undefined) return undefined;
  const sites = new Set<unknown>(members.map(({ raw }) => raw.at));
  const left = products.filter((product) => sites.has(product));
  const reasons = left.map((product) => decision.reasonFor(product).message);
  const [own, ...others] = groupBy(reasons, withoutNames).values();
  if (own === undefined) return undefined;
  const elsewhere = others.length === 0 ? "" : `; elsewhere ${countedText(others.length, "other reason")}`;
  return `${alikeText(own)}${elsewhere}`;
}
