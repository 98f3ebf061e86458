/** @file One model through the rules: facts, costs, findings, thresholds. */
import { createHash } from "node:crypto";
import { invalidNode } from "../facts/invalid-node.ts";
import { pushAll } from "../ir/lists.ts";
import { labelOf, type Model, operatorOf } from "../ir/model.ts";
import { priceModel, type WorkloadSettings } from "../workload/workload.ts";
import { LintContext } from "./context.ts";
import { Groups, groupReport, type RawFinding, severityOf, standingOf } from "./group.ts";
import { layersOf } from "./layers.ts";
import { contradictionNotices } from "./notices.ts";
import type {
  CountedFindings,
  Datum,
  Finding,
  FindingGroup,
  ModelReport,
  NoticeReport,
  SavingReport,
  Severity,
} from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";
import { originOf } from "./source.ts";

export interface LintSettings extends WorkloadSettings {
  readonly rules: readonly AnyRule[];
  /** By rule code; a rule without an entry keeps its own severity. */
  readonly severities: ReadonlyMap<string, Severity | "off">;
  /** Savings below this share of the model's time are summed up, not listed. */
  readonly minSaving: number;
  /** A warning worth at least this share of the model's time is an error. */
  readonly errorShare: number;
  /** Path in reports and fingerprints, relative to where the user stands. */
  readonly displayPath: string;
  /** What the configuration says of a rule at one node; undefined where it says nothing, "off" suppresses. */
  readonly severityAt: (place: {
    readonly code: string;
    readonly node: string;
    readonly op: string;
  }) => Severity | "off" | undefined;
  /** Whether the report lists every layer. */
  readonly layers?: boolean | undefined;
  /** Whether all findings are listed, also those that save too little, or perhaps nothing. */
  readonly verbose?: boolean | undefined;
  readonly notices: readonly NoticeReport[];
  /** Configuration files that decided about the model, the most general first. */
  readonly configFiles: readonly string[];
}

/** Lints an open model. Throws InputError where shapes or symbols given by the user do not fit it. */
export function lintModel(model: Model, settings: LintSettings): ModelReport {
  const context = new LintContext(priceModel(model, settings), settings.cost);
  const groups = new Groups();
  let suppressed = 0;
  for (const rule of settings.rules) {
    const ofRule = settings.severities.get(rule.code) ?? rule.severity;
    if (ofRule === "off") continue;
    for (const raw of rule.check(context)) {
      const base = settings.severityAt(placeOf(raw, rule)) ?? ofRule;
      if (base === "off" || isIgnored(raw, rule, model)) {
        suppressed += 1;
        continue;
      }
      const message = fill(rule.messages[raw.message] ?? raw.message, raw.data);
      groups.add({ raw, rule, base, message, saves: savingReport(raw, context) });
    }
  }
  return assemble(context, settings, judged(groups, context, settings), suppressed);
}

interface Entry {
  readonly group: FindingGroup;
  readonly findings: readonly Finding[];
}

interface Judged {
  readonly listed: readonly Entry[];
  /** What is counted only, where it is asked for. */
  readonly unlisted: readonly Entry[];
  readonly below: CountedFindings;
  readonly uncertain: CountedFindings;
  /** Of all, also those that are only counted, where layers are asked for. */
  readonly described: readonly Finding[];
}

function judged(groups: Groups, { model }: LintContext, settings: LintSettings): Judged {
  const counted = {
    below: { count: 0, microseconds: 0 },
    uncertain: { count: 0, microseconds: 0 },
  };
  const listed: Entry[] = [];
  const unlisted: Entry[] = [];
  const described: Finding[] = [];
  const occurrences = new Map<string, number>();
  const needsAll = settings.layers === true || settings.verbose === true;
  for (const group of groups.all()) {
    const standing = standingOf(group, settings.minSaving);
    const severity = severityOf(group, settings.errorShare);
    if (standing !== "listed") {
      counted[standing].count += group.members.length;
      counted[standing].microseconds += Math.max(0, group.saves?.microseconds ?? 0);
    }
    // Counted for all, so that no threshold moves what a finding is known by.
    const identities = group.members.map((member) => identityOf(member, settings, occurrences));
    // Of what is only counted, a large model has too much to describe.
    if (standing !== "listed" && !needsAll) continue;
    const findings = group.members.map((member, index) =>
      describe(member, severity, fingerprintOf(identities[index] ?? ""), model),
    );
    pushAll(described, findings);
    const fingerprints = findings.map(({ fingerprint }) => fingerprint);
    const entry = { group: groupReport(group, severity, fingerprints), findings };
    (standing === "listed" ? listed : unlisted).push(entry);
  }
  const ranked = (entries: Entry[]) => entries.sort((a, b) => byImportance(a.group, b.group));
  return { listed: ranked(listed), unlisted: ranked(unlisted), ...counted, described };
}

