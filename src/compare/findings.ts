/** @file Findings of two models matched by fingerprint: what is new, worse, fixed, eased, and as it was. */
import { push } from "../ir/group.ts";
import type { Finding, ModelReport, Severity } from "../lint/result.ts";
import type { FindingChange } from "./result.ts";

export const noFindings: FindingChange = {
  new: [],
  worse: [],
  fixed: [],
  eased: [],
  unchanged: [],
  renamed: [],
};

const rank = { error: 0, warn: 1, info: 2 } as const satisfies Record<Severity, number>;
/** Of a finding that no report lists. */
const unlistedRank = 3;

/** Below it is rounding. */
const leastGrowth = 1e-6;

type Side = Pick<ModelReport, "findings" | "unlisted">;

type Change = { readonly [Kind in keyof FindingChange]: Finding[] };

/** Names of the nodes of either model. */
export interface NodeNames {
  readonly base: ReadonlySet<string>;
  readonly head: ReadonlySet<string>;
}

/** Both reports have their unlisted findings: one that only passes a threshold is neither new nor fixed. */
export function compareFindings(base: Side, head: Side, names: NodeNames): FindingChange {
  const [before, after] = [standings(base), standings(head)];
  const change: Change = { new: [], worse: [], fixed: [], eased: [], unchanged: [], renamed: [] };
  for (const finding of head.findings) {
    const was = before.get(finding.fingerprint);
    if (was === undefined) change.new.push(finding);
    else if (isWorse(was, finding)) change.worse.push(finding);
    else if (was.rank < rank[finding.severity]) change.eased.push(finding);
    else change.unchanged.push(finding);
  }
  for (const finding of base.findings) {
    const is = after.get(finding.fingerprint);
    if (is === undefined) change.fixed.push(finding);
    else if (is.rank === unlistedRank) change.eased.push(finding);
  }
  return withRenamed(change, names);
}

/** Another exporter, or another version of one, gives nodes other names: what is found at them is not new. */
function withRenamed(change: Change, names: NodeNames): FindingChange {
  const gone = new Map<string, Finding[]>();
  for (const finding of change.fixed)
    if (!names.head.has(finding.node)) push(gone, causeOf(finding), finding);
  const [fresh, renamed, taken]: [Finding[], Finding[], Set<Finding>] = [[], [], new Set()];
  for (const finding of change.new) {
    const candidates = names.base.has(finding.node) ? undefined : gone.get(causeOf(finding));
    const at = candidates?.findIndex((was) => !isWorse(standingOf(was), finding)) ?? -1;
    const [was] = at < 0 ? [] : (candidates?.splice(at, 1) ?? []);
    if (was === undefined) fresh.push(finding);
    else {
      renamed.push(finding);
      taken.add(was);
    }
  }
  return { ...change, new: fresh, renamed, fixed: change.fixed.filter((finding) => !taken.has(finding)) };
}

function causeOf({ code, op, graph, message }: Finding): string {
  return [code, op, graph, message].join("\u0000");
}

interface Standing {
  readonly rank: number;
  readonly finding: Finding;
}

function standings({ findings, unlisted }: Side): ReadonlyMap<string, Standing> {
  const known = new Map<string, Standing>();
  for (const finding of unlisted?.findings ?? [])
    known.set(finding.fingerprint, { rank: unlistedRank, finding });
  for (const finding of findings) known.set(finding.fingerprint, standingOf(finding));
  return known;
}

function standingOf(finding: Finding): Standing {
  return { rank: rank[finding.severity], finding };
}

/** Severities are shares of the model's time: what grows by share alone, because the rest got faster, is no worse. */
function isWorse(was: Standing, { severity, saves }: Finding): boolean {
  if (rank[severity] >= was.rank) return false;
  const before = was.finding.saves?.microseconds ?? 0;
  return saves === null || saves.microseconds > before * (1 + leastGrowth);
}
