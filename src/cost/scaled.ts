/** @file A cost model whose times are a multiple of another's: predictions in the measure of a run that was measured. */
import type { Target } from "../hardware/target.ts";
import type { Work } from "../ops/work.ts";
import type { Kinship } from "./fitted.ts";
import type { CostModel, Detailed, Estimate, Run, Saving } from "./model.ts";
import type { WorkDetail } from "./terms.ts";

export class ScaledCostModel implements CostModel {
  readonly #cost: CostModel;
  readonly #factor: number;
  /** Equal works have one estimate still. */
  readonly #scaled = new WeakMap<Estimate, Estimate>();

  constructor(cost: CostModel, factor: number) {
    this.#cost = cost;
    this.#factor = factor;
  }

  kinship(target: Target): Kinship {
    return this.#cost.kinship(target);
  }

  estimate(work: Work<number>, target: Target, detail?: WorkDetail): Estimate {
    const own = this.#cost.estimate(work, target, detail);
    const scaled = this.#scaled.get(own) ?? scaledEstimate(own, this.#factor);
    this.#scaled.set(own, scaled);
    return scaled;
  }

  savingOf(
    before: readonly (Work<number> | Detailed)[],
    after: readonly (Work<number> | Detailed)[],
    target: Target,
  ): Saving {
    return scaledSaving(this.#cost.savingOf(before, after, target), this.#factor);
  }

  savingOfRuns(before: Run | undefined, after: Run | undefined): Saving {
    return scaledSaving(this.#cost.savingOfRuns(before, after), this.#factor);
  }
}

/** Low and high of an estimate are its prototype's: a copy by spreading alone has none. */
export function scaledEstimate(own: Estimate, factor: number): Estimate {
  const { microseconds, low, high, biasMicroseconds } = own;
  return {
    ...own,
    microseconds: microseconds * factor,
    low: low * factor,
    high: high * factor,
    biasMicroseconds: biasMicroseconds * factor,
  };
}

export function scaledSaving({ microseconds, low, high }: Saving, factor: number): Saving {
  return { microseconds: microseconds * factor, low: low * factor, high: high * factor };
}
