/** @file One cause at many nodes is one entry: the same rule and the same sizes at every repeat of a block, or the same size to mend. */
import type { LayoutSetting } from "../hardware/stacks.ts";
import { counted } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import type { Step } from "../workload/timeline.ts";
import type { AccountStepName, Fixability, SavingReport, Severity } from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";

/** A finding before anything is decided about it. */
export interface RawFinding {
  readonly raw: RuleFinding;
  readonly rule: AnyRule;
  /** As configured at the node, before its saving counts. */
  readonly base: Severity;
  readonly message: string;
  /** What it has in common with findings of other sizes. */
  readonly shared?: string;
  /** The same without what findings of one cause may differ in. */
  readonly alike?: string;
  /** Of its node alone. */
  readonly saves: SavingReport | null;
  /** Kernels that it is about. */
  readonly covers: ReadonlySet<Step>;
  readonly fix: Fixability;
  /** Set where `--fix` could do it and the decision is that it pays too little, or perhaps nothing: then nobody is told to. */
  readonly declined?: Exclude<Standing, "listed"> | undefined;
  /** Set where a setting of the stack makes it, and no file. */
  readonly setting?: LayoutSetting | undefined;
  /** Set where somebody switched it off, or its rule: it is judged with the rest, and told to nobody. */
  readonly isUntold?: true | undefined;
}

export interface Group {
  readonly members: RawFinding[];
  readonly rule: AnyRule;
  readonly base: Severity;
  readonly fix: Fixability;
  /** Of all members. */
  message: string;
  readonly declined?: RawFinding["declined"];
  readonly setting?: RawFinding["setting"];
  readonly isUntold?: RawFinding["isUntold"];
  /** Of all members together. */
  saves: SavingReport | null;
  /** Kernels that they are about. */
  readonly covers: Set<Step>;
}

/**
 * What becomes of a group. `uncertain`: its interval reaches zero, so that it may save nothing. `below`: what it saves for sure is less than the
 * threshold.
 */
export type Standing = "listed" | "below" | "uncertain";

export class Groups {
  readonly #byCause = new Map<string, Group>();

  add(finding: RawFinding): void {
    const { raw, rule, base, message, alike, saves, fix, declined, setting, isUntold } = finding;
    // What may save nothing is no part of what is claimed, be the message the same.
    const certainty = declined ?? (mayBeNothing(saves) ? "uncertain" : "");
    const cause = [rule.code, base, fix, certainty, isUntold, raw.cause ?? alike ?? message].join("\u0000");
    const group = this.#byCause.get(cause);
    if (group === undefined) {
      const covers = new Set(finding.covers);
      const members = [finding];
      const said = { rule, base, fix, message, declined, setting, isUntold };
      this.#byCause.set(cause, { ...said, members, saves, covers });
      return;
    }
    group.members.push(finding);
    const known = group.covers.size;
    for (const step of finding.covers) group.covers.add(step);
    group.saves = together(group.saves, saves);
    if (group.saves !== null && group.covers.size < known + finding.covers.size)
      group.saves = capped(group.saves, timeOf(group.covers));
  }

