/**
 * @file What channels_last makes of a model, decided once: linting says what `--fix --unsafe-fixes` does to its layout, and both ask
 * here.
 */

import { isHalf, isOfCodes } from "../ir/fix-command.ts";
import { changeRange, duration, savingRange } from "../ir/format.ts";
import { labelOf } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import {
  channelsLast,
  type LayoutPlan,
  planLayout,
  resultOf,
} from "../passes/channels-last/channels-last.ts";
import type { Region } from "../passes/channels-last/nhwc-regions.ts";
import { changesLayout } from "../passes/channels-last/transposes.ts";
import type { WrittenSaving } from "../workload/account.ts";
import { changeBetween, type WorkloadChange } from "../workload/change.ts";
import { measuredFactor } from "../workload/measured.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { choosesLayout, undoesLayout } from "../workload/turned-layout.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBeside, writtenBetween } from "../workload/written.ts";
import { patched } from "./edits.ts";
import { keepResult } from "./last-results.ts";
import { contextOf } from "./pass-context.ts";
import type { FixSettings } from "./pipeline.ts";
import { asStored, keepPriced, priced } from "./prices.ts";
import { isSureGain, isSureInHalf } from "./sure-gain.ts";
import type { Reading } from "./unread.ts";

export interface LayoutDecision {
  readonly after: Workload;
  readonly change: WorkloadChange;
  readonly regions: readonly Region[];
  /** Why it is not done; undefined where it is. */
  readonly declined?: string;
  /**
   * Set where it is done in a file that is brought to half, as it is decided for: in one that stays FP32 it may save nothing, and half with it may
   * not be sure to save either, so that nobody gets it unasked.
   */
  readonly needsHalf?: true;
  /** Of a state in half: what that and NHWC save of the types that are stored, without the Casts that writing half takes. */
  readonly sinceStored?: WorkloadChange["saves"] | undefined;
  /** The same with what comes before: of the file that the user has. */
  readonly sinceFile?: WorkloadChange["saves"] | undefined;
  /** Of a target in no half: what it saves of the file that stays as it is stored. */
  readonly written?: WrittenSaving | undefined;
}

/**
 * Regions that NHWC is predicted to make faster, where together they save at least the threshold, a share of what `file` takes,
 * and the saving's interval stays above zero. Undefined where there are none, or none that could save that much.
 */
export function decideLayout(
  model: OpenModel,
  settings: FixSettings,
  file: Workload,
): LayoutDecision | undefined {
  const before = priced(model, settings);
  const least = settings.minSaving * file.timeline.microseconds;
  if (!isOfFile(before, settings) || mostSaved(before, settings) < least) return undefined;
  const first = planned(model, settings);
  if (first.rewrite.converted.length === 0) return undefined;
  const { regions, after } = settled(model, settings, first);
  const change = changeBetween(before, after, settings.cost);
  const { microseconds, low } = change.saves;
  if (microseconds >= least && low > 0)
    return taken({ after, change, regions }, before, model, settings, file);
  const declined =
    low > 0
      ? belowThreshold
      : microseconds < 0
        ? `NHWC is predicted to cost ${duration(-microseconds)}`
        : `NHWC is predicted to save ${duration(microseconds)}, and may save nothing: its interval reaches 0`;
  return { after, change, regions, declined };
}

/** Whether what a fix writes is the layout that the stack runs. */
function isOfFile({ target: { stack } }: Workload, { options }: FixSettings): boolean {
  return !choosesLayout(stack) && !undoesLayout(stack, options.nhwcForm);
}

/**
 * With whether NHWC is written where nobody asked for half precision either: it is faster as the file is stored, or half and NHWC together are
 * faster beyond doubt, without the Casts that writing half takes, which take the half pass and weights to know. For a target in INT8, which no fix
 * stores, as the file is stored alone.
 */
function taken(
  decision: LayoutDecision,
  before: Workload,
  model: OpenModel,
  settings: FixSettings,
  file: Workload,
): LayoutDecision {
  const { precision } = settings.target;
  if (isOfCodes(precision)) return gatedAsStored(decision, before, settings);
  if (!isHalf(precision))
    return { ...decision, written: writtenBeside(before, decision.after, settings.cost) };
  const [own, fixed] = [pricedAt(file, "as-is", settings.cost), pricedAt(before, "as-is", settings.cost)];
  const [sinceFile, sinceStored] = [own, fixed].map(
    (each) => changeBetween(each, decision.after, settings.cost).saves,
  );
  const inHalf = { ...decision, sinceFile, sinceStored };
  if (sinceFile !== undefined && isSureInHalf(sinceFile, { file: own, fixed }, settings)) return inHalf;
  const asIs = decideLayout(model, asStored(settings), file);
  const isTaken = asIs !== undefined && asIs.declined === undefined;
  return isTaken ? inHalf : { ...inHalf, needsHalf: true };
}

