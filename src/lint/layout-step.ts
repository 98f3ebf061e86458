/** @file The step of another layout: what it saves, and whose part of it is how large. */
import type { Saving } from "../cost/model.ts";
import type { LayoutSetting } from "../hardware/stacks.ts";
import type { WorkloadChange } from "../workload/change.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import type { DecidedLayout, LayoutWay } from "./decision.ts";

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
  /** Microseconds of convolutions that are faster and of kernels that are gone: what the rest of the step is borne by. */
  readonly #gains = new Map<Step, number>();
  readonly #after = new Map<Step, number>();
  #whole = 0;

  constructor(decided: DecidedLayout, wayTo: () => LayoutWay) {
    const { after, change, regions, declined, shares = change } = decided;
    this.#wayTo = wayTo;
    this.needsHalf = decided.needsHalf;
    this.setting = decided.setting;
    this.after = after;
    this.change = change;
    this.regions = regions;
    this.#isPaid = declined === undefined;
    for (const { before, after: turned, saves } of shares.steps) {
      if (before === undefined) continue;
      this.#after.set(before, turned?.microseconds ?? 0);
      if (turned !== undefined && turned.work.kind !== "conv") continue;
      const gain = Math.max(0, saves.microseconds);
      this.#gains.set(before, gain);
      this.#whole += gain;
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

  /** Of what the whole step saves, borders included; undefined where these kernels gain nothing. */
  partOf(steps: Iterable<Step>): Saving | undefined {
    const gain = this.gainOf(steps);
    if (gain <= 0) return undefined;
    const part = gain / this.#whole;
    const { microseconds, low, high } = this.change.saves;
    return { microseconds: microseconds * part, low: low * part, high: high * part };
  }

  /** What a kernel takes behind the step. */
  timeOf(step: Step): number {
    return this.#after.get(step) ?? step.microseconds;
  }
}
