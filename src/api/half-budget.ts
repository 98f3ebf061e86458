/** @file What two models may differ by where nobody says: half precision's budget where the second is the first in half. */
import { Guard } from "../limits/guard.ts";
import { openModel } from "../onnx/open.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { tensorsOf } from "../onnx/weights.ts";
import { type Budget, budgetFor } from "../verify/budget.ts";

export interface FoundBudget {
  readonly budget: Budget;
  /** Why it is another than models get; undefined where it is theirs. */
  readonly notice?: string;
}

const halfTypes = [
  ["float16", "fp16"],
  ["bfloat16", "bf16"],
] as const;

/** By what most elements of the models' floating-point tensors are stored in. */
export function foundBudget(original: string, candidate: string): FoundBudget {
  const [before, after] = [elementsByType(original), elementsByType(candidate)];
  for (const [dtype, half] of halfTypes) {
    if (!isMostly(after, dtype) || isMostly(before, "float16") || isMostly(before, "bfloat16")) continue;
    if (before.size === 0) continue;
    const notice = `held to the budget of ${dtype}: of what it stores most is in it, and of the original not; --tolerance holds it to another`;
    return { budget: budgetFor({ half }), notice };
  }
  return { budget: budgetFor({}) };
}

function isMostly(elements: ReadonlyMap<string, number>, dtype: string): boolean {
  let all = 0;
  for (const count of elements.values()) all += count;
  return all > 0 && (elements.get(dtype) ?? 0) > all / 2;
}

const floating: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32", "float64"]);

/** None of a model that cannot be read: the comparison says what is wrong with it. */
function elementsByType(path: string): ReadonlyMap<string, number> {
  const elements = new Map<string, number>();
  try {
    new Guard({ path, doing: "linting" }).runRepeatable(() => {
      elements.clear();
      using model = openModel(path);
      for (const { dtype, dims } of tensorsOf(model)) {
        if (dtype === undefined || !floating.has(dtype)) continue;
        const count = dims.reduce((product, size) => product * size, 1);
        elements.set(dtype, (elements.get(dtype) ?? 0) + count);
      }
    });
  } catch (error) {
    if (inputErrorOf(error) === undefined) throw error;
    elements.clear();
  }
  return elements;
}

/** A report with what was found about its budget before what else there is to say. */
export function withBudgetNotice<R extends { readonly notices: readonly string[] }>(
  report: R,
  { notice }: FoundBudget,
): R {
  return notice === undefined ? report : { ...report, notices: [notice, ...report.notices] };
}
