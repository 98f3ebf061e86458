/** @file Half precision beside a report of the file as it is stored: what nobody would choose is a figure, and no base of others. */
import type { CostModel, Saving } from "../cost/model.ts";
import { type Half, halfOf } from "../ir/fix-command.ts";
import { accountOf } from "../workload/account.ts";
import { noChange } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";

export interface HalfBeside {
  readonly precision: Half;
  /** Of one run in it, without the Casts that writing half takes; the truth lies between `low` and `high` in nine cases of ten. */
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** Less than the file as it is stored: it is predicted to cost. */
  readonly saves: Saving;
}

/** As the account in half has it. */
export function halfBeside(file: Workload, inHalf: Workload, cost: CostModel): HalfBeside {
  const states = [
    { step: "exported", workload: file },
    { step: "precision", workload: inHalf },
  ] as const;
  const { microseconds, low, high } = inHalf.timeline;
  const saves = accountOf(states, cost).at(-1)?.saves ?? noChange.saves;
  return { precision: halfOf(inHalf.target.precision), microseconds, low, high, saves };
}
