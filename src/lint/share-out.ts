/** @file What claims of later steps are worth together: no microsecond twice, and of branches no more than the model then takes less. */
import { savedWithin, timeWithin } from "../workload/room.ts";
import type { Step } from "../workload/timeline.ts";
import { claimedLayout, estimatedIn, type States } from "./claims.ts";
import { capped, type Group, inStep, mayBeNothing, type RawFinding, timeOf } from "./group.ts";
import type { SavingReport } from "./result.ts";

/** What is claimed of some kernels: by a group, or by one finding. */
type Claim = Pick<Group, "rule" | "fix" | "setting" | "members" | "covers" | "saves" | "declined">;

function later<C extends Claim>(claims: readonly C[], states: States): C[] {
  return estimatedIn(states).flatMap((step) => inStep(claims, step));
}

/**
 * Lowers what the author could save to what is left of its kernels' time, behind another layout where that is claimed, the largest
 * first; and of branches to its part of what the model takes less once all of it is saved.
 */
export function shareOutTime(claims: readonly Claim[], states: States): void {
  const layout = claimedLayout(claims, states);
  const behind = (each: Step) => layout?.timeOf(each) ?? each.microseconds;
  const left = new Map<Step, number>();
  for (const step of estimatedIn(states)) {
    const before = new Map(left);
    const cuts = new Map<Claim, Map<Step["scope"], number>>();
    const inOrder = inStep(claims, step);
    for (const claim of inOrder) cuts.set(claim, cutsOf(claim, states, { left, behind }));
    const saved = savedWithin(states.later, (each) => before.get(each) ?? behind(each), cuts);
    for (const claim of inOrder)
      if (claim.saves !== null)
        claim.saves = capped(claim.saves, saved.get(claim) ?? 0, runTimeOf(claim.covers, states, behind));
  }
}

/** What kernels take of a run, of branches the dearest. */
function runTimeOf(
  covers: ReadonlySet<Step>,
  { later: { timeline, facts } }: States,
  behind: (step: Step) => number,
): number {
  if (timeline.choices === undefined) return sumOf(Array.from(covers, behind));
  return timeWithin({ timeline, facts }, (each) => (covers.has(each) ? behind(each) : 0));
}

interface Taken {
  /** Of kernels that were claimed before. */
  readonly left: Map<Step, number>;
  /** What earlier steps leave of a kernel. */
  readonly behind: (step: Step) => number;
}

/** Takes a claim's part of what is left of its kernels, graph by graph. */
function cutsOf(claim: Claim, states: States, { left, behind }: Taken): Map<Step["scope"], number> {
  const cuts = new Map<Step["scope"], number>();
  for (const { asked, steps } of partsOf(claim, states)) {
    const [first] = steps;
    if (first === undefined) continue;
    const taken = timeOf(steps) - sumOf(steps.map(behind));
    const rest = new Map(steps.map((each) => [each, left.get(each) ?? behind(each)]));
    const most = sumOf(rest.values());
    const cut = Math.min(asked, most, Math.max(0, asked - taken));
    const kept = most > 0 ? 1 - cut / most : 0;
    for (const [each, time] of rest) left.set(each, time * kept);
    cuts.set(first.scope, cut);
  }
  return cuts;
}

interface ClaimPart {
  readonly asked: number;
  readonly steps: readonly Step[];
}

/** By graph where there are branches, of whose members each has its own share; else all of it. */
function partsOf({ saves, covers, members }: Claim, { later: { timeline } }: States): ClaimPart[] {
  if (saves === null) return [];
  if (timeline.choices === undefined) return [{ asked: saves.microseconds, steps: [...covers] }];
  const parts = new Map<Step["scope"], { asked: number; steps: Step[] }>();
  for (const step of covers) {
    const part = parts.get(step.scope) ?? { asked: 0, steps: [] };
    part.steps.push(step);
    parts.set(step.scope, part);
  }
  const sum = sumOf(members.map((member) => member.saves?.microseconds ?? 0));
  for (const member of members) {
    const own = ((member.saves?.microseconds ?? 0) * saves.microseconds) / sum;
    const whole = timeOf(member.covers);
    for (const step of member.covers) {
      const part = parts.get(step.scope);
      if (part !== undefined && whole > 0 && sum > 0) part.asked += (own * step.microseconds) / whole;
    }
  }
  return [...parts.values()];
}

/**
 * Findings in branches that are not what the model takes, whatever is saved elsewhere, save nothing: none of a cause that others have in the branch that
 * is.
 */
export function withoutIdle(found: readonly RawFinding[], states: States): readonly RawFinding[] {
  if (states.later.timeline.choices === undefined) return found;
  const claims = found.map((finding) => ({
    ...finding,
    members: [finding],
    covers: new Set(finding.covers),
  }));
  const asked = later(claims.filter(isSure), states);
  shareOutTime(asked, states);
  const isIdle = ({ saves, covers }: Claim) =>
    saves?.microseconds === 0 && [...covers].some(({ scope }) => !scope.isMain);
  const idle = new Set(asked.filter(isIdle).flatMap(({ members }) => members));
  return found.map((finding) =>
    finding.saves !== null && idle.has(finding)
      ? { ...finding, saves: capped(finding.saves, 0, finding.saves.of) }
      : finding,
  );
}

function isSure({ saves, declined }: Claim): boolean {
  return declined === undefined && saves !== null && !mayBeNothing(saves);
}

/** Lowers what later steps could save to what the model then takes less, where it runs one of several branches. */
export function keepWithinBranches(groups: readonly Group[], states: States): void {
  if (states.later.timeline.choices === undefined) return;
  const all = later(groups, states);
  const asked = savesOf(all);
  // What may be nothing is seen beside what is sure, and takes nothing from it.
  shareOutTime(all, states);
  const sure = all.filter((group) => isSure({ ...group, saves: asked.get(group) ?? null }));
  for (const group of sure) group.saves = asked.get(group) ?? null;
  shareOutTime(sure, states);
}

/** What is claimed, lowered to what is left for it; `asked` is what each would save by itself. */
export function claimedTime(
  groups: readonly Group[],
  states: States,
  { asked, isListed }: { readonly asked: Asked; readonly isListed: (group: Group) => boolean },
): Group[] {
  let claimed = [...groups];
  for (;;) {
    for (const group of later(claimed, states)) group.saves = asked.get(group) ?? null;
    shareOutTime(claimed, states);
    const kept = claimed.filter(isListed);
    // What saves too little beside the others is not claimed; of branches, theirs is then worth less as well.
    const isAll = kept.length === claimed.length || states.later.timeline.choices === undefined;
    claimed = kept;
    if (isAll) return claimed;
  }
}

export type Asked = ReadonlyMap<Group, SavingReport | null>;

export function savesOf(groups: readonly Group[]): Asked {
  return new Map(groups.map((group) => [group, group.saves]));
}

function sumOf(times: Iterable<number>): number {
  let sum = 0;
  for (const time of times) sum += time;
  return sum;
}
