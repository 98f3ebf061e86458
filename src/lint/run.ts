/** @file One model through the rules: facts, costs, findings, thresholds. */
import { invalidNode } from "../facts/invalid-node.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { foundSizes } from "../ir/assumed.ts";
import { labelOf, type Model, operatorOf } from "../ir/model.ts";
import { graphsOf } from "../ir/nodes.ts";
import type { OtherStack } from "../workload/elsewhere.ts";
import { checkFile } from "../workload/emptied.ts";
import type { Step } from "../workload/timeline.ts";
import { pricedSizes, priceModel, type Workload, type WorkloadSettings } from "../workload/workload.ts";
import { basisOf } from "./basis.ts";
import { type Budget, budgetReports } from "./budgets.ts";
import { ceilingsReport } from "./ceilings.ts";
import type { LintContext } from "./context.ts";
import type { DecidedFix } from "./decision.ts";
import { withDeclined, withoutHalfLeft, withoutLayoutLeft } from "./declined.ts";
import { fill } from "./describe.ts";
import { capped, Groups, type RawFinding, timeOf } from "./group.ts";
import { type HalfBeside, halfBeside } from "./half-beside.ts";
import { type Judged, judged } from "./judge.ts";
import { Ladder, mayBeLater, replaced } from "./ladder.ts";
import { layersOf } from "./layers.ts";
import { elsewhereNotices, noticesOf } from "./notices.ts";
import type {
  Fixability,
  ModelReport,
  NoticeReport,
  ProfileReport,
  SavingReport,
  Severity,
} from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";
import { withoutIdle } from "./share-out.ts";
import { withStoredAuthor } from "./stored-author.ts";
import { type Ignored, InModel, Suppressed } from "./suppressed.ts";
import { sureInParts } from "./sure-parts.ts";
import { surroundingsOf } from "./surroundings.ts";

export interface LintSettings extends WorkloadSettings {
  readonly rules: readonly AnyRule[];
  /** By rule code; a rule without an entry keeps its own severity. */
  readonly severities: ReadonlyMap<string, Severity | "off">;
  /** Savings below this share of the model's time are summed up, not listed. */
  readonly minSaving: number;
  /** A warning worth at least this share of the model's time is an error. */
  readonly errorShare: number;
  /** Path in reports, relative to where the user stands. */
  readonly displayPath: string;
  /** What the configuration says of a rule at one node; undefined where it says nothing, "off" suppresses. */
  readonly severityAt: (place: {
    readonly code: string;
    readonly node: string;
    readonly op: string;
  }) => Severity | "off" | undefined;
  /** Why the configuration has a rule off there; null where it does not say. */
  readonly reasonAt?: (place: {
    readonly code: string;
    readonly node: string;
    readonly op: string;
  }) => string | null;
  /** Whether it is told in the target's half where nobody would choose that, too: beside another file that is. */
  readonly isToldInTarget?: boolean | undefined;
  /** What `--fix` makes of it; without an answer, findings say what their rule can repair. */
  readonly decide?: ((workload: Workload) => DecidedFix | undefined) | undefined;
  /** Stacks that a fix must not slow down. */
  readonly others?: readonly OtherStack[] | undefined;
  /** Whether the report lists every layer. */
  readonly layers?: boolean | undefined;
  /** Whether it has what is drawn: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean | undefined;
  /** Whether what was switched off is listed. */
  readonly suppressed?: boolean | undefined;
  /** Whether metadata that switches off what is not found has a notice. */
  readonly reportUnused?: boolean | undefined;
  /** Whether all findings are listed, also those that save too little, or perhaps nothing. */
  readonly verbose?: boolean | undefined;
  readonly budgets?: readonly Budget[];
  /** Set where `timelineOf` is what a profile measured. */
  readonly profile?: ProfileReport | undefined;
  readonly notices: readonly NoticeReport[];
  /** Configuration files that decided about the model, the most general first. */
  readonly configFiles: readonly string[];
}

/**
 * Lints an open model; `price` may know what it takes already. Throws InputError where shapes or symbols given by the user do not fit it.
 */
export function lintModel<M extends Model>(
  model: M,
  settings: LintSettings,
  price: (model: M, settings: WorkloadSettings) => Workload = priceModel,
): ModelReport {
  return lintWorkload(price(model, settings), settings);
}

