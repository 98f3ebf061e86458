/** @file From the settings of a lint and what is asked of a repair to what the passes are told. */
import { invalidNode } from "../facts/invalid-node.ts";
import { type FixChoice, flagsOf } from "../fix/choice.ts";
import { decideSafe } from "../fix/decide.ts";
import { decidedIn } from "../fix/decide-layout.ts";
import { decideStored, type SafeFixes } from "../fix/decide-stored.ts";
import type { FixedModel, FixSettings } from "../fix/pipeline.ts";
import { keepPriced, priced } from "../fix/prices.ts";
import { isSolved, reasons } from "../fix/remainder.ts";
import { savedByPass } from "../fix/saved.ts";
import { halfPasses, isStorable, mostRead, storedInHalf, unlessRefused } from "../fix/storable.ts";
import { type Ends, takenFirst } from "../fix/taken-first.ts";
import { withUnstored } from "../fix/unstored.ts";
import { type WrittenEnd, writtenInHalf, writtenInLayout } from "../fix/written-ends.ts";
import { undoesLayout } from "../hardware/stacks.ts";
import { halfOf, isHalf } from "../ir/fix-command.ts";
import { labelOf } from "../ir/model.ts";
import { once } from "../ir/once.ts";
import type { DecidedFix, LeftReason } from "../lint/decision.ts";
import { fixableProducts } from "../lint/fixable.ts";
import { isCustom } from "../lint/plugin/custom-rule.ts";
import type { ModelReport } from "../lint/result.ts";
import type { AnyRule } from "../lint/rule.ts";
import { type LintSettings, lintModel } from "../lint/run.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import { align } from "../passes/align/align.ts";
import type { Reason } from "../passes/align/remainder.ts";
import { rebatch } from "../passes/batch/batch.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import { customPass } from "../passes/custom/custom.ts";
import { fold } from "../passes/fold/fold.ts";
import { join } from "../passes/join/join.ts";
import type { Pass, Ranges } from "../passes/pass.ts";
import { noChange } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";

export type { FixChoice };

/** Padding, folding and joining alone. */
export const safeFix: FixChoice = {
  half: undefined,
  halfOnlyWhereFaster: true,
  halfIo: false,
  nhwc: false,
  nhwcOnlyWhereFaster: true,
  nhwcIo: false,
  nhwcForm: "portable",
  batch: undefined,
};

/** A repair of a model that is linted with `settings`. */
export function repairOf(settings: LintSettings, asked: FixChoice): FixSettings {
  const fix = { ...asked, half: halfIn(asked, settings) };
  const { target, cost, shapes, dims, minSaving, rules, severities, timelineOf, unstored, others } = settings;
  const active = rules.filter(({ code }) => severities.get(code) !== "off");
  return {
    target,
    cost,
    shapes,
    dims,
    timelineOf,
    unstored,
    minSaving,
    others,
    onlyWhereFaster: true,
    remaining: (workload) => fixableProducts(active, workload, cost),
    passes: [...customPasses(active), ...passesOf(fix, target)],
    flags: flagsOf(fix),
    rebatch: fix.batch === undefined ? undefined : rebatch,
    options: {
      halfType: fix.half === "bf16" ? "bfloat16" : "float16",
      halfIo: fix.halfIo,
      ranges: undefined,
      halfOnlyWhereFaster: fix.halfOnlyWhereFaster,
      nhwcIo: fix.nhwcIo,
      nhwcForm: fix.nhwcForm,
      nhwcOnlyWhereFaster: fix.nhwcOnlyWhereFaster,
      batch: fix.batch,
    },
  };
}

/** Half that nobody names is the target's, and none where that is of another precision; beside a profile that is what it ran in. */
function halfIn(
  { half, halfOnlyWhereFaster }: FixChoice,
  { target: { precision }, profile }: LintSettings,
): FixChoice["half"] {
  if (!halfOnlyWhereFaster || half === undefined) return half;
  if (isHalf(precision)) return precision;
  return profile === undefined ? undefined : half;
}

/** Lint settings that ask what `--fix` does to the model. Prices it: `priced` knows what it takes. Throws InputError. */
export function decidedBy(model: OpenModel, asked: LintSettings): LintSettings {
  const { unstored } = withUnstored(model, repairOf(asked, safeFix));
  const settings = { ...asked, unstored };
  return { ...settings, decide: (workload) => decidedFix(model, settings, workload) };
}

/** Lint of a model that is asked so. Throws InputError. */
export function decidedReport(model: OpenModel, settings: LintSettings): ModelReport {
  return lintModel(model, decidedBy(model, settings), priced);
}

