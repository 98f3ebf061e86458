/** @file The difference of two models' times: of the whole, and kernel by kernel. */
import type { CostModel } from "../cost/model.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import { isHalf } from "../ir/fix-command.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import { regressionOf } from "../lint/budgets.ts";
import { differenceBetween, negated, type StepChange } from "../workload/change.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { storeSameTypes } from "../workload/stored-types.ts";
import type { Workload } from "../workload/workload.ts";
import type { ChangeVerdict, Difference, KernelChange, StoredChange, TimeChange } from "./result.ts";

/** Kernels of both have errors in common, which cancel: the interval is the difference's own. */
export function compareTimes(
  base: Workload,
  head: Workload,
  cost: CostModel,
  names: NewNames,
): { readonly time: TimeChange; readonly kernels: KernelChange[] } {
  const change = differenceBetween(base, head, cost, names);
  const difference = negated(change.saves);
  const share = regressionOf(base, change);
  const verdict = change.steps.length === 0 ? "same" : verdictOf(difference);
  const time = {
    ...difference,
    verdict,
    share: share.predicted,
    shareLow: share.low,
    shareHigh: share.high,
  };
  const kernels = change.steps.map(kernelChange);
  const size = ({ change: { microseconds } }: KernelChange) => Math.abs(microseconds);
  return { time, kernels: kernels.sort((a, b) => size(b) - size(a)) };
}

/**
 * What the files take as they are stored, where either runs otherwise so than in the target's precision, of which `asked` is the difference; null where
 * neither does, and where nothing differs in either.
 */
export function storedTimes(
  base: Workload,
  head: Workload,
  { cost, names, asked }: { readonly cost: CostModel; readonly names: NewNames; readonly asked: TimeChange },
): StoredChange | null {
  if ([base, head].every(({ target }) => target.precision === "as-is")) return null;
  const [before, after] = [base, head].map((each) => pricedAt(each, "as-is", cost));
  if (before === undefined || after === undefined) return null;
  const runsAlike = (asStored: Workload, inTarget: Workload) =>
    differenceBetween(asStored, inTarget, cost).steps.length === 0;
  if (runsAlike(before, base) && runsAlike(after, head)) return null;
  const { time } = compareTimes(before, after, cost, names);
  if (time.verdict === "same" && asked.verdict === "same") return null;
  return { base: before.timeline.microseconds, head: after.timeline.microseconds, time };
}

/**
 * What the comparison comes to. Files run in the types that they store: where these differ that decides, and where the target asks for a half that neither
 * stores, nothing is faster that is not so as stored. It is slower as well where it is so in the half that both are meant to be brought to.
 */
export function verdictOfBoth(
  base: Workload,
  head: Workload,
  asked: TimeChange,
  stored: TimeChange | undefined,
): ChangeVerdict {
  if (stored === undefined) return asked.verdict;
  const isSame = storeSameTypes(base, head);
  // A setting of the stack runs a file in TF32, and nobody stores codes for it.
  if (isSame && !isHalf(head.target.precision)) return asked.verdict;
  return isSame && asked.verdict === "slower" && stored.verdict !== "faster" ? "slower" : stored.verdict;
}

function verdictOf({ low, high }: Difference): ChangeVerdict {
  if (low > 0) return "slower";
  return high < 0 ? "faster" : "unclear";
}

function kernelChange({ before, after, saves }: StepChange): KernelChange {
  const step = after ?? before;
  const [node] = step?.nodes ?? [];
  const site = node && step && siteOf(node, step.scope);
  return {
    node: site === undefined ? "" : labelOf(site.node),
    op: node === undefined ? (step?.family ?? "") : operatorOf(node),
    graph: site?.scope.path ?? "graph",
    base: before?.microseconds ?? null,
    head: after?.microseconds ?? null,
    change: negated(saves),
  };
}
