/** @file A repair in the order of a model's account: safe fixes, half precision, layout; where the model stands after each. */

import { isHalf, isOfTypes } from "../ir/fix-command.ts";
import { once } from "../ir/once.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { AccountState } from "../workload/account.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { undoesLayout } from "../workload/turned-layout.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBeside, writtenBetween } from "../workload/written.ts";
import { decideSafe } from "./decide.ts";
import {
  type Declined,
  decideStored,
  declinedAsStored,
  type SafeFixes,
  unsolvedOf,
} from "./decide-stored.ts";
import { besideHalf, decideUnsafe, type Unsafe } from "./decide-unsafe.ts";
import { foreseenEnds, foreseenHalf } from "./foreseen.ts";
import { isHalfLeft } from "./half-left.ts";
import { inHalfOf } from "./laid-out.ts";
import { withLayoutNotes } from "./layout-notes.ts";
import { changesTypes, type FixedModel, type FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import type { NotMade } from "./remainder.ts";
import { inTurn } from "./rounds.ts";
import { storedInHalf } from "./storable.ts";
import { asWritten, isTimedAsStored } from "./stored-types.ts";
import { type Beside, isSureInHalf } from "./sure-gain.ts";
import { halfByName } from "./written-ends.ts";

export interface Staged extends NotMade {
  /** As they were asked for, and whether it is told of the file as it is stored. */
  readonly settings: FixSettings;
  readonly fixed: FixedModel;
  /** Before its layout changed: where padding was decided, by the names of the file's own nodes. */
  readonly padded: OpenModel;
  readonly states: readonly AccountState[];
}

/** All passes of `settings`, stage by stage. Throws InputError. */
export function runStages(original: OpenModel, settings: FixSettings): Staged {
  const file = priced(original, settings);
  const found = decideSafe(original, settings);
  const half = once(() => storedInHalf(found, settings));
  const namedHalf = halfByName(half, settings, file);
  const fixes = decideStored(original, found, settings, namedHalf);
  const behind = decideUnsafe(fixes, settings, file, namedHalf);
  const { safe } = behind;
  const made = inTurn(safe.fixed, behind.fixed);
  const ends = changesTypes(settings) ? undefined : foreseenEnds(fixes, settings, file, half);
  const told =
    ends !== undefined && isHalfLeft(file, ends, settings) ? { ...settings, isHalfLeft: true } : settings;
  const declined = declinedOf(behind, file, told);
  const foreseen = ends && foreseenHalf(fixes, settings, file, ends);
  const states = statesOf(original, fixes, behind, told).map((state) =>
    state.step === "precision" || state.step === "safe" ? { ...state, ...foreseen?.[state.step] } : state,
  );
  const fixed = withLayoutNotes(made, states, { fixes, settings, file });
  const { padded } = behind;
  const isAsStored = isToldAsStored(behind, told);
  const unsolved = unsolvedOf(safe, file, told, isAsStored);
  return { settings: told, fixed, padded, states, declined, unsolved };
}

const decidedBefore = "padding was decided before the types changed: --fix of the result decides anew";

function declinedOf(behind: Unsafe, file: Workload, settings: FixSettings): Declined | undefined {
  const { safe } = behind;
  if (isToldAsStored(behind, settings)) {
    const asStored = declinedAsStored(safe, file, settings);
    if (asStored !== undefined) return asStored;
  }
  const { declined, foregone, foregoneIn } = safe;
  if (declined !== undefined) return { ...safe, foregone, message: declined };
  // In half a product may be off a multiple that it met before.
  const isBefore = changesTypes(settings) && !safe.fixed.changed;
  return isBefore ? { message: decidedBefore, foregone, foregoneIn } : undefined;
}

/** A file that keeps its types is told in these, asked to or not: half is no step of it. */
function isToldAsStored({ isHalved }: Unsafe, settings: FixSettings): boolean {
  return isTimedAsStored(settings) && !isHalved && isOfTypes(settings.target.precision);
}

function statesOf(
  original: OpenModel,
  fixes: SafeFixes,
  behind: Unsafe,
  settings: FixSettings,
): AccountState[] {
  const { asStored: stored } = fixes;
  const { safe, fixed, unpadded } = behind;
  if (unpadded !== undefined) {
    const turned = statesOf(original, fixes, unpadded, settings).filter(({ step }) => step !== "safe");
    return [...turned, { step: "safe", workload: asWritten(fixed.model, settings) }];
  }
  const before = priced(original, settings);
  if (isToldAsStored(behind, settings)) {
    const inStored = (step: "exported" | "safe" | "layout", model: OpenModel): AccountState => ({
      step,
      workload: asWritten(model, settings),
    });
    return [
      inStored("exported", original),
      inStored("safe", safe.fixed.model),
      ...(isLaidOut(fixed, safe.fixed.model, settings) ? [inStored("layout", fixed.model)] : []),
    ];
  }
  const states: readonly AccountState[] = [
    ...statesBefore(original, settings),
    {
      step: "safe",
      workload: safe.after,
      written: writtenBeside(before, safe.after, settings.cost),
      needsHalf: safe === stored ? undefined : true,
    },
    ...statesBehind(before, behind, settings),
  ];
  return changesTypes(settings)
    ? saidToBeSure(states, besideHalf(fixes, settings, before), settings)
    : [...states];
}

/** Steps to half, and what pays in half alone, may save nothing where the file in half may: lint says so of them as well. */
function saidToBeSure(
  states: readonly AccountState[],
  beside: Beside,
  settings: FixSettings,
): AccountState[] {
  const written = states.find(({ step }) => step === "kept")?.written;
  if (written === undefined || isSureInHalf(written, beside, settings)) return [...states];
  const isHalf = ({ step, needsHalf }: AccountState) =>
    step === "precision" || step === "half" || (step === "safe" && needsHalf === true);
  return states.map((state) => (isHalf(state) ? { ...state, unsure: true } : state));
}

/** Whether a layout was written, and runs or takes another time than what is `before`: what the stack undoes is no step, but for what is left of it. */
function isLaidOut({ regions, model }: FixedModel, before: OpenModel, settings: FixSettings): boolean {
  const { target, options } = settings;
  if (!regions.some(({ pass }) => pass === "channels-last")) return false;
  if (!undoesLayout(target.stack, options.nhwcForm)) return true;
  const [left, own] = [before, model].map((each) => asWritten(each, settings).timeline.microseconds);
  return left !== undefined && own !== undefined && Math.abs(own - left) > rounding * own;
}

/** Of a time: sums in another order. */
const rounding = 1e-6;

/** Where unsafe fixes leave what safe ones did: first in the steps that lint's account has, last the file that is written. */
function statesBehind(
  file: Workload,
  { safe: { after }, padded, fixed, isHalved, foreseen, turned }: Unsafe,
  settings: FixSettings,
): AccountState[] {
  const layout: AccountState[] = isLaidOut(fixed, padded, settings)
    ? [{ step: "layout", workload: asWritten(fixed.model, settings) }]
    : [];
  if (!changesTypes(settings)) return layout.map((state) => behindLayout(state, turned, after, settings));
  const { precision } = settings.target;
  const half: AccountState[] =
    isHalved && !isHalf(precision) ? [{ step: "half", workload: inHalfOf(after, settings) }] : [];
  const isInHalf = isHalved || isHalf(precision);
  const keptBy = (model: OpenModel): AccountState => ({
    step: "kept",
    workload: asWritten(model, settings),
    written: isHalved ? writtenBetween(file, asWritten(model, settings), settings.cost) : undefined,
  });
  if (layout.length > 0 && isInHalf && foreseen !== undefined) {
    const { after: turned, needsHalf } = foreseen;
    return [...half, { step: "layout", workload: turned, needsHalf }, keptBy(fixed.model)];
  }
  return [...half, ...(isInHalf ? [keptBy(padded)] : []), ...layout];
}

/** `turned` is what was decided on. */
function behindLayout(
  state: AccountState,
  turned: Workload | undefined,
  before: Workload,
  { cost }: FixSettings,
): AccountState {
  const workload = turned ?? state.workload;
  return { ...state, workload, written: writtenBeside(before, workload, cost) };
}

/** The file as it is, and in the target's precision. */
function statesBefore(original: OpenModel, settings: FixSettings): AccountState[] {
  const workload = priced(original, settings);
  return [
    { step: "exported", workload: pricedAt(workload, "as-is", settings.cost) },
    { step: "precision", workload },
  ];
}
