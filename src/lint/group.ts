/** @file One cause at many nodes is one entry: the same rule and the same sizes at every repeat of a block. */
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
  /** Of its node alone. */
  readonly saves: SavingReport | null;
  /** Kernels that it is about. */
  readonly covers: ReadonlySet<Step>;
  readonly fix: Fixability;
}

export interface Group {
  readonly members: RawFinding[];
  readonly rule: AnyRule;
  readonly base: Severity;
  readonly fix: Fixability;
  readonly message: string;
  /** Of all members together. */
  saves: SavingReport | null;
  /** Kernels that they are about. */
  readonly covers: Set<Step>;
}

/**
 * What becomes of a group. `uncertain`: its interval reaches zero, so that it may save nothing. `below`: it saves less than the
 * threshold.
 */
export type Standing = "listed" | "below" | "uncertain";

export class Groups {
  readonly #byCause = new Map<string, Group>();

  add(finding: RawFinding): void {
    const { raw, rule, base, message, saves, fix } = finding;
    // What may save nothing is no part of what is claimed, be the message the same.
    const certainty = mayBeNothing(saves) ? "uncertain" : "";
    const cause = [rule.code, base, fix, certainty, raw.cause ?? message].join("\u0000");
    const group = this.#byCause.get(cause);
    if (group === undefined) {
      const covers = new Set(finding.covers);
      this.#byCause.set(cause, { members: [finding], rule, base, fix, message, saves, covers });
      return;
    }
    group.members.push(finding);
    const known = group.covers.size;
    for (const step of finding.covers) group.covers.add(step);
    group.saves = together(group.saves, saves);
    if (group.saves !== null && group.covers.size < known + finding.covers.size)
      group.saves = capped(group.saves, timeOf(group.covers));
  }

  all(): Iterable<Group> {
    return this.#byCause.values();
  }
}

/** Equal work has one error, so that widths add up whole. */
function together(a: SavingReport | null, b: SavingReport | null): SavingReport | null {
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

export function standingOf({ saves }: Pick<Group, "saves">, minSaving: number): Standing {
  if (saves === null) return "listed";
  if (saves.share < minSaving) return "below";
  return mayBeNothing(saves) ? "uncertain" : "listed";
}

function mayBeNothing(saves: SavingReport | null): boolean {
  return saves !== null && saves.low <= 0;
}

/** A warning that is worth much of the time is an error. */
export function severityOf({ base, saves, members }: Group, errorShare: number): Severity {
  // A saving that is part of something else (FP32 compute, where the prediction is "in half") is no part of this time.
  const ofThisTime = saves !== null && members[0]?.raw.share === undefined;
  return base === "warn" && ofThisTime && saves.share >= errorShare ? "error" : base;
}

/** The step of the account that a group is a part of. */
export function stepOf({ rule, fix, saves }: Pick<Group, "rule" | "fix" | "saves">): AccountStepName | null {
  if (saves === null) return null;
  if (fix === "none") return "author";
  if (fix === "safe") return "safe";
  return rule.changes ?? "layout";
}
