/** @file Whether a file can be brought to half at all: nothing is promised of one in half that no fix writes. */

import { InputError } from "../ir/errors.ts";
import { type Half, halfOf } from "../ir/fix-command.ts";
import { half } from "../passes/half/half.ts";
import { raiseOpset } from "../passes/half/raise-opset.ts";
import { rescale } from "../passes/half/rescale.ts";
import type { Pass } from "../passes/pass.ts";
import type { SafeFix } from "./decide.ts";
import { broughtToHalf } from "./decide-unsafe.ts";
import { changesTypes, type FixedModel, type FixSettings } from "./pipeline.ts";

/** What brings a model to each. */
export const halfPasses: Readonly<Record<Half, readonly Pass[]>> = {
  fp16: [rescale, half],
  bf16: [raiseOpset, half],
};

/** Of larger tensors nothing is read before a repair is asked for: half precision takes them to be in its range. Masks and epsilons are small. */
export const mostRead = 128 << 10;

/** A repair that stores the half that the target computes in, asked for by name. */
export function askedInHalf(settings: FixSettings): FixSettings {
  const named = { ...settings.options, halfOnlyWhereFaster: false, halfUnpriced: true };
  const asked = { ...settings, options: named, mostRead };
  if (changesTypes(settings)) return asked;
  const type = halfOf(settings.target.precision);
  const options = { ...named, halfType: type === "bf16" ? "bfloat16" : "float16" } as const;
  return { ...asked, options, passes: [...settings.passes, ...halfPasses[type]] };
}

/** What safe fixes leave as it is stored in that half. Throws InputError. */
export function storedInHalf({ fixed }: SafeFix, settings: FixSettings): FixedModel {
  return broughtToHalf(fixed, askedInHalf(settings));
}

/** Whether that is another file; what only its weights could tell is taken to be. */
export function isStorable(made: () => FixedModel | undefined): boolean {
  return unlessRefused(made)?.changed !== false;
}

/** Undefined of what cannot be told without weights. */
export function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}
