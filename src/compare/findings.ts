/** @file Findings of two models matched by fingerprint: what is new, worse, fixed, eased, and as it was. */
import { push } from "../ir/group.ts";
import type { Finding, ModelReport, Severity } from "../lint/result.ts";
import type { AnyRule } from "../lint/rule.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import type { FindingChange } from "./result.ts";

export const noFindings: FindingChange = {
  new: [],
  worse: [],
  fixed: [],
  eased: [],
  unchanged: [],
  renamed: [],
  suppressed: [],
};

/** As findings name the main graph. */
const mainGraph = "graph";

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
  /** Of nodes of base's main graph, names in head, where these are others. */
  readonly renamed?: NewNames;
  /** By code, of rules that speak of more than their node. */
  readonly about?: ReadonlyMap<string, AnyRule["about"]>;
}

/** Both reports have their unlisted findings: one that only passes a threshold is neither new nor fixed. */
export function compareFindings(base: Side, head: Side, names: NodeNames): FindingChange {
  const renamed: NewNames = names.renamed ?? new Map();
  const now = new Set(renamed.values());
  const isOfNode = ({ code, graph }: Finding) => graph === mainGraph && names.about?.get(code) !== "model";
  const ofBase = identitiesOf(base, (finding) => (isOfNode(finding) ? renamed.get(finding.node) : undefined));
  const ofHead = identitiesOf(head, (finding) =>
    isOfNode(finding) && now.has(finding.node) ? finding.node : undefined,
  );
  const [before, after] = [standings(base, ofBase), standings(head, ofHead)];
  const change: Change = {
    new: [],
    worse: [],
    fixed: [],
    eased: [],
    unchanged: [],
    renamed: [],
    suppressed: [],
  };
  for (const finding of head.findings) {
    const was = before.get(ofHead(finding));
    if (was === undefined) change.new.push(finding);
    else if (isWorse(was, finding)) change.worse.push(finding);
    else if (was.rank < rank[finding.severity]) change.eased.push(finding);
    else if (was.finding.node !== finding.node) change.renamed.push(finding);
    else change.unchanged.push(finding);
  }
  for (const finding of base.findings) {
    const is = after.get(ofBase(finding));
    if (is === undefined) change.fixed.push(finding);
    else if (is.rank === unlistedRank) change.eased.push(finding);
  }
  return withRenamed(change, names);
}

/**
 * Another exporter, or another version of one, gives nodes other names: what is found at them is not new. Neither is what is found of a
 * region that begins elsewhere.
 */
function withRenamed(change: Change, names: NodeNames): FindingChange {
  const isOfRegion = ({ code }: Finding) => names.about?.get(code) === "region";
  const gone = new Map<string, Finding[]>();
  for (const finding of change.fixed)
    if (isOfRegion(finding)) push(gone, regionOf(finding), finding);
    else if (!names.head.has(finding.node)) push(gone, causeOf(finding), finding);
  const candidatesFor = (finding: Finding) => {
    if (isOfRegion(finding)) return gone.get(regionOf(finding));
    return names.base.has(finding.node) ? undefined : gone.get(causeOf(finding));
  };
  const [fresh, renamed, taken]: [Finding[], Finding[], Set<Finding>] = [[], [], new Set()];
  for (const finding of change.new) {
    const candidates = candidatesFor(finding);
    const at = candidates?.findIndex((was) => !isWorse(standingOf(was), finding)) ?? -1;
    const [was] = at < 0 ? [] : (candidates?.splice(at, 1) ?? []);
    if (was === undefined) fresh.push(finding);
    else {
      renamed.push(finding);
      taken.add(was);
    }
  }
  return {
    ...change,
    new: fresh,
    renamed: [...change.renamed, ...renamed],
    fixed: change.fixed.filter((finding) => !taken.has(finding)),
  };
}

function causeOf({ code, op, graph, message }: Finding): string {
  return [code, op, graph, message].join("\u0000");
}

function regionOf({ code, graph }: Finding): string {
  return [code, graph].join("\u0000");
}

interface Standing {
  readonly rank: number;
  readonly finding: Finding;
}

function standings({ findings, unlisted }: Side, identities: Identities): ReadonlyMap<string, Standing> {
  const known = new Map<string, Standing>();
  for (const finding of unlisted?.findings ?? [])
    known.set(identities(finding), { rank: unlistedRank, finding });
  for (const finding of findings) known.set(identities(finding), standingOf(finding));
  return known;
}

/** What a finding is known by in both models. */
type Identities = (finding: Finding) => string;

/**
 * A fingerprint, unless the finding's node, or the one that has its name in the other model, is called otherwise in the two: then the rule and
 * what head calls the node, which `nameOf` says.
 */
function identitiesOf(
  { findings, unlisted }: Side,
  nameOf: (finding: Finding) => string | undefined,
): Identities {
  const known = new Map<Finding, string>();
  const counts = new Map<string, number>();
  // Of several at one node, their words say which is which.
  for (const finding of [...findings, ...(unlisted?.findings ?? [])].sort(byMessage)) {
    const name = nameOf(finding);
    if (name === undefined) continue;
    const identity = [finding.code, finding.op, name].join("\u0000");
    const count = counts.get(identity) ?? 0;
    counts.set(identity, count + 1);
    known.set(finding, `${identity}\u0000${count}`);
  }
  return (finding) => known.get(finding) ?? finding.fingerprint;
}

function byMessage(a: Finding, b: Finding): number {
  return a.message < b.message ? -1 : Number(a.message > b.message);
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
