/**
 * @file A model's account on a target: what it takes as exported, and what it takes after each step that could be taken, one
 * after another. Lint, differences, fixes and plans print the same steps, which add up.
 */
import type { CostModel, Saving } from "../cost/model.ts";
import type { LayoutSetting } from "../hardware/stacks.ts";
import type { Precision } from "../hardware/target.ts";
import { fixFlags, type Half, halfOf } from "../ir/fix-command.ts";
import { isToHalf, unreachedHalf } from "../ir/unreached-half.ts";
import { differenceBetween, type WorkloadChange } from "./change.ts";
import { type Quantized, quantizedIn } from "./codes.ts";
import { mostSavedBy } from "./least.ts";
import { isMeasured } from "./measured.ts";
import type { Workload } from "./workload.ts";

/**
 * `exported`: the file in the types that it stores. `precision`: the same computed in the target's. `safe`: after `--fix`. `half`:
 * brought to half, where the target's precision is not. `layout`: channels last. `kept`: what the file that is written takes besides,
 * conversions and nodes that stay FP32; before the layout where that is a setting of the stack, behind all that commands do. `author`: what only
 * another network, another export or another batch changes.
 */
export const accountSteps = ["exported", "precision", "safe", "half", "layout", "kept", "author"] as const;
export type AccountStepName = (typeof accountSteps)[number];

/** Where a model stands after a step: microseconds of one run; the truth lies between `low` and `high` in nine cases of ten. */
export interface AccountStep {
  readonly step: AccountStepName;
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** Less than the step before; null for the first. */
  readonly saves: Saving | null;
  /** What its values are computed in: that of the target, or `as-is` for the types that the file stores. */
  readonly precision: Precision;
  /** Set where a profile measured it, and it is no prediction. */
  readonly measured?: true;
  /**
   * In the types that files store, where the account is of another precision: of `safe`, what it saves of the file as exported; of `kept`,
   * where the file is brought to half, what that one saves of the file as exported, with all that comes before; of `layout`, what it saves of the file that
   * `--fix` alone leaves, where its command leaves that in the types that it stores; of `author`, where it rests on half, what findings save of the file that
   * commands leave in the types that it stores.
   */
  readonly written?: WrittenSaving;
  /**
   * Set where the step is taken with half precision alone, asked for by name: of `safe`, `--fix` alone leaves it, or makes `alone` of it, of `layout`, `--unsafe-fixes` does,
   * because it gains in half and not for sure in the types that the file stores.
   */
  readonly needsHalf?: true;
  /** Of `safe` that needs half: what `--fix` alone makes of it, as the file is stored; absent where that is nothing. */
  readonly alone?: WrittenSaving;
  /** Of steps that a fix writes: its flags, the file that they write being sure to gain, whatever this step does by itself; of a repair's those that were given. */
  readonly command?: string;
  /**
   * Of the step to half and those behind it: the command whose account has what writing it takes besides, where that is not decided here and there is
   * no step `kept`. A step whose command leaves FP32 (`written`) takes nothing besides.
   */
  readonly castsIn?: string;
  /**
   * Of `layout` and `author`: set where they are told of a file in that half, and no command is sure to gain by storing it. What they save of the
   * file as it is stored is in `written`.
   */
  readonly restsOn?: Half;
  /** Of `safe`: the command that gains most of this file, where less is gained behind `--fix`; absent where the order does not matter, or is not known to. */
  readonly first?: TakenFirst;
  /** Set where no file that has the step is sure to gain, whatever the step saves by itself: it may save nothing as it is written. */
  readonly unsure?: true;
  /** Of a step to INT8: how far the file is quantized already, which is not what the step asks of anyone. */
  readonly quantized?: Exclude<Quantized, "all">;
  /** Set where no fix brings the file to the step's precision: it has no products that could be stored in it. */
  readonly unwritten?: true;
  /** Of a layout that no file decides: the setting of the stack that does, and the stack with it. */
  readonly setting?: LayoutSetting;
}

/** Half by name, which ends at a faster file than `--fix` and then `--unsafe-fixes` do. */
export interface TakenFirst {
  readonly command: string;
  /** Microseconds of the file that it writes of this one, in the types that it then stores. */
  readonly after: number;
  /** Of the one that `--fix` and then `--unsafe-fixes` leave. */
  readonly afterFix: number;
}

export interface WrittenSaving extends Saving {
  /** Microseconds of the file after it. */
  readonly after: number;
}

