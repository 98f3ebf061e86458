/** @file The budgets of a configuration that are about one model, each with the target that it is priced for. */
import type { BudgetConfig } from "../config.ts";
import type { StackId } from "../hardware/stacks.ts";
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import type { ConfigChain } from "./chain.ts";
import { compilePattern, pathMatcher } from "./glob.ts";
import { pathBelow, toDisplayPath } from "./paths.ts";
import { parseShare } from "./values.ts";

export interface BudgetTarget {
  readonly gpu: string;
  readonly stack: StackId;
  readonly precision: Precision;
}

/** At least one of the limits is there. */
export interface ResolvedBudget extends BudgetTarget {
  /** Whether it names its precision: then it is of that, whatever is told of the model. */
  readonly isPrecisionStated?: true;
  readonly maxMicroseconds?: number;
  /** 0 to 1, as is the next. */
  readonly minTensorCoreShare?: number;
  readonly maxRegression?: number;
}

/** Of the nearest file that has any. `linted`: what the model is linted for. Throws InputError `bad-config`. */
export function budgetsFor(
  modelPath: string,
  chain: ConfigChain | undefined,
  linted: BudgetTarget,
): ResolvedBudget[] {
  const layer = chain?.layers.findLast(({ config }) => config.budgets !== undefined);
  if (chain === undefined || layer === undefined) return [];
  const file = toDisplayPath(layer.file);
  const path = pathBelow(chain.folder, modelPath);
  return (layer.config.budgets ?? []).flatMap((budget, index) => {
    const where = `${file}: budgets[${index}]`;
    const limits = limitsOf(budget, where);
    const { gpu, stack = linted.stack, precision = linted.precision, files } = budget;
    if (files?.length === 0)
      throw new InputError(
        "bad-config",
        `${where}.files: names no file; left out, the budget is for every model`,
      );
    const isAbout = (pattern: string) => compilePattern(pattern, pathMatcher, `${where}.files`)(path);
    if (files !== undefined && ![files].flat().some(isAbout)) return [];
    const stated = budget.precision === undefined ? {} : { isPrecisionStated: true as const };
    return [{ gpu, stack, precision, ...stated, ...limits }];
  });
}

type Limits = Pick<ResolvedBudget, "maxMicroseconds" | "minTensorCoreShare" | "maxRegression">;

function limitsOf(
  { maxMicroseconds, minTensorCoreShare, maxRegression }: BudgetConfig,
  where: string,
): Limits {
  const limits: Limits = {
    ...(maxMicroseconds === undefined ? {} : { maxMicroseconds }),
    ...(minTensorCoreShare === undefined
      ? {}
      : { minTensorCoreShare: parseShare(minTensorCoreShare, `${where}.minTensorCoreShare`) }),
    ...(maxRegression === undefined
      ? {}
      : { maxRegression: parseShare(maxRegression, `${where}.maxRegression`) }),
  };
  if (Object.keys(limits).length > 0) return limits;
  throw new InputError(
    "bad-config",
    `${where}: limits nothing; expected maxMicroseconds, minTensorCoreShare or maxRegression`,
  );
}

/**
 * Of a model in several scenarios: a budget is held against those of its own target, and where there is none, priced beside the first
 * alone.
 */
export function withBudgetsOnce<
  Settings extends BudgetTarget & { readonly budgets: readonly ResolvedBudget[] },
>(scenarios: readonly Settings[]): Settings[] {
  const isElsewhere = (index: number) =>
    scenarios.some((settings) => isAt(settings.budgets[index], settings));
  return scenarios.map((settings, at) => ({
    ...settings,
    budgets: settings.budgets.filter(
      (budget, index) => isAt(budget, settings) || (at === 0 && !isElsewhere(index)),
    ),
  }));
}

/** Whether a budget is about what a model is linted for. */
function isAt(budget: BudgetTarget | undefined, { gpu, stack, precision }: BudgetTarget): boolean {
  return budget?.gpu === gpu && budget.stack === stack && budget.precision === precision;
}
