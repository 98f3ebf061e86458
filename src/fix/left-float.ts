/** @file What is said of a file that stays FP32: why half precision is not written. */

import { duration, unsureSavingText } from "../ir/format.ts";
import type { WorkloadChange } from "../workload/change.ts";
import { writtenBetween } from "../workload/written.ts";
import type { FixedModel, FixNote, FixSettings } from "./pipeline.ts";
import { asWritten } from "./stored-types.ts";
import { type Beside, isSureGain } from "./sure-gain.ts";

interface Made {
  readonly fixed: FixedModel;
  readonly isHalved: boolean;
}

/** With what the half pass says, and why it was not heard, where it would have changed something. */
export function leftFloat<M extends Made>(beside: Beside, plain: M, named: Made, settings: FixSettings): M {
  const instead = asWritten(plain.fixed.model, settings).timeline.microseconds;
  const why = named.isHalved ? [whyLeft(beside, named, settings, instead)] : [];
  const notes = [...why, ...halfNotes(named.fixed.notes), ...plain.fixed.notes];
  return { ...plain, fixed: { ...plain.fixed, notes } };
}

/** `instead`: microseconds of the file that is written in its place. */
function whyLeft(beside: Beside, { fixed }: Made, settings: FixSettings, instead: number): FixNote {
  const saves = writtenBetween(beside.file, asWritten(fixed.model, settings), settings.cost);
  const more = saves.after - instead;
  const isWorse = saves.microseconds > 0 && more > 0;
  const isSure = isSureGain(saves, beside.file, settings);
  const reason = isWorse
    ? costsMore(more)
    : isSure
      ? savesLittle
      : whyNot(saves, saves.after + saves.microseconds);
  const isLaidOut = fixed.regions.some(({ pass }) => pass === "channels-last");
  const what = isLaidOut ? "half precision with NHWC behind it" : "half precision";
  const type = settings.options.halfType === "bfloat16" ? "bf16" : "fp16";
  const message = `left FP32: ${what} is ${isSure ? `not written: it is ${reason}` : reason}; --precision ${type} stores it all the same`;
  return { kind: "blocked", pass: "half", node: undefined, message };
}

/** Of a file in half that gains of the user's, and takes so much longer than what is done without. */
function costsMore(microseconds: number): string {
  return `predicted to cost ${duration(microseconds)} more than what is done instead`;
}

const savesLittle = "predicted to save less than --min-saving of what is done instead";

function whyNot(saves: WorkloadChange["saves"], of: number): string {
  return unsureSavingText(saves, of, saves.low > 0 ? "below --min-saving" : undefined);
}

export function halfNotes(notes: readonly FixNote[]): readonly FixNote[] {
  return notes.filter(({ kind, pass }) => kind !== "changed" && pass === "half");
}