/** A model as it would stand after a step. */
export interface AccountState {
  readonly step: AccountStepName;
  readonly workload: Workload;
  readonly written?: WrittenSaving | undefined;
  readonly needsHalf?: true | undefined;
  readonly alone?: WrittenSaving | undefined;
  readonly command?: string | undefined;
  readonly unsure?: true | undefined;
  readonly unwritten?: true | undefined;
  readonly setting?: LayoutSetting | undefined;
  readonly first?: TakenFirst | undefined;
}

/**
 * States in order; one that takes the same time, kernel by kernel, as the one before is no step. A file that is brought to half is one all the same: who is
 * sent to an account that has its Casts finds there that they take none.
 */
export function accountOf(states: readonly AccountState[], cost: CostModel): AccountStep[] {
  const steps: AccountStep[] = [];
  const casts = castsIn(states);
  let isInHalf = false;
  let last: Workload | undefined;
  for (const { step, workload, ...said } of states) {
    const change = last === undefined ? undefined : differenceBetween(last, workload, cost);
    const isFile = step === "kept" && isInHalf;
    if (change !== undefined && change.steps.length === 0 && !isFile) continue;
    const { microseconds, low, high } = workload.timeline;
    const { precision } = workload.target;
    isInHalf ||= isToHalf({ step, precision });
    const measured = isMeasured(workload.timeline.steps) ? ({ measured: true } as const) : {};
    const saves = change === undefined || last === undefined ? null : subtracted(change, last, workload);
    steps.push({
      step,
      microseconds,
      low,
      high,
      saves,
      precision,
      ...measured,
      ...asFile(said),
      ...(casts !== undefined && isInHalf ? { castsIn: casts } : {}),
      ...codesOf(step, workload),
    });
    last = workload;
  }
  return steps;
}

/** With what later steps rest on there. */
export function withHalfNeeded(account: readonly AccountStep[]): AccountStep[] {
  const half = unreachedHalf(account);
  if (half === undefined) return [...account];
  const isLater = ({ step }: AccountStep) => step === "layout" || step === "author";
  return account.map((step) => (isLater(step) ? { ...step, restsOn: half } : step));
}

function castsIn(states: readonly AccountState[]): string | undefined {
  const half = states.find(({ step, workload }) => isToHalf({ step, precision: workload.target.precision }));
  const isKnown = states.some(({ step }) => step === "kept");
  if (half === undefined || half.unwritten === true || isKnown) return undefined;
  const isInLayout = states.some(({ step, setting }) => step === "layout" && setting === undefined);
  const changed = isInLayout ? "layout-in-half" : "precision";
  const [, ...flags] = fixFlags("unsafe", changed, halfOf(half.workload.target.precision));
  return ["--diff", ...flags].join(" ");
}

function codesOf(step: AccountStepName, { products, target }: Workload): Pick<AccountStep, "quantized"> {
  const isAsked = step === "precision" && target.precision === "int8";
  const quantized = isAsked ? quantizedIn(products, target) : undefined;
  return quantized === undefined || quantized === "all" ? {} : { quantized };
}

/** What is said of it beside the workload. */
function asFile({
  written,
  needsHalf,
  alone,
  command,
  unsure,
  unwritten,
  setting,
  first,
}: Omit<AccountState, "step" | "workload">) {
  return {
    ...(written === undefined ? {} : { written }),
    ...(needsHalf === undefined ? {} : { needsHalf }),
    ...(alone === undefined ? {} : { alone }),
    ...(command === undefined ? {} : { command }),
    ...(unsure === undefined ? {} : { unsure }),
    ...(unwritten === undefined ? {} : { unwritten }),
    ...(setting === undefined ? {} : { setting }),
    ...(first === undefined ? {} : { first }),
  };
}

/** What a step between the two states saves: prose about it says what its row does. */
export function savingBetween(before: Workload, after: Workload, cost: CostModel): Saving {
  return subtracted(differenceBetween(before, after, cost), before, after);
}

/** Microseconds that are left of changes which cancel each other. */
const rounding = 1e-9;

/**
 * What subtracting one step's interval from the other's leaves room for, and no more than the kernels that change take, less what is left of them at the
 * least: widths of changes add up apart from those of totals, of which either may be measured. Which findings are claimed is decided by the changes
 * alone.
 */
function subtracted(change: WorkloadChange, { timeline: before }: Workload, left: Workload): Saving {
  const { microseconds, low, high } = change.saves;
  const { timeline: after } = left;
  const least = before.low - after.high;
  const most = Math.min(before.high - after.low, mostSavedBy(change, left));
  return {
    microseconds: Math.abs(microseconds) < rounding ? 0 : microseconds,
    low: Math.min(microseconds, Math.max(low, least)),
    high: Math.max(microseconds, Math.min(high, most)),
  };
}