  /** Causes of one rule that are each below `minSaving` of the model's time are one entry where together they are not. */
  all(minSaving: number): Iterable<Group> {
    const groups = [...this.#byCause.values()];
    for (const group of groups) group.message = messageOf(group.members) ?? group.message;
    const small = groupBy(
      groups.filter((group) => group.declined === undefined && standingOf(group, minSaving) === "below"),
      ({ rule, base, fix, setting, isUntold }) =>
        [rule.code, base, fix, setting?.option, isUntold].join("\u0000"),
    );
    const wholes = new Map<Group, Group>();
    for (const parts of small.values()) {
      const whole = joinedOf(parts, minSaving);
      if (whole !== undefined) for (const part of parts) wholes.set(part, whole);
    }
    return new Set(groups.map((group) => wholes.get(group) ?? group));
  }
}

/** Of causes that are one entry: the largest, and how many others there are. */
export function messageWithOthers({ message }: { readonly message: string }, others: number): string {
  return `${message}; with ${counted(others, "other cause")}, each below the threshold`;
}

/** The largest is said first; undefined where all together are below the threshold, too. */
function joinedOf(parts: readonly Group[], minSaving: number): Group | undefined {
  const ranked = parts.toSorted((a, b) => (b.saves?.microseconds ?? 0) - (a.saves?.microseconds ?? 0));
  const [first, ...others] = ranked;
  if (first === undefined || others.length === 0) return undefined;
  const covers = new Set(ranked.flatMap((part) => [...part.covers]));
  const all = ranked.map(({ saves }) => saves).reduce(together, null);
  const whole: Group = {
    ...first,
    members: ranked.flatMap(({ members }) => members),
    message: messageWithOthers(first, others.length),
    saves: all && capped(all, timeOf(covers)),
    covers,
  };
  return standingOf(whole, minSaving) === "listed" ? whole : undefined;
}

/** What all of them are: their own message, the one that they have in common, or that without what they differ in. */
function messageOf([first, ...others]: readonly RawFinding[]): string | undefined {
  if (first?.shared === undefined) return first?.message;
  if (others.every(({ message }) => message === first.message)) return first.message;
  return others.every(({ shared }) => shared === first.shared) ? first.shared : first.alike;
}

/** Equal work has one error, so that widths add up whole. */
export function together(a: SavingReport | null, b: SavingReport | null): SavingReport | null {
  if (a === null || b === null) return a ?? b;
  return {
    microseconds: a.microseconds + b.microseconds,
    low: a.low + b.low,
    high: a.high + b.high,
    share: a.share + b.share,
    of: a.of + b.of,
  };
}

/** Microseconds of one run of the model. */
export function timeOf(steps: Iterable<Step>): number {
  let microseconds = 0;
  for (const step of steps) microseconds += step.microseconds;
  return microseconds;
}

/** No more than `available` microseconds, of the `of` that its kernels take. */
export function capped(saves: SavingReport, available: number, of = available): SavingReport {
  const { microseconds, low, high, share } = saves;
  const most = Math.min(microseconds, available);
  const part = microseconds > 0 ? most / microseconds : 1;
  return {
    microseconds: most,
    low: low * part,
    high: Math.max(most, Math.min(high * part, of)),
    share: share * part,
    of,
  };
}

/** What each member saves of what its group does: wherever the group was lowered, its members are in proportion. */
export function sharesOf({ members, saves }: Pick<Group, "members" | "saves">): (SavingReport | null)[] {
  const own = members.map((member) => member.saves);
  const whole = own.reduce(together, null);
  if (whole === null || saves === null) return own;
  const partOf = (now: number, before: number, other: number) => (before > 0 ? now / before : other);
  const part = partOf(saves.microseconds, whole.microseconds, 1);
  const wide = partOf(saves.high, whole.high, part);
  const narrow = partOf(saves.low, whole.low, part);
  const kernels = partOf(saves.of, whole.of, 1);
  return own.map((each) => {
    if (each === null) return null;
    const microseconds = each.microseconds * part;
    // Kernels that several members cover are each one's whole.
    const of = Math.max(microseconds, each.of * kernels);
    const high = Math.max(microseconds, Math.min(of, each.high * wide));
    return {
      microseconds,
      low: Math.min(microseconds, each.low * narrow),
      high,
      share: each.share * part,
      of,
    };
  });
}

export function standingOf(
  { saves, declined }: Pick<Group, "saves" | "declined">,
  minSaving: number,
): Standing {
  if (declined !== undefined) return declined;
  if (saves === null) return "listed";
  if (mayBeNothing(saves)) return "uncertain";
  return saves.share < minSaving ? "below" : "listed";
}

export function mayBeNothing(saves: SavingReport | null): boolean {
  return saves !== null && saves.low <= 0;
}

/**
 * A warning that is worth much of the time for sure is an error, where the file can be changed: whoever lints without a setting is not stopped by it for
 * ever.
 */
export function severityOf({ base, saves, members, declined, setting }: Group, errorShare: number): Severity {
  if (declined !== undefined || setting !== undefined || mayBeNothing(saves)) return base;
  // A saving that is part of something else (FP32 compute, where the prediction is "in half") is no part of this time.
  const ofThisTime = saves !== null && members[0]?.raw.share === undefined;
  return base === "warn" && ofThisTime && saves.share >= errorShare ? "error" : base;
}

/** The step of the account that a group is a part of. */
export function stepOf({
  rule,
  fix,
  saves,
  setting,
}: Pick<Group, "rule" | "fix" | "saves" | "setting">): AccountStepName | null {
  if (saves === null) return null;
  if (setting !== undefined) return "layout";
  if (fix === "none") return "author";
  // What safe fixes save in half precision alone is their step, too.
  if (fix === "safe" || rule.fix === "safe") return "safe";
  return rule.changes ?? "layout";
}

/** What is claimed of one step of the account, the largest first. */
export function inStep<C extends Parameters<typeof stepOf>[0]>(
  claims: readonly C[],
  step: AccountStepName,
): C[] {
  return claims
    .filter((claim) => stepOf(claim) === step)
    .sort((a, b) => (b.saves?.microseconds ?? 0) - (a.saves?.microseconds ?? 0));
}
