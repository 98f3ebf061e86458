/** @file Which of a model's plans lint has rows for: a fix is decided for one of these, and says which there are. */
import { groupBy } from "../ir/group.ts";
import { openModel } from "../onnx/open.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { sizesFor } from "../settings/lint-settings.ts";
import { type Planned, rowsOf } from "../settings/scenario-rows.ts";

export interface PlannedRow {
  readonly plan: LintPlan;
  /** Empty where nothing tells it from others. */
  readonly name: string;
}

/** By model, in order. A file that cannot be read has one: it fails once. */
export function plannedRows(plans: readonly LintPlan[]): PlannedRow[][] {
  return [...groupBy(plans, ({ path }) => path).values()].map((ofModel) => {
    const [first] = ofModel;
    if (first === undefined) return [];
    return ofModel.length === 1 ? [{ plan: first, name: "" }] : rowsOfModel(first, ofModel);
  });
}

function rowsOfModel(first: LintPlan, plans: readonly LintPlan[]): PlannedRow[] {
  if (first.refused !== undefined) return [{ plan: first, name: "" }];
  try {
    using model = openModel(first.path);
    const planned = plans.map((plan): Planned<LintPlan> => {
      const { shapes, dims } = sizesFor(model, plan);
      const { gpu, stack, precision } = plan.settings;
      return {
        outcome: plan,
        scenario: plan.scenario,
        target: { gpu, stack, precision },
        bound: [...(shapes?.keys() ?? []), ...(dims?.keys() ?? [])],
      };
    });
    const byName = new Map<string, LintPlan>();
    for (const { outcome, name } of rowsOf(planned).rows) if (!byName.has(name)) byName.set(name, outcome);
    return [...byName].map(([name, plan]) => ({ name, plan }));
  } catch (error) {
    if (inputErrorOf(error) === undefined) throw error;
    return [{ plan: first, name: "" }];
  }
}
