/** @file Models that nothing is done with. */
import { InputError } from "../ir/errors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";

/** Throws InputError for a model that is not to be looked at. */
export function refuse({ refused }: LintPlan): void {
  if (refused !== undefined) throw new InputError(refused.code, refused.message);
}
