/** @file Products that a safe fix could make faster, for whoever asks why a fix has left them. */
import type { CostModel } from "../cost/model.ts";
import { changeBetween } from "../workload/change.ts";
import type { CostedProduct } from "../workload/product.ts";
import { savedWithin } from "../workload/room.ts";
import type { UnmadeFixes } from "../workload/unmade.ts";
import type { Workload } from "../workload/workload.ts";
import { LintContext } from "./context.ts";
import { Decision } from "./decision.ts";
import { leaving } from "./leaving.ts";
import type { AnyRule } from "./rule.ts";

export interface FixableProduct {
  /** Code of the rule that finds it. */
  readonly rule: string;
  readonly product: CostedProduct;
  /** Predicted to be saved in a run of the model, the product seen by itself. */
  readonly microseconds: number;
  /** Whether its interval stays above zero. */
  readonly isCertain: boolean;
}

/** What rules find at products and know a safe fix for, in the order of the rules. */
export function fixableProducts(
  rules: readonly AnyRule[],
  workload: Workload,
  cost: CostModel,
  { proposed, made }: UnmadeFixes = {},
): readonly FixableProduct[] {
  const decision = made && new Decision(workload, leaving(made, changeBetween(workload, made, cost)));
  const context = new LintContext(workload, cost, { decision, proposed });
  const products = new Map<object, CostedProduct>(workload.products.map((product) => [product, product]));
  const safe = rules.filter(({ fix }) => fix === "safe");
  const found = safe.flatMap((rule) =>
    [...rule.check(context)].flatMap(({ at, saves, fix }) => {
      const isSafe = (fix ?? rule.fix) === "safe";
      const product = products.get(at);
      if (!isSafe || product === undefined || saves === undefined) return [];
      // What is computed ahead of time is no kernel of a run.
      const step = context.timeline.stepOf(at.node, at.scope);
      if (step === undefined) return [];
      return [{ rule: rule.code, product, microseconds: saves.microseconds, isCertain: saves.low > 0 }];
    }),
  );
  return withinBranches(found, workload);
}

/** Of branches what the model then takes less, as findings say: a run has one of them. */
function withinBranches(found: readonly FixableProduct[], workload: Workload): readonly FixableProduct[] {
  const { timeline } = workload;
  if (timeline.choices === undefined) return found;
  const timeOf = ({ node, scope }: CostedProduct) => timeline.stepOf(node, scope)?.microseconds ?? 0;
  const cuts = found.map((each) => {
    const { product, microseconds } = each;
    const cut = Math.min(Math.max(0, microseconds), timeOf(product));
    return [each, new Map([[product.scope, cut]])] as const;
  });
  const saved = savedWithin(workload, ({ microseconds }) => microseconds, new Map(cuts));
  return found.flatMap((each) => {
    const microseconds = each.product.scope.isMain ? each.microseconds : saved.get(each);
    return microseconds === undefined ? [] : [{ ...each, microseconds }];
  });
}
