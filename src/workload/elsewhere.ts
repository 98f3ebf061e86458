/** @file What a change that is made for one stack loses on others, of those on which whole files were measured. */
import { computeDtype } from "../cost/precision.ts";
import { type Stack, stacks } from "../hardware/stacks.ts";
import { changeBetween, type WorkloadChange } from "./change.ts";
import { type PriceSettings, priceFacts, type Workload } from "./workload.ts";

/** A stack that a change must not slow down, with its own account where it has one. */
export interface OtherStack extends Pick<PriceSettings, "timelineOf"> {
  readonly stack: Stack;
  /** That of its account, where the target's prices are in the measure of a profile of the target. */
  readonly cost?: PriceSettings["cost"];
}

/** A loss that is more than its own noise. */
export interface LossElsewhere {
  readonly stack: Stack["id"];
  /** Of what the model takes there, above 0. */
  readonly share: number;
}

/** The most that a change may cost elsewhere, as a share of the model's time there. */
export const mostLoss = 0.02;

/**
 * The first of `others` on which the change is predicted to cost more than `mostLoss` of the model's time, its whole interval a loss; undefined
 * where it does on none. `before` and `after` are of the stack that the change is for, whose GPU and precision hold for the others as well. Asked
 * of what is computed in half: all the whole files were.
 */
export function lossElsewhere(
  before: Workload,
  after: Workload,
  { target, cost }: Pick<PriceSettings, "target" | "cost">,
  others: readonly OtherStack[],
): LossElsewhere | undefined {
  if (!isComputedInHalf(before)) return undefined;
  for (const { stack, timelineOf, cost: own = cost } of others) {
    if (stack.id === target.stack.id) continue;
    const there = { cost: own, target: { ...target, stack } };
    const priced = (account: typeof timelineOf) => changeOn(before, after, { ...there, timelineOf: account });
    // Planning takes longer than pricing: where the prices of its kernels leave no room for a loss, nothing is planned.
    if (timelineOf !== undefined && !mayLose(priced(undefined))) continue;
    const { microseconds, change } = priced(timelineOf);
    const share = -change.saves.microseconds / microseconds;
    if (share > mostLoss && change.saves.high < 0) return { stack: stack.id, share };
  }
  return undefined;
}

function isComputedInHalf({ products, target }: Workload): boolean {
  return products.some(({ sizes }) => {
    const type = computeDtype(sizes.dtype, target.precision);
    return type === "fp16" || type === "bf16";
  });
}

interface ChangeThere {
  /** Before it. */
  readonly microseconds: number;
  readonly change: WorkloadChange;
}

function changeOn(before: Workload, after: Workload, settings: PriceSettings): ChangeThere {
  const [from, to] = [priceFacts(before.facts, settings), priceFacts(after.facts, settings)];
  return { microseconds: from.timeline.microseconds, change: changeBetween(from, to, settings.cost) };
}

function mayLose({ microseconds, change }: ChangeThere): boolean {
  return change.saves.low < -mostLoss * microseconds;
}

/** For people: `5.1 % slower on tc-lint's bundled FP16 runtime (tc-runtime)`. */
export function lossText({ stack, share }: LossElsewhere): string {
  return `${(share * 100).toFixed(1)} % slower on ${stacks[stack].name} (${stack})`;
}