/** The same of a model that has been priced with these settings. */
export function lintWorkload(asked: Workload, settings: LintSettings): ModelReport {
  checkFile(asked.facts);
  const inTarget = settings.decide?.(asked);
  const asStored = inTarget?.asStored?.();
  const stored = settings.isToldInTarget === true ? undefined : asStored;
  const ladder = new Ladder(stored?.file ?? asked, settings, stored?.decided ?? inTarget);
  const { first } = ladder;
  const inModel = new InModel();
  const inFile = (file: LintContext) => findIn(file, file, settings, inModel);
  const { found: all, suppressed } = inFile(first);
  const inHalf = stored && inFile(new Ladder(asked, settings, inTarget).first);
  const inParts = inHalf === undefined ? all : sureInParts(all, inHalf.found, first.decision);
  const found = withoutHalfLeft(inParts, first, settings.minSaving);
  const later = ladder.after(found);
  const laterRules = { ...settings, rules: settings.rules.filter(mayBeLater) };
  const both = later === first ? found : replaced(found, findIn(later, first, laterRules, inModel).found);
  const claimed = withoutLayoutLeft(withDeclined(both, first, settings.minSaving), later, settings.minSaving);
  const states = { context: first, later };
  const groups = new Groups();
  for (const finding of withoutIdle(claimed, states)) groups.add(finding);
  const told = withStoredAuthor(judged([...groups.all()], states, settings), {
    context: (layout) => ladder.asStored(layout),
    look: (context) => findIn(context, context, laterRules, inModel).found,
    minSaving: settings.minSaving,
  });
  const half = stored === undefined ? undefined : halfBeside(stored.file, asked, settings.cost);
  const budgets = budgetsOf(asStored?.file ?? asked, settings);
  const report = assemble(first, settings, { ...told, suppressed, half, budgets });
  if (settings.reportUnused !== true) return report;
  return {
    ...report,
    notices: [...report.notices, ...inModel.unused(asked.model, wasLookedFor(settings))],
  };
}

/** A name that no rule has is looked for in vain, whatever is switched on. */
function wasLookedFor({ rules, severities }: LintSettings): (name: string) => boolean {
  const byName = new Map(rules.flatMap((rule) => [[rule.code, rule] as const, [rule.name, rule] as const]));
  return (name) => {
    const rule = byName.get(name);
    return rule === undefined || (severities.get(rule.code) ?? rule.severity) !== "off";
  };
}

/** What rules say of a context; shares are of `whole`. */
function findIn(context: LintContext, whole: LintContext, settings: LintSettings, inModel: InModel) {
  const found: RawFinding[] = [];
  const suppressed = new Suppressed(settings.suppressed === true);
  for (const rule of settings.rules) {
    const ofRule = settings.severities.get(rule.code) ?? rule.severity;
    if (ofRule === "off") continue;
    for (const raw of rule.check(context)) {
      const place = placeOf(raw, rule);
      const base = settings.severityAt(place) ?? ofRule;
      const ignored: Ignored | undefined =
        base === "off"
          ? { by: "configuration", reason: settings.reasonAt?.(place) ?? null }
          : inModel.ignoring(raw, rule, raw.at.scope.model);
      if (ignored !== undefined) suppressed.add(() => rawFinding(raw, rule, ofRule, context, whole), ignored);
      else if (base !== "off") found.push(rawFinding(raw, rule, base, context, whole));
    }
  }
  return { found, suppressed };
}

function rawFinding(
  raw: RuleFinding,
  rule: AnyRule,
  base: Severity,
  context: LintContext,
  whole: LintContext,
): RawFinding {
  const textOf = (id: string, data = raw.data) => fill(rule.messages[id] ?? id, data);
  const fix = fixOf(raw, rule, context);
  const covers = new Set<Step>();
  for (const { node, scope } of raw.covers ?? [raw.at]) {
    const step = context.timeline.stepOf(node, scope);
    if (step === undefined) continue;
    covers.add(step);
    if (isSafe(raw, rule, fix)) for (const pass of context.decision?.passesOf(step) ?? []) covers.add(pass);
  }
  return {
    raw,
    rule,
    base,
    message: textOf(raw.message),
    ...(raw.shared === undefined
      ? {}
      : { shared: textOf(raw.shared), alike: textOf(raw.shared, { ...raw.data, ...raw.alike }) }),
    saves: savingReport(raw, covers, whole),
    covers,
    fix,
    setting: raw.setting,
  };
}

