/** @file What is said of NHWC that was asked for by name and gains nothing: it is predicted to be slower as a whole, or the stack undoes it. It is written all the same. */

import { halfOf } from "../ir/fix-command.ts";
import { duration, savingRange } from "../ir/format.ts";
import { type AccountState, savingBetween } from "../workload/account.ts";
import { layoutSettingOf, undoesLayout } from "../workload/turned-layout.ts";
import type { Workload } from "../workload/workload.ts";
import type { SafeFixes } from "./decide-stored.ts";
import { inHalfOf, layoutInHalf } from "./laid-out.ts";
import type { FixedModel, FixNote, FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { asksForLayout, keepsTypes } from "./stored-types.ts";

interface Asked {
  readonly fixes: SafeFixes;
  readonly settings: FixSettings;
  /** What the user has. */
  readonly file: Workload;
}

/** The repair with a note on its layout where that costs time, or is not the one that runs. */
export function withLayoutNotes(
  fixed: FixedModel,
  states: readonly AccountState[],
  asked: Asked,
): FixedModel {
  const isStep = states.some(({ step }) => step === "layout");
  return withUndone(withSlower(fixed, states, asked), asked.settings, isStep);
}

/** `isStep`: something is left of what the stack undoes, which a row of the account tells. */
function withUndone(
  fixed: FixedModel,
  { target: { stack }, options, passes }: FixSettings,
  isStep: boolean,
): FixedModel {
  if (!undoesLayout(stack, options.nhwcForm)) return fixed;
  if (options.nhwcIo && passes.every(({ name }) => name !== "channels-last"))
    return withNote(
      fixed,
      `--nhwc-io changes nothing: no file decides the layout on ${stack.id}, so that --unsafe-fixes writes no NHWC; --layout nhwc writes it all the same`,
    );
  const isWritten = fixed.regions.some(({ pass }) => pass === "channels-last");
  if (!isWritten) return fixed;
  const setting = layoutSettingOf(stack);
  const runs =
    setting === undefined
      ? "It runs NHWC by itself"
      : `Its provider option ${setting.option} (--stack ${setting.stack}) runs NHWC of the file as it was; --target ort-cuda writes nodes that stay NHWC`;
  const gained = isStep
    ? "what is left of it is the account's row of the layout"
    : `nothing is gained on ${stack.id}`;
  const message = `ONNX Runtime turns this NHWC back into NCHW before it runs: ${gained}. ${runs}${options.nhwcIo ? endsText(isStep) : ""}`;
  return withNote(fixed, message);
}

function endsText(isPredicted: boolean): string {
  const said = ". A Transpose stays at each input and output that --nhwc-io turned";
  return isPredicted ? said : `${said}, which is not predicted`;
}

function withNote(fixed: FixedModel, message: string): FixedModel {
  const note: FixNote = { kind: "blocked", pass: "channels-last", node: undefined, message };
  return { ...fixed, notes: [...fixed.notes, note] };
}

function withSlower(
  fixed: FixedModel,
  states: readonly AccountState[],
  { fixes, settings, file }: Asked,
): FixedModel {
  const at = states.findIndex(({ step }) => step === "layout");
  const [before, layout] = [states[at - 1], states[at]];
  if (!asksForLayout(settings) || before === undefined || layout === undefined) return fixed;
  const saves = savingBetween(before.workload, layout.workload, settings.cost);
  const { microseconds, high } = saves;
  if (microseconds >= 0) return fixed;
  const { precision } = layout.workload.target;
  const where = precision === "as-is" ? "as stored" : `in ${precision.toUpperCase()}`;
  const cost = `${duration(-microseconds)} (${savingRange(saves, before.workload.timeline.microseconds)})`;
  const verb = high < 0 ? "costs" : "may cost";
  const instead = keepsTypes(settings) ? inHalf(fixes, settings, file) : "";
  const message = `NHWC was asked for, and is predicted to be slower: ${verb} ${cost} ${where}${instead}`;
  const note: FixNote = { kind: "blocked", pass: "channels-last", node: undefined, message, microseconds };
  return { ...fixed, notes: [...fixed.notes, note] };
}

/** What it saves in a file that is brought to half, where that is sure: the step of its account. */
function inHalf({ inTarget }: SafeFixes, settings: FixSettings, file: Workload): string {
  const { model } = inTarget.fixed;
  const decided = layoutInHalf(model, settings, file);
  if (decided === undefined || decided.change.saves.low <= 0) return "";
  const before = inHalfOf(priced(model, settings), settings);
  const saves = savingBetween(before, decided.after, settings.cost);
  const half = halfOf(settings.target.precision);
  return `; with --precision ${half} it saves ${duration(saves.microseconds)} (${savingRange(saves, before.timeline.microseconds)})`;
}