function decidedFix(model: OpenModel, lint: LintSettings, workload: Workload): DecidedFix {
  const settings = repairOf(lint, safeFix);
  // Nobody knows what a broken model should compute.
  if (invalidNode(workload.facts) !== null) {
    const reasonFor = () => ({ message: "the model is invalid" });
    return {
      after: workload,
      change: noChange,
      reasonFor,
      isRewritten: () => false,
      layoutOf: () => undefined,
      inHalf: () => undefined,
      inLayout: () => undefined,
      takenFirst: () => undefined,
    };
  }
  keepPriced(model, settings, workload);
  let reasonOf: ReturnType<typeof reasons> | undefined;
  const safe = decideSafe(model, settings);
  const half = once(() => unlessRefused(() => storedInHalf(safe, settings)));
  const fixes = decideStored(model, safe, settings, () => isStorable(half));
  const { fixed, after, change, declined, foregone, loses, whyUnsolved } = fixes.inTarget;
  const inHalf = inHalfOf(fixes, lint, workload, half);
  const whole = foregone === undefined ? undefined : { microseconds: foregone };
  const all = declined === undefined ? undefined : { message: declined, whole };
  const inLayout = once(() => writtenInLayout(fixes, settings, workload));
  return {
    after,
    change,
    needsHalf: fixes.asStored !== fixes.inTarget,
    slowerElsewhere: loses && declined,
    foregone,
    isSolved: fixed.parts.has("align"),
    padding: savedByPass("align", fixed, workload.timeline.microseconds, settings),
    whyWritten: fixed.notes.find(({ pass, kind }) => pass === "join" && kind === "blocked")?.message,
    isRewritten: (node) => node.graph === model.graph && fixed.rewritten.has(labelOf(node)),
    reasonFor: (product) => {
      reasonOf ??= reasons(model, settings, []);
      const reason = reasonOf(product);
      if (reason.kind === "other-axis" && whyUnsolved !== undefined)
        return { message: whyUnsolved(), declined: "uncertain" };
      return leftReason(reason, all, loses !== undefined);
    },
    layoutOf: (state) => decidedIn(state, fixed.model, settings, workload),
    inHalf,
    inLayout,
    takenFirst: () => takenFirst(fixes, { inHalf, inLayout }, settings),
  };
}

function inHalfOf(
  fixes: SafeFixes,
  lint: LintSettings,
  workload: Workload,
  made: () => FixedModel | undefined,
): Ends["inHalf"] {
  const half = halfOf(lint.target.precision);
  const settings = {
    ...repairOf(lint, { ...safeFix, half, halfOnlyWhereFaster: false, nhwc: true }),
    mostRead,
  };
  const known = new Map<boolean, WrittenEnd | null | undefined>();
  return (isLaidOut) => {
    if (known.has(isLaidOut)) return known.get(isLaidOut);
    const stored = made();
    const found = stored && unlessRefused(() => writtenInHalf(fixes, settings, workload, stored)(isLaidOut));
    known.set(isLaidOut, found);
    return found;
  };
}

/** `all` is why nothing is done to the whole model: what would be done without has no reason of its own. */
function leftReason(reason: Reason, all: LeftReason | undefined, isForAnother: boolean): LeftReason {
  if (all !== undefined && isSolved(reason))
    return { ...all, ...(isForAnother ? {} : { declined: "uncertain" }) };
  const { message, whole } = reason;
  const declined = declinedBy[reason.kind];
  return declined === undefined ? { message } : { message, declined, whole };
}

const declinedBy: Readonly<Record<Reason["kind"], LeftReason["declined"]>> = {
  "min-saving": "below",
  uncertain: "uncertain",
  neighbours: "uncertain",
  "other-axis": "uncertain",
  forbidden: undefined,
  elsewhere: undefined,
  edges: undefined,
};

/** Of a repair that measures: what the user lets it do is proposed, whatever is predicted of it. */
export function proposing(settings: FixSettings): FixSettings {
  const options = { ...settings.options, halfOnlyWhereFaster: false, nhwcOnlyWhereFaster: false };
  return { ...settings, options, onlyWhereFaster: false, flags: [...(settings.flags ?? []), "--prove"] };
}

export function withRanges(settings: FixSettings, ranges: Ranges | undefined): FixSettings {
  return { ...settings, options: { ...settings.options, ranges } };
}

/** Fixes of plugins come first: what they leave is folded and padded. */
function customPasses(asked: readonly AnyRule[]): readonly Pass[] {
  const rewriters = asked.flatMap((rule) => (isCustom(rule) ? (rule.rewriter ?? []) : []));
  return rewriters.length === 0 ? [] : [customPass(rewriters)];
}

/** A layout that the stack undoes is written where somebody asks for it by name. */
function passesOf(fix: FixChoice, { stack }: LintSettings["target"]): readonly Pass[] {
  const { half, nhwc, nhwcForm, nhwcOnlyWhereFaster } = fix;
  const halves = half === undefined ? [] : halfPasses[half];
  const isLaidOut = nhwc && !(nhwcOnlyWhereFaster && undoesLayout(stack, nhwcForm));
  return [fold, join, align, ...halves, ...(isLaidOut ? [channelsLast] : [])];
}
