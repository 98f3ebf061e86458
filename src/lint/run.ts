/** @file One model through the rules: facts, costs, findings, thresholds. */
import { createHash } from "node:crypto";
import { invalidNode } from "../facts/invalid-node.ts";
import { labelOf, type Model, operatorOf } from "../ir/model.ts";
import { priceModel, type WorkloadSettings } from "../workload/workload.ts";
import { LintContext } from "./context.ts";
import { layersOf } from "./layers.ts";
import { contradictionNotices } from "./notices.ts";
import type {
  Datum,
  Finding,
  Fixability,
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
  readonly notices: readonly NoticeReport[];
  /** Configuration files that decided about the model, the most general first. */
  readonly configFiles: readonly string[];
}

/** Lints an open model. Throws InputError where shapes or symbols given by the user do not fit it. */
export function lintModel(model: Model, settings: LintSettings): ModelReport {
  const context = new LintContext(priceModel(model, settings), settings.cost);
  const found: Finding[] = [];
  const below = { count: 0, microseconds: 0 };
  let suppressed = 0;
  const occurrences = new Map<string, number>();
  for (const rule of settings.rules) {
    const ofRule = settings.severities.get(rule.code) ?? rule.severity;
    if (ofRule === "off") continue;
    for (const raw of rule.check(context)) {
      const severity = settings.severityAt(placeOf(raw, rule)) ?? ofRule;
      if (severity === "off" || isIgnored(raw, rule, model)) {
        suppressed += 1;
        continue;
      }
      const saves = savingReport(raw, context);
      const identity = identityOf(raw, rule, settings);
      const occurrence = occurrences.get(identity) ?? 0;
      occurrences.set(identity, occurrence + 1);
      const isBelow = saves !== null && saves.share < settings.minSaving;
      if (isBelow) {
        below.count++;
        below.microseconds += Math.max(0, saves.microseconds);
      }
      // Of what is only counted, a large model has too much to describe.
      if (isBelow && settings.layers !== true) continue;
      const fingerprint = createHash("sha256")
        .update(`${identity}\u0000${occurrence}`)
        .digest("hex")
        .slice(0, 32);
      found.push(describe({ raw, rule, base: severity, saves, fingerprint }, context.model, settings));
    }
  }
  return assemble(context, settings, found, below, suppressed);
}

/** What a finding is known by from run to run. */
function identityOf({ at: { node, scope } }: RuleFinding, { code }: AnyRule, settings: LintSettings): string {
  return [code, settings.displayPath, scope.path, operatorOf(node), labelOf(node)].join("\u0000");
}

interface Found {
  readonly raw: RuleFinding;
  readonly rule: AnyRule;
  readonly base: Severity;
  readonly saves: SavingReport | null;
  readonly fingerprint: string;
}

function describe(
  { raw, rule, base, saves, fingerprint }: Found,
  model: Model,
  settings: LintSettings,
): Finding {
  const { node, scope } = raw.at;
  // A saving that is part of something else (FP32 compute, where the prediction is "in half") is no part of this time.
  const ofThisTime = saves !== null && raw.share === undefined;
  const severity = base === "warn" && ofThisTime && saves.share >= settings.errorShare ? "error" : base;
  const fix: Fixability = raw.fix ?? rule.fix;
  return {
    code: rule.code,
    rule: rule.name,
    severity,
    node: labelOf(node),
    op: operatorOf(node),
    graph: scope.path,
    message: fill(rule.messages[raw.message] ?? raw.message, raw.data),
    data: raw.data,
    saves,
    fix,
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

function assemble(
  context: LintContext,
  settings: LintSettings,
  found: readonly Finding[],
  below: ModelReport["belowThreshold"],
  suppressed: number,
): ModelReport {
  const { model, facts, timeline, target, bindings } = context;
  const isBelow = ({ saves }: Finding) => saves !== null && saves.share < settings.minSaving;
  const findings = found
    .filter((finding) => !isBelow(finding))
    .sort(
      (a, b) =>
        rank[a.severity] - rank[b.severity] || (b.saves?.microseconds ?? 0) - (a.saves?.microseconds ?? 0),
    );
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
    findings,
    suppressed,
    belowThreshold: below,
    skipped: skippedOf(context),
    notices: [...settings.notices, ...contradictionNotices(facts)],
    ...(settings.layers === true ? { layers: layersOf(context, found) } : {}),
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