/** What `--fix` is said to repair it does repair: where it was asked, its answer counts. */
function fixOf(
  { fix, at, covers = [at], setting }: RuleFinding,
  rule: AnyRule,
  { decision }: LintContext,
): Fixability {
  if (setting !== undefined) return "none";
  const known = fix ?? rule.fix;
  if (known !== "safe" || decision === undefined) return known;
  const saves = decision.savingOver(covers);
  if (saves === undefined || saves.microseconds <= 0) return "none";
  // In half precision, and not in the types of the file.
  return decision.needsHalf ? "unsafe" : "safe";
}

/** Whether safe fixes make it, by themselves or in half precision alone. */
function isSafe(raw: RuleFinding, rule: AnyRule, fix: Fixability): boolean {
  return fix !== "none" && (raw.fix ?? rule.fix) === "safe";
}

function savingReport(
  { saves, share }: RuleFinding,
  covers: ReadonlySet<Step>,
  whole: LintContext,
): SavingReport | null {
  if (saves === undefined) return null;
  // A part of another run of the whole model has no kernels of this one, and is a share of that one's time, as in the account.
  if (share !== undefined) {
    const of = saves.microseconds / share;
    return { ...saves, high: Math.min(saves.high, of), share, of };
  }
  return capped({ ...saves, share: whole.share(saves.microseconds), of: 0 }, timeOf(covers));
}

function placeOf({ at: { node, scope } }: RuleFinding, { code }: AnyRule) {
  return { code, node: labelOf(siteOf(node, scope).node), op: operatorOf(node) };
}

interface Told extends Judged {
  readonly suppressed: Suppressed;
  /** Set where all else is told of the file as it is stored. */
  readonly half: HalfBeside | undefined;
  readonly budgets: Pick<ModelReport, "budgets">;
}

function assemble(
  context: LintContext,
  settings: LintSettings,
  { listed, unlisted, below, uncertain, account, described, suppressed, half, budgets }: Told,
): ModelReport {
  const { model, facts, timeline } = context;
  const { target } = settings;
  const sizes = pricedSizes(context);
  const { microseconds, low, high, tensorCoreShare, families } = timeline;
  const { profile } = settings;
  const basis = basisOf(context.workload, settings);
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
    ...sizes,
    ...foundSizes(model, new Set(sizes.assumed)),
    configFiles: settings.configFiles,
    predicted: {
      ...{ microseconds, low, high, families, basis },
      tensorCoreShare: profile?.onCpu === true ? 0 : tensorCoreShare,
      ...(half === undefined ? {} : { half }),
    },
    ...(profile === undefined ? {} : { profile }),
    account,
    findings: listed.flatMap(({ findings }) => findings),
    groups: listed.map(({ group }) => group),
    suppressed: suppressed.count,
    ...(settings.suppressed === true ? { suppressions: suppressed.findings } : {}),
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
    ...budgets,
    skipped: skippedOf(context),
    notices: [
      ...settings.notices,
      ...noticesOf(context.workload, target, half),
      ...elsewhereNotices(context.decision?.slowerElsewhere),
    ],
    ...(settings.layers === true ? { layers: layersOf(context, described) } : {}),
    ...(settings.drawings === true
      ? drawingsOf(context, settings.verbose === true ? [...listed, ...unlisted] : listed)
      : {}),
    error: invalidNode(facts),
  };
}

/** Of what a report tells of, also where that is another file's sake: a budget is kept or not, whoever asks. */
function budgetsOf(workload: Workload, settings: LintSettings): Pick<ModelReport, "budgets"> {
  const { budgets = [] } = settings;
  return budgets.length === 0 ? {} : { budgets: budgetReports(budgets, workload, settings) };
}

function drawingsOf(
  context: LintContext,
  listed: Judged["listed"],
): Pick<ModelReport, "ceilings" | "surroundings"> {
  const groups = listed.map(({ group }) => group);
  const findings = listed.flatMap((entry) => entry.findings);
  return {
    ceilings: ceilingsReport(context.target.gpu),
    surroundings: surroundingsOf(context, groups, findings),
  };
}

/** Elements of the main graph's initializers, and of subgraphs' and functions'. */
function parametersOf(model: Model): number {
  let parameters = 0;
  for (const graph of graphsOf(model)) {
    for (const { initializer } of graph.values.values()) {
      if (initializer !== undefined) parameters += initializer.dims.reduce((total, dim) => total * dim, 1);
    }
  }
  return parameters;
}

function skippedOf({ facts, unresolved }: LintContext): ModelReport["skipped"] {
  const skipped = [...facts.skipped, ...unresolved];
  return skipped.map(({ node, scope, reason }) => ({
    node: labelOf(siteOf(node, scope).node),
    op: operatorOf(node),
    reason,
  }));
}
