/** @file What is said of NHWC that was asked for by name and is predicted to be slower as a whole: it is written all the same. */
import { halfOf } from "../ir/fix-command.ts";
import { duration, durationRange } from "../ir/format.ts";
import type { AccountState } from "../workload/account.ts";
import { differenceBetween } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";
import type { SafeFixes } from "./decide-stored.ts";
import { layoutInHalf } from "./decide-unsafe.ts";
import type { FixedModel, FixNote, FixSettings } from "./pipeline.ts";
import { asksForLayout, keepsTypes } from "./stored-types.ts";

/** The repair with a note on its layout step where that costs time; `file` is what the user has. */
export function withSlowerLayout(
  fixed: FixedModel,
  states: readonly AccountState[],
  {
    fixes,
    settings,
    file,
  }: { readonly fixes: SafeFixes; readonly settings: FixSettings; readonly file: Workload },
): FixedModel {
  const at = states.findIndex(({ step }) => step === "layout");
  const [before, layout] = [states[at - 1], states[at]];
  if (!asksForLayout(settings) || before === undefined || layout === undefined) return fixed;
  const { microseconds, low, high } = differenceBetween(
    before.workload,
    layout.workload,
    settings.cost,
  ).saves;
  if (microseconds >= 0) return fixed;
  const { precision } = layout.workload.target;
  const where = precision === "as-is" ? "as stored" : `in ${precision.toUpperCase()}`;
  const cost = `${duration(-microseconds)} (${durationRange(-high, -low)})`;
  const verb = high < 0 ? "costs" : "may cost";
  const instead = keepsTypes(settings) ? inHalf(fixes, settings, file) : "";
  const message = `NHWC was asked for, and is predicted to be slower: ${verb} ${cost} ${where}${instead}`;
  const note: FixNote = { kind: "blocked", pass: "channels-last", node: undefined, message, microseconds };
  return { ...fixed, notes: [...fixed.notes, note] };
}

/** What it saves in a file that is brought to half, where that is sure: the step of its account. */
function inHalf({ inTarget }: SafeFixes, settings: FixSettings, file: Workload): string {
  const saves = layoutInHalf(inTarget.fixed.model, settings, file)?.change.saves;
  if (saves === undefined || saves.low <= 0) return "";
  const { microseconds, low, high } = saves;
  const half = halfOf(settings.target.precision);
  return `; with --precision ${half} it saves ${duration(microseconds)} (${durationRange(low, high)})`;
}
