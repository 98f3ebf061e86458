/**
 * @file What padding costs around the products, in passes that grow and copies at the model's ends, is borne by what is padded with them: each of
 * padding's changes, and folding, has what it saves, as a repair says.
 */
import { labelOf } from "../ir/model.ts";
import type { Step } from "../workload/timeline.ts";
import { partsByLabel, type SavedPart } from "../workload/within-whole.ts";
import type { LintContext } from "./context.ts";
import { capped, type Group, inStep } from "./group.ts";

export function shareOutCopies(groups: readonly Group[], { decision }: LintContext): void {
  if (decision === undefined) return;
  const safe = inStep(groups, "safe");
  const { padding, change } = decision;
  const isOfPadding = (group: Group) => decision.pads(group.covers);
  const padded = safe.filter(isOfPadding);
  const all = sumOf(padding.map(({ microseconds }) => microseconds));
  keepWithinParts(padded, padding);
  keepWithin(padded, all);
  keepWithin(
    safe.filter((group) => !isOfPadding(group)),
    change.saves.microseconds - all,
  );
}

/** No part has findings that save more than it does; what is found at no product of a part is left as it is. */
function keepWithinParts(groups: readonly Group[], parts: readonly SavedPart[]): void {
  const partOf = partsByStep(parts);
  const claims = groups.map((group) => ({ group, saved: savedIn(group, partOf) }));
  const claimed = new Map<SavedPart, number>();
  for (const { saved } of claims)
    for (const [part, microseconds] of saved)
      if (part !== undefined) claimed.set(part, (claimed.get(part) ?? 0) + microseconds);
  const leftOf = (part: SavedPart | undefined) => {
    const sum = part === undefined ? 0 : (claimed.get(part) ?? 0);
    return part === undefined || sum <= part.microseconds ? 1 : Math.max(0, part.microseconds) / sum;
  };
  for (const { group, saved } of claims) {
    const whole = sumOf(saved.values());
    const left = sumOf(Array.from(saved, ([part, microseconds]) => microseconds * leftOf(part)));
    if (left < whole) lower(group, left / whole);
  }
}

/** The part that a kernel's product is of. */
function partsByStep(parts: readonly SavedPart[]): (step: Step) => SavedPart | undefined {
  const byLabel = partsByLabel(parts);
  return ({ scope, nodes }) => {
    if (!scope.isMain) return undefined;
    for (const node of nodes) {
      const part = byLabel.get(labelOf(node));
      if (part !== undefined) return part;
    }
    return undefined;
  };
}

/** What a group saves, by the parts that its members are of. */
function savedIn(
  { saves, members }: Group,
  partOf: (step: Step) => SavedPart | undefined,
): Map<SavedPart | undefined, number> {
  const saved = new Map<SavedPart | undefined, number>();
  const sum = sumOf(members.map((member) => Math.max(0, member.saves?.microseconds ?? 0)));
  if (saves === null || sum <= 0) return saved;
  for (const member of members) {
    const own = Math.max(0, member.saves?.microseconds ?? 0) * (saves.microseconds / sum);
    const part = Array.from(member.covers, partOf).find((each) => each !== undefined);
    saved.set(part, (saved.get(part) ?? 0) + own);
  }
  return saved;
}

function keepWithin(groups: readonly Group[], step: number): void {
  const whole = sumOf(groups.map(({ saves }) => saves?.microseconds ?? 0));
  if (whole <= step || whole <= 0) return;
  for (const group of groups) lower(group, Math.max(0, step) / whole);
}

function lower(group: Group, part: number): void {
  if (group.saves !== null)
    group.saves = capped(group.saves, group.saves.microseconds * part, group.saves.of);
}

function sumOf(times: Iterable<number>): number {
  let sum = 0;
  for (const time of times) sum += time;
  return sum;
}
