/** @file The report on one model, put together of what was found and what the model takes. */
import { invalidNode } from "../facts/invalid-node.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { storedElements } from "../facts/stored.ts";
import type { Target } from "../hardware/target.ts";
import { foundSizes } from "../ir/assumed.ts";
import { labelOf, type Model, operatorOf } from "../ir/model.ts";
import { graphsOf } from "../ir/nodes.ts";
import { pricedSizes } from "../workload/workload.ts";
import { basisOf } from "./basis.ts";
import { budgetReports, type PricedModel } from "./budgets.ts";
import { ceilingsReport } from "./ceilings.ts";
import type { LintContext } from "./context.ts";
import { freeSizeNotices } from "./free-sizes.ts";
import type { HalfBeside } from "./half-beside.ts";
import type { Judged } from "./judge.ts";
import { layersOf } from "./layers.ts";
import { elsewhereNotices, noticesOf } from "./notices.ts";
import { otherLayoutNotices } from "./other-layout.ts";
import type { ModelReport, NoticeReport } from "./result.ts";
import type { LintSettings } from "./run.ts";
import { settingNotices } from "./setting-notices.ts";
import type { Suppressed } from "./suppressed.ts";
import { surroundingsOf } from "./surroundings.ts";

/** What is told of a model, beside what its workload says. */
export interface Told extends Judged {
  readonly suppressed: Suppressed;
  /** Set where all else is told of the file as it is stored. */
  readonly half: HalfBeside | undefined;
  readonly budgets: Pick<ModelReport, "budgets">;
}

/** The report of `context`, which is what is told of. */
export function assemble(
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
      ...{ microseconds, low, high, precision: context.target.precision, families, basis },
      tensorCoreShare: profile?.onCpu === true ? 0 : tensorCoreShare,
      ...(half === undefined ? {} : { half }),
    },
    ...(profile === undefined ? {} : { profile }),
    account,
    findings: listed.flatMap(({ findings }) => findings),
    groups: listed.map(({ group }) => group),
    suppressed: suppressed.count,
    ...(suppressed.fixable > 0 ? { suppressedFixable: suppressed.fixable } : {}),
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
      ...settings.notices.map((notice) => withHalfUnread(notice, target, { account, half })),
      ...noticesOf(context.workload, target, half),
      ...settingNotices(context, target, settings),
      ...freeSizeNotices(context, settings),
      ...otherLayoutNotices(context, target, account, settings),
      ...elsewhereNotices(context.decision?.slowerElsewhere),
    ],
    ...(settings.layers === true ? { layers: layersOf(context, described) } : {}),
    ...(settings.drawings === true
      ? drawingsOf(context, settings.verbose === true ? [...listed, ...unlisted] : listed)
      : {}),
    error: invalidNode(facts),
  };
}

/** Ranges of small weights decide what FP16 keeps in FP32; of what is not there it is taken to be in range. BF16 has the range of FP32. */
function withHalfUnread(
  notice: NoticeReport,
  { precision }: Target,
  { account, half }: Pick<Told, "account" | "half">,
): NoticeReport {
  const isDecided = account.some(({ step }) => step === "kept") || half?.written !== undefined;
  if (notice.code !== "weights-missing" || !isDecided || precision === "bf16") return notice;
  return {
    ...notice,
    message: `${notice.message}, and FP16 is told as if all were in its range`,
  };
}

/** Of what a report tells of, also where that is another file's sake: a budget is kept or not, whoever asks. */
export function budgetsOf(priced: PricedModel, settings: LintSettings): Pick<ModelReport, "budgets"> {
  const { budgets = [] } = settings;
  return budgets.length === 0 ? {} : { budgets: budgetReports(budgets, priced, settings) };
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

/** Elements of the main graph's stored tensors, and of subgraphs' and functions'. */
function parametersOf(model: Model): number {
  let parameters = 0;
  for (const graph of graphsOf(model))
    for (const value of graph.values.values()) parameters += storedElements(value);
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
