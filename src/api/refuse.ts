/** @file Models that nothing is done with. */
import { InputError } from "../ir/errors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";

/** Why a model is not to be looked at; undefined where it is. */
export function refusalOf({ refused }: Pick<LintPlan, "refused">): InputError | undefined {
  return refused && new InputError(refused.code, refused.message);
}

/** Throws InputError for a model that is not to be looked at. */
export function refuse(plan: Pick<LintPlan, "refused">): void {
  const refusal = refusalOf(plan);
  if (refusal !== undefined) throw refusal;
}
