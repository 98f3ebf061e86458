/** @file From the settings of a lint and what is asked of a repair to what the passes are told. */
import { type FixChoice, flagsOf } from "../fix/choice.ts";
import type { FixSettings } from "../fix/pipeline.ts";
import { halfPasses } from "../fix/storable.ts";
import { undoesLayout } from "../hardware/stacks.ts";
import { isHalf } from "../ir/fix-command.ts";
import { fixableProducts } from "../lint/fixable.ts";
import { isCustom } from "../lint/plugin/custom-rule.ts";
import type { AnyRule } from "../lint/rule.ts";
import type { LintSettings } from "../lint/run.ts";
import { align } from "../passes/align/align.ts";
import { rebatch } from "../passes/batch/batch.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import { customPass } from "../passes/custom/custom.ts";
import { fold } from "../passes/fold/fold.ts";
import { join } from "../passes/join/join.ts";
import type { Pass, Ranges } from "../passes/pass.ts";

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
  const { target, cost, shapes, dims, rules, severities, timelineOf, unstored, others } = settings;
  const isTold = (code: string) => severities.get(code) !== "off";
  // What is told decides nothing; code of others that is switched off does not run.
  const active = rules.filter((rule) => !isCustom(rule) || isTold(rule.code));
  return {
    target,
    cost,
    shapes,
    dims,
    timelineOf,
    unstored,
    // What is written is what the user wants of it; what is left has the figures of lint.
    minSaving: settings.leastListed ?? settings.minSaving,
    leastWeighed: settings.minSaving,
    others,
    onlyWhereFaster: true,
    remaining: (workload, unmade) => fixableProducts(active, workload, cost, unmade),
    isTold,
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