function gatedAsStored(decision: LayoutDecision, before: Workload, settings: FixSettings): LayoutDecision {
  const written = writtenBetween(before, decision.after, settings.cost);
  if (isSureGain(written, pricedAt(before, "as-is", settings.cost), settings))
    return { ...decision, written };
  const { microseconds, low, high, after } = written;
  const stored = after + microseconds;
  const times = `${duration(stored)} → ${duration(after)}`;
  const why =
    low > 0
      ? "saves less than --min-saving"
      : high < 0
        ? `costs time (${savingRange(written, stored)})`
        : `may save nothing (${changeRange(written, stored)})`;
  return { ...decision, declined: `in the types that the file stores NHWC ${why}: predicted ${times}` };
}

/**
 * What that makes of a model in a state of its account, `state` being its workload there; undefined where it is no step of the account: NHWC
 * is asked for where it is faster, and is not.
 */
export function layoutIn(
  state: Workload,
  model: OpenModel,
  settings: FixSettings,
  file: Workload,
): LayoutDecision | undefined {
  const decision = decidedIn(state, model, settings, file);
  const isAsked = settings.options.nhwcOnlyWhereFaster !== true;
  return isAsked || decision?.declined === undefined ? decision : undefined;
}

/** The same with the reason where it is declined. */
export function decidedIn(
  state: Workload,
  model: OpenModel,
  settings: FixSettings,
  file: Workload,
): LayoutDecision | undefined {
  const inState = { ...settings, target: state.target };
  keepPriced(model, inState, state);
  return decideLayout(model, inState, file);
}

/** Also of what is not even planned. */
export const belowThreshold = "NHWC saves less than --min-saving in the whole model";

const location = "tc-lint.preview.data";

function planned(model: OpenModel, settings: FixSettings): LayoutPlan {
  const reading: Reading = { mostBytes: settings.mostRead };
  const context = contextOf(model, settings, "channels-last", location, reading);
  const plan = planLayout(context);
  // Where it is taken, the pass has run.
  keepResult(channelsLast, model, { settings, result: () => resultOf(plan, context), reading });
  return plan;
}

/** What `--fix` comes to in all of its rounds: part of a region that loses may pay where its surroundings are NHWC by now. */
function settled(
  model: OpenModel,
  settings: FixSettings,
  first: LayoutPlan,
): Pick<LayoutDecision, "after" | "regions"> {
  const regions = [...first.rewrite.regions];
  let [plan, turned] = [first, model];
  // A round that leaves no region leaves nothing for another.
  while (plan.left.length > 0) {
    const behind = written(turned, plan);
    const next = planned(behind, settings);
    if (next.rewrite.converted.length === 0) break;
    [plan, turned] = [next, behind];
    for (const region of next.rewrite.regions) regions.push(namedIn(model, region));
  }
  return { after: priced(written(turned, plan), settings), regions };
}

/** By the nodes of the model that it began with: what a convolution writes is called what it was until that is NHWC. */
function namedIn({ graph }: OpenModel, region: Region): Region {
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((value) => [value?.name, node])));
  const convolutions = region.convolutions.map((node) => {
    const original = producers.get(node.outputs[0]?.name);
    if (original === undefined)
      throw new Error(`tc-lint bug: "${labelOf(node)}" is turned, and not of the model`);
    return original;
  });
  return { ...region, convolutions };
}

function written(model: OpenModel, { patch }: LayoutPlan): OpenModel {
  return patched(model, patch, location);
}

/** About the most: all convolutions that are faster in NHWC, at no border, and every Transpose between layouts gone. */
function mostSaved({ timeline, target }: Workload, { cost }: FixSettings): number {
  let microseconds = 0;
  const known = new Map<object, number>();
  for (const step of timeline.steps) {
    const { work, estimate, runs, detail, scope, nodes } = step;
    if (!scope.isMain) continue;
    if (work.kind === "conv" && work.layout === "nchw") {
      const once = known.get(work) ?? cost.estimate({ ...work, layout: "nhwc" }, target, detail).microseconds;
      known.set(work, once);
      microseconds += Math.max(0, estimate.microseconds - once * measuredFactor(step)) * runs;
    } else if (nodes.some(changesLayout)) microseconds += estimate.microseconds * runs;
  }
  return microseconds;
}
