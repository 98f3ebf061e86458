/**
 * @file What is claimed of a model's time, step after step of its account: no microsecond twice, none that an earlier step has
 * taken already.
 */

import type { Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import type { Changed } from "../ir/fix-command.ts";
import { isHalf } from "../ir/fix-command.ts";
import { pushAll } from "../ir/lists.ts";
import {
  type AccountState,
  type AccountStep,
  type AccountStepName,
  accountOf,
  withHalfNeeded,
} from "../workload/account.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import type { LintContext } from "./context.ts";
import { commandText, wayToHalf } from "./ends.ts";
import { type Group, inStep, mayBeNothing, stepOf } from "./group.ts";
import type { LayoutStep } from "./layout-step.ts";
import { writtenHalf } from "./written-half.ts";

/** What lint looks at: the file, what earlier steps leave of it, and the layout step where it is claimed. */
export interface States {
  readonly context: LintContext;
  readonly later: LintContext;
}

/** Steps whose savings rules predict one by one, in order; those before are priced as whole models. */
export function estimatedIn({ later }: States): readonly AccountStepName[] {
  return later.knowsLayout ? ["author"] : ["layout", "author"];
}

/** The layout step, where a group is a part of it. */
export function claimedLayout(
  groups: readonly Pick<Group, "rule" | "fix" | "saves" | "setting">[],
  { later }: States,
): LayoutStep | undefined {
  const layout = groups.some((group) => stepOf(group) === "layout") ? later.layoutStep() : undefined;
  return layout?.isTaken === true ? layout : undefined;
}

/** What safe fixes save as the file is stored; undefined where that is what the account is of, or where there are none. */
function writtenSafe(context: LintContext, after: Workload): AccountState["written"] {
  if (context.target.precision === "as-is" || after === context.workload) return undefined;
  return writtenBetween(context.asStored(), after, context.cost);
}

/** The file, and where each step that is claimed leaves it, by the command that is sure to gain. */
function statesOf(listed: readonly Group[], { context, later }: States): AccountState[] {
  const { decision } = context;
  const layout = claimedLayout(listed, { context, later });
  const half = wayToHalf(context, layout);
  const unwritten = writtenHalf(context, false) === null ? ({ unwritten: true } as const) : {};
  // Where nobody knows the file, what is sure without Casts names what stores it.
  const known = half ?? (context.halfSaving().low > 0 ? "precision" : undefined);
  const inHalf = half === null ? { unsure: true as const, ...unwritten } : commanded(known, context);
  const { microseconds: gained } = context.halfSaving();
  const toHalf = half !== null && gained <= 0 ? {} : inHalf;
  const states: AccountState[] = [
    { step: "exported", workload: context.asStored() },
    { step: "precision", workload: context.workload, ...(isHalf(context.target.precision) ? toHalf : {}) },
  ];
  if (decision !== undefined) {
    // Of what was measured nobody knows the file: as findings do, it names what stores half.
    const inFile = half === undefined ? commanded("precision", context) : inHalf;
    const needsHalf = decision.needsHalf ? ({ needsHalf: true, ...inFile } as const) : { command: "--fix" };
    const written = writtenSafe(context, decision.after);
    // Where half is not decided, it is not for this.
    const first = half == null ? undefined : decision.takenFirst();
    const made = decision.needsHalf ? decision.alone : undefined;
    const alone = made && writtenSafe(context, made);
    states.push({ step: "safe", workload: decision.after, written, ...needsHalf, alone, first });
  }
  if (!isHalf(context.target.precision) && listed.some((group) => stepOf(group) === "precision"))
    states.push({ step: "half", workload: context.half().after, ...inHalf });
  // What a setting saves comes behind all that commands do.
  const [turned, set] = layout?.setting === undefined ? [layout, undefined] : [undefined, layout];
  pushAll(states, layoutState(turned, context));
  const last = states.at(-1)?.workload ?? context;
  return [...states, ...keptState(context, turned, last), ...layoutState(set, context)];
}

function layoutState(layout: LayoutStep | undefined, context: LintContext): AccountState[] {
  if (layout === undefined) return [];
  const { after: workload, needsHalf, way, setting } = layout;
  const command = commanded(way.changed, context);
  return [{ step: "layout", workload, written: way.stored, needsHalf, setting, ...command }];
}

function commanded(changed: Changed | null | undefined, context: LintContext): Pick<AccountState, "command"> {
  if (changed == null) return {};
  return { command: commandText("unsafe", changed, context) ?? undefined };
}

/** The file in half, where that is known, `last` being what it comes to without Casts. */
function keptState(
  context: LintContext,
  layout: LayoutStep | undefined,
  last: Pick<Workload, "target">,
): AccountState[] {
  if (!isHalf(last.target.precision)) return [];
  const isLaidOut = layout !== undefined;
  const end = writtenHalf(context, isLaidOut, layout?.way.knowsHalf);
  if (end === undefined || end === null) return [];
  // What may cost is nobody's to write. One command a file: `--unsafe-fixes`, where its layout step stores half, ends at the one that half by name does.
  const changed = end.isSure ? (layout === undefined ? "precision" : halfBehind(layout)) : undefined;
  return [{ step: "kept", workload: end.after, written: end.written, ...commanded(changed, context) }];
}

function halfBehind({ way: { changed, stored } }: LayoutStep): Changed {
  return changed === "layout" && stored === undefined ? changed : "layout-in-half";
}

/** Last what the listed groups save that only its author can do. */
export function lintAccount(listed: readonly Group[], { context, later }: States): AccountStep[] {
  const { cost } = context;
  const states = statesOf(listed, { context, later });
  const account = accountOf(states, cost);
  for (const step of estimatedIn({ context, later })) {
    const savings = inStep(listed, step).flatMap(({ saves }) => (saves === null ? [] : [saves]));
    const last = account.at(-1);
    if (savings.length === 0 || last === undefined) continue;
    const together = combineSavings(savings);
    // Kernels that two of them cover are shared out, so that this is rounding.
    const saves =
      together.microseconds < last.microseconds ? together : { ...together, microseconds: last.microseconds };
    const casts = last.castsIn === undefined ? {} : { castsIn: last.castsIn };
    account.push({ step, ...behind(last, saves), saves, precision: last.precision, ...casts });
  }
  return withHalfNeeded(account);
}

/** Of microseconds that are added up in another order. */
const rounding = 1e-6;

/**
 * No end of a part's interval is where its step leaves no room for it, and what is all of its step is as sure as that; which parts are claimed
 * is decided before.
 */
export function keepWithinSteps(listed: readonly Group[], account: readonly AccountStep[]): void {
  for (const group of listed) {
    const step = savesOfStep(account, group);
    if (group.saves === null || step === undefined) continue;
    const { microseconds, low, high, of } = group.saves;
    const isWhole = isAllOf(step, microseconds);
    // No more than its kernels take, of which a step may have others.
    const most = isWhole ? Math.min(step.high, of) : Math.min(high, step.high);
    group.saves = {
      ...group.saves,
      // What is claimed is not unclaimed here.
      low: isWhole && step.low > 0 ? Math.min(microseconds, step.low) : low,
      high: Math.max(microseconds, most),
    };
  }
}

/**
 * Parts of a step are together no surer than it, be they all of it or not: its width is of errors that they share, and of passes around them. What is claimed
 * stays claimed, for a part of what is sure is above zero. Parts that are all of it reach as high as it, too.
 */
export function reachTheirSteps(listed: readonly Group[], account: readonly AccountStep[]): void {
  for (const { step, saves: whole } of account) {
    const parts = listed.filter((group) => group.saves !== null && stepIn(account, group) === step);
    if (whole === null || whole.low <= 0 || parts.length === 0) continue;
    const lows = sumOf(parts.map(({ saves }) => saves?.low ?? 0));
    const below = lows > whole.low ? whole.low / lows : 1;
    const all = sumOf(parts.map(({ saves }) => saves?.microseconds ?? 0));
    const wider = isAllOf(whole, all) && parts.length > 1 ? roomUpTo(whole.high, parts) : () => 0;
    for (const group of parts) {
      if (group.saves === null) continue;
      const { low, high } = group.saves;
      group.saves = { ...group.saves, low: low * below, high: high + wider(group) };
    }
  }
}

/** What is missing of `high` at their upper ends together, by the room that each has: it saves no more than its kernels take. */
function roomUpTo(high: number, parts: readonly Group[]): (group: Group) => number {
  const roomOf = ({ saves }: Group) => Math.max(0, (saves?.of ?? 0) - (saves?.high ?? 0));
  const room = sumOf(parts.map(roomOf));
  const above = Math.max(0, high - sumOf(parts.map(({ saves }) => saves?.high ?? 0)));
  const share = room > 0 ? Math.min(1, above / room) : 0;
  return (group) => share * roomOf(group);
}

/** A finding that may save nothing, and is all that its step saves, has the step's interval, as far as its kernels take that much: the two are one figure. */
export function alikeTheirSteps(unclaimed: readonly Group[], account: readonly AccountStep[]): void {
  for (const group of unclaimed) {
    const step = savesOfStep(account, group);
    if (group.saves === null || step === undefined || step.low > 0 || !mayBeNothing(group.saves)) continue;
    if (!isAllOf(step, group.saves.microseconds)) continue;
    const { microseconds, of } = group.saves;
    group.saves = { ...group.saves, low: step.low, high: Math.max(microseconds, Math.min(step.high, of)) };
  }
}

/** The step of an account that a group is a part of: half precision is a step of its own where the target computes in another. */
export function stepIn(account: readonly AccountStep[], group: Group): AccountStepName | null {
  const step = stepOf(group);
  return step === "precision" && account.some((each) => each.step === "half") ? "half" : step;
}

/** What the step saves that a group is a part of. */
function savesOfStep(account: readonly AccountStep[], group: Group): Saving | undefined {
  const name = stepIn(account, group);
  return account.find(({ step }) => step === name)?.saves ?? undefined;
}

function isAllOf(step: Saving, microseconds: number): boolean {
  return Math.abs(step.microseconds - microseconds) < rounding;
}

/** What a step leaves: as unsure as what it was, and, of a measured model, as what is saved of it. */
export function behind(last: AccountStep, saves: Saving): Pick<AccountStep, "microseconds" | "low" | "high"> {
  const microseconds = last.microseconds - saves.microseconds;
  const part = microseconds / last.microseconds;
  return {
    microseconds,
    low: Math.max(0, Math.min(last.low * part, last.microseconds - saves.high)),
    high: Math.max(last.high * part, last.microseconds - saves.low),
  };
}

function sumOf(times: Iterable<number>): number {
  let sum = 0;
  for (const time of times) sum += time;
  return sum;
}
