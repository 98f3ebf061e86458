/** @file Half precision beside a report of the file as it is stored: what nobody would choose is a figure, and no base of others. */
import type { CostModel, Saving } from "../cost/model.ts";
import { type Half, halfOf } from "../ir/fix-command.ts";
import { accountOf, type WrittenSaving } from "../workload/account.ts";
import { noChange } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";

export interface HalfBeside {
  readonly precision: Half;
  /** Of one run in it, without the Casts that writing half takes; the truth lies between `low` and `high` in nine cases of ten. */
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** 0 to 1: part of that time in products on Tensor Cores. */
  readonly tensorCoreShare: number;
  /** Less than the file as it is stored: it is predicted to cost. */
  readonly saves: Saving;
  /**
   * The file that `--fix` with that half by name writes, Casts and safe fixes with it: set where that is predicted to take less than the file with its safe
   * fixes as stored does, by a share worth a finding, and where it is sure to take less than the file, by whatever.
   */
  readonly written?: WrittenSaving;
}

interface HalfWritten {
  readonly cost: CostModel;
  readonly written: WrittenSaving | undefined;
  /** What safe fixes leave of the file as it is stored. */
  readonly safe: Workload;
  /** Of the stored file's time. */
  readonly minSaving: number;
}

/** As the account in half has it; `written` is what the file in half saves of the one that the user has. */
export function halfBeside(
  file: Workload,
  inHalf: Workload,
  { cost, written, safe, minSaving }: HalfWritten,
): HalfBeside {
  const states = [
    { step: "exported", workload: file },
    { step: "precision", workload: inHalf },
  ] as const;
  const { microseconds, low, high, tensorCoreShare } = inHalf.timeline;
  const saves = accountOf(states, cost).at(-1)?.saves ?? noChange.saves;
  const precision = halfOf(inHalf.target.precision);
  const most = safe.timeline.microseconds - minSaving * file.timeline.microseconds;
  const isTold = written !== undefined && (written.after < most || written.low > 0);
  const told = isTold ? { written } : {};
  return { precision, microseconds, low, high, tensorCoreShare, saves, ...told };
}
