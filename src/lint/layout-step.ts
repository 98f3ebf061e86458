/** @file The step of another layout: what it saves, and whose part of it is how large. */
import type { Saving } from "../cost/model.ts";
import type { LayoutSetting } from "../hardware/stacks.ts";
import type { WorkloadChange } from "../workload/change.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import type { DecidedLayout, LayoutWay } from "./decision.ts";

/** Of what convolutions gain, what is left of it behind those that are slower: 0 to 1. */
function netOfConvolutions(steps: WorkloadChange["steps"]): number {
  let [gained, lost] = [0, 0];
  for (const { after, saves } of steps) {
    if (after?.work.kind !== "conv") continue;
    gained += Math.max(0, saves.microseconds);
    lost += Math.max(0, -saves.microseconds);
  }
  return gained > lost ? 1 - lost / gained : 0;
}

/** What the layout step saves, and whose part of it is how large. */
export class LayoutStep {
  readonly after: Workload;
  readonly change: WorkloadChange;
  readonly regions: DecidedLayout["regions"];
  readonly needsHalf: true | undefined;
  readonly setting: LayoutSetting | undefined;
  readonly #isPaid: boolean;
  readonly #wayTo: () => LayoutWay;
  #way: LayoutWay | undefined;
  /** Microseconds of convolutions that are faster, less what others are slower, and of kernels that are gone: what the rest of the step is borne by. */
  readonly #gains = new Map<Step, number>();
  readonly #after = new Map<Step, number>();
  #whole = 0;
  #ofConvolutions = 0;

  constructor(decided: DecidedLayout, wayTo: () => LayoutWay) {
    const { after, change, regions, declined, shares = change } = decided;
    this.#wayTo = wayTo;
    this.needsHalf = decided.needsHalf;
    this.setting = decided.setting;
    this.after = after;
    this.change = change;
    this.regions = regions;
    this.#isPaid = declined === undefined;
    const net = netOfConvolutions(shares.steps);
    for (const { before, after: turned, saves } of shares.steps) {
      if (before === undefined) continue;
      this.#after.set(before, turned?.microseconds ?? 0);
      if (turned !== undefined && turned.work.kind !== "conv") continue;
      const gain = Math.max(0, saves.microseconds) * (turned === undefined ? 1 : net);
      this.#gains.set(before, gain);
      this.#whole += gain;
      if (turned !== undefined) this.#ofConvolutions += gain;
    }
  }

  /** Whether it saves enough, beyond doubt, and a command writes it that does, or a setting makes it. */
  get isTaken(): boolean {
    return this.#isPaid && (this.setting !== undefined || this.way.changed !== null);
  }

  get way(): LayoutWay {
    this.#way ??= this.#wayTo();
    return this.#way;
  }

  /** Microseconds that these kernels gain by themselves. */
  gainOf(steps: Iterable<Step>): number {
    let gain = 0;
    for (const step of steps) gain += this.#gains.get(step) ?? 0;
    return gain;
  }

  /**
   * Of what the whole step saves, borders included; undefined where these kernels gain nothing. `others`: microseconds that all kernels gain that are told of beside
   * convolutions; where those gain nothing, no part is theirs.
   */
  partOf(steps: Iterable<Step>, others: number): Saving | undefined {
    const gain = this.gainOf(steps);
    if (gain <= 0) return undefined;
    const { microseconds, low, high } = this.change.saves;
    const whole = this.#ofConvolutions > 0 ? this.#whole : Math.max(others, microseconds);
    const part = gain / whole;
    return { microseconds: microseconds * part, low: low * part, high: high * part };
  }

  /** What a kernel takes behind the step. */
  timeOf(step: Step): number {
    return this.#after.get(step) ?? step.microseconds;
  }
}
