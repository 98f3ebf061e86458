/** @file A repair in the order of a model's account: safe fixes, half precision, layout; where the model stands after each. */
import type { OpenModel } from "../onnx/open.ts";
import { type AccountState, isHalf } from "../workload/account.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { writtenBetween } from "../workload/written.ts";
import { decideSafe, type SafeFix } from "./decide.ts";
import { asWritten, decideUnsafe, inHalfOf, type Unsafe } from "./decide-unsafe.ts";
import { changesTypes, type FixedModel, type FixSettings, priced } from "./pipeline.ts";
import type { NotMade } from "./remainder.ts";
import { inTurn } from "./rounds.ts";

export interface Staged extends NotMade {
  readonly fixed: FixedModel;
  /** Before its layout changed: where padding was decided, by the names of the file's own nodes. */
  readonly padded: OpenModel;
  readonly states: readonly AccountState[];
}

/** All passes of `settings`, stage by stage. Throws InputError. */
export function runStages(original: OpenModel, settings: FixSettings): Staged {
  const safe = decideSafe(original, settings);
  const whole = priced(original, settings).timeline.microseconds;
  const behind = decideUnsafe(safe.fixed, settings, whole);
  const fixed = inTurn(safe.fixed, behind.fixed);
  const states = [
    ...statesBefore(original, settings),
    { step: "safe", workload: safe.after, written: writtenSafe(original, safe, settings) } as const,
    ...statesBehind(safe, behind, settings),
  ];
  // In half a product may be off a multiple that it met before.
  const isBefore = changesTypes(settings) && !safe.fixed.changed;
  const message = safe.declined ?? (isBefore ? decidedBefore : undefined);
  const declined = message === undefined ? undefined : { message, foregone: safe.foregone };
  return { fixed, padded: behind.padded, states, declined, whyUnsolved: safe.whyUnsolved };
}

const decidedBefore = "padding was decided before the types changed: --fix of the result decides anew";

function writtenSafe(
  original: OpenModel,
  { after }: SafeFix,
  settings: FixSettings,
): AccountState["written"] {
  const before = priced(original, settings);
  return before.target.precision === "as-is" || before === after
    ? undefined
    : writtenBetween(before, after, settings.cost);
}

/** Where unsafe fixes leave what safe ones did: first in the steps that lint's account has, last the file that is written. */
function statesBehind(
  { after, fixed: safe }: SafeFix,
  { padded, fixed, isHalved, foreseen }: Unsafe,
  settings: FixSettings,
): AccountState[] {
  const layout: AccountState[] = fixed.regions.some(({ pass }) => pass === "channels-last")
    ? [{ step: "layout", workload: asWritten(fixed.model, settings) }]
    : [];
  if (!changesTypes(settings)) return layout;
  const { precision } = settings.target;
  const half: AccountState[] =
    isHalved && !isHalf(precision) ? [{ step: "half", workload: inHalfOf(after, settings) }] : [];
  const isInHalf = isHalved || isHalf(precision);
  const keptBy = (model: OpenModel): AccountState => ({
    step: "kept",
    workload: asWritten(model, settings),
    written: isHalved
      ? writtenBetween(asWritten(safe.model, settings), asWritten(model, settings), settings.cost)
      : undefined,
  });
  if (layout.length > 0 && isInHalf && foreseen !== undefined) {
    return [...half, { step: "layout", workload: foreseen.after }, keptBy(fixed.model)];
  }
  return [...half, ...(isInHalf ? [keptBy(padded)] : []), ...layout];
}

/** The file as it is, and in the target's precision. */
function statesBefore(original: OpenModel, settings: FixSettings): AccountState[] {
  const workload = priced(original, settings);
  return [
    { step: "exported", workload: pricedAt(workload, "as-is", settings.cost) },
    { step: "precision", workload },
  ];
}