/** What a finding is known by from run to run: its rule and node, and how many of them come before it. */
function identityOf(
  { raw: { at }, rule: { code } }: RawFinding,
  { displayPath }: LintSettings,
  occurrences: Map<string, number>,
): string {
  const { node, scope } = at;
  const identity = [code, displayPath, scope.path, operatorOf(node), labelOf(node)].join("\u0000");
  const occurrence = occurrences.get(identity) ?? 0;
  occurrences.set(identity, occurrence + 1);
  return `${identity}\u0000${occurrence}`;
}

function fingerprintOf(identity: string): string {
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}

function describe(
  { raw, rule, message, saves }: RawFinding,
  severity: Severity,
  fingerprint: string,
  model: Model,
): Finding {
  const { node, scope } = raw.at;
  return {
    code: rule.code,
    rule: rule.name,
    severity,
    node: labelOf(node),
    op: operatorOf(node),
    graph: scope.path,
    message,
    data: raw.data,
    saves,
    fix: raw.fix ?? rule.fix,
    ...originOf(node, model),
    fingerprint,
  };
}

function savingReport({ saves, share }: RuleFinding, context: LintContext): SavingReport | null {
  if (saves === undefined) return null;
  return { ...saves, share: share ?? context.share(saves.microseconds) };
}

function fill(template: string, data: Readonly<Record<string, Datum>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, key: string) => {
    const value = data[key];
    if (value === undefined) return whole;
    if (typeof value === "number") return formatNumber(value);
    return Array.isArray(value) ? value.join(", ") : String(value);
  });
}

function formatNumber(value: number): string {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(3)));
}

function placeOf({ at: { node } }: RuleFinding, { code }: AnyRule) {
  return { code, node: labelOf(node), op: operatorOf(node) };
}

/** By `tc-lint.ignore` in metadata_props of the model or of the node. */
function isIgnored({ at: { node } }: RuleFinding, rule: AnyRule, model: Model): boolean {
  const lists = [model.metadata.get(ignoreKey), model.reader.nodeMetadata(node).get(ignoreKey)];
  return lists.some((list) => list !== undefined && namesRule(list, rule));
}

const ignoreKey = "tc-lint.ignore";

/** `rule-a, TC102 -- reason`. */
function namesRule(list: string, { code, name }: AnyRule): boolean {
  const [names = ""] = list.split(" -- ");
  return names.split(",").some((each) => each.trim() === code || each.trim() === name);
}

const rank: Record<Severity, number> = { error: 0, warn: 1, info: 2 };

function byImportance(a: FindingGroup, b: FindingGroup): number {
  return rank[a.severity] - rank[b.severity] || (b.saves?.microseconds ?? 0) - (a.saves?.microseconds ?? 0);
}

function assemble(
  context: LintContext,
  settings: LintSettings,
  { listed, unlisted, below, uncertain, described }: Judged,
  suppressed: number,
): ModelReport {
  const { model, facts, timeline, target, bindings } = context;
  const { microseconds, low, high, tensorCoreShare, families } = timeline;
  const basis = settings.cost.measured(target) ? "measured" : "datasheet";
  return {
    path: settings.displayPath,
    irVersion: model.irVersion,
    opset: Object.fromEntries(
      [...model.opsets].map(([domain, version]) => [domain === "" ? "ai.onnx" : domain, version]),
    ),
    producer: [model.producer.name, model.producer.version].filter((part) => part !== "").join(" "),
    nodes: model.nodeCount,
    parameters: parametersOf(model),
    target: { gpu: target.gpu.id, stack: target.stack.id, precision: target.precision },
    symbols: Object.fromEntries(bindings),
    assumed: [...facts.symbols].sort(),
    configFiles: settings.configFiles,
    predicted: { microseconds, low, high, tensorCoreShare, families, basis },
    findings: listed.flatMap(({ findings }) => findings),
    groups: listed.map(({ group }) => group),
    suppressed,
    belowThreshold: below,
    uncertain,
    ...(settings.verbose === true
      ? {
          unlisted: {
            groups: unlisted.map(({ group }) => group),
            findings: unlisted.flatMap(({ findings }) => findings),
          },
        }
      : {}),
    skipped: skippedOf(context),
    notices: [...settings.notices, ...contradictionNotices(facts)],
    ...(settings.layers === true ? { layers: layersOf(context, described) } : {}),
    error: invalidNode(facts),
  };
}

/** Elements of the main graph's initializers, and of subgraphs' and functions'. */
function parametersOf(model: Model): number {
  let parameters = 0;
  const graphs = [model.graph, ...[...model.functions.values()].map(({ graph }) => graph)];
  for (const graph of graphs) {
    for (const { initializer } of graph.values.values()) {
      if (initializer !== undefined) parameters += initializer.dims.reduce((total, dim) => total * dim, 1);
    }
  }
  return parameters;
}

function skippedOf({ facts, unresolved }: LintContext): ModelReport["skipped"] {
  const skipped = [...facts.skipped, ...unresolved];
  return skipped.map(({ node, reason }) => ({ node: labelOf(node), op: operatorOf(node), reason }));
}
