/** @file A repair in the order of a model's account: safe fixes, half precision, layout; where the model stands after each. */
import type { OpenModel } from "../onnx/open.ts";
import type { AccountState, AccountStepName } from "../workload/account.ts";
import { isHalf, pricedAt } from "../workload/account.ts";
import { decideSafe } from "./decide.ts";
import { type FixedModel, type FixSettings, priced } from "./pipeline.ts";
import { inTurn, runToFixedPoint } from "./rounds.ts";

export interface Staged {
  readonly fixed: FixedModel;
  readonly states: readonly AccountState[];
  /** Why safe fixes that were found are not made. */
  readonly declined?: string | undefined;
}

/** All passes of `settings`, stage by stage. Throws InputError. */
export function runStages(original: OpenModel, settings: FixSettings): Staged {
  const safe = decideSafe(original, settings);
  const { passes } = settings;
  const unsafe = passes.filter((pass) => !pass.safe);
  const states = statesBefore(original, settings);
  states.push({ step: "safe", workload: safe.after });
  let { fixed } = safe;
  const { declined } = safe;
  if (unsafe.length === 0) return { fixed, states, declined };
  // Padding that was declined is not made after all; folding prepares the other passes.
  const again = passes.filter(({ name, safe: isSafe }) => isSafe && (name === "fold" || safe.fixed.changed));
  const changesTypes = unsafe.some(({ name }) => name === "half");
  const steps: [AccountStepName, FixSettings["passes"]][] = [
    [isHalf(settings.target.precision) ? "kept" : "half", unsafe.filter(({ name }) => name === "half")],
    ["layout", unsafe],
  ];
  for (const [step, added] of steps) {
    if (added.length === 0 || (step === "layout" && added.every(({ name }) => name === "half"))) continue;
    fixed = inTurn(fixed, runToFixedPoint(fixed.model, { ...settings, passes: [...again, ...added] }));
    states.push({ step, workload: asWritten(fixed.model, settings, changesTypes) });
  }
  return { fixed, states, declined };
}

/** The file as it is, and in the target's precision. */
function statesBefore(original: OpenModel, settings: FixSettings): AccountState[] {
  const workload = priced(original, settings);
  return [
    { step: "exported", workload: pricedAt(workload, "as-is", settings.cost) },
    { step: "precision", workload },
  ];
}

/** A file that was brought to half is priced in the types that it now stores. */
function asWritten(model: OpenModel, settings: FixSettings, changesTypes: boolean) {
  const workload = priced(model, settings);
  return changesTypes ? pricedAt(workload, "as-is", settings.cost) : workload;
}
