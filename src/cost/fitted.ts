/** @file Which fit serves a target: its own, that of a GPU of the same generation, or the terms with datasheet rates. */
import { findGpu } from "../hardware/gpus.ts";
import type { Target } from "../hardware/target.ts";
import type { Calibration, Range, Residual } from "./calibration.ts";
import type { ChangeModel } from "./change.ts";
import { h200Calibration } from "./coefficients/h200-cudnn.ts";
import { Forest, type PackedForest } from "./forest.ts";
import { isUnmeasured } from "./precision.ts";
import type { Family, Sketch } from "./sketch.ts";
import type { Coefficients } from "./terms.ts";

/** How near the fit is to the target. Another stack's fit is near where whole files were compared with what it predicts; else its cliffs and its width are that stack's. */
export type Kinship = "measured" | "same-generation" | "datasheet";

/** Intervals widen where the fit comes from elsewhere: multiples of the logarithm. */
export const sameGenerationWidening = 1.6;
const widening: Readonly<Record<Kinship, number>> = {
  measured: 1,
  "same-generation": sameGenerationWidening,
  datasheet: 1.6,
};

type Sketched = Pick<Sketch, "family" | "format" | "range">;

/** Factors on the terms of what was measured on no machine: products in FP64. */
const unmeasured: Range = { low: 1 / 2, high: 3 };

/** A family's residual, decoded. */
export interface FamilyResidual {
  readonly mean: Forest;
  readonly spread: Forest;
  readonly range: Range;
  readonly shared: number;
  readonly savingScale: number;
  readonly change: ChangeModel | undefined;
}

export class Fitted {
  readonly kinship: Kinship;
  readonly coefficients: Coefficients;
  /** By preference: whose coefficients stand for the machine, and those of them whose errors are this stack's, too. */
  readonly #calibrations: readonly Calibration[];
  readonly #near: readonly Calibration[];
  readonly #residuals = new Map<Family, FamilyResidual | undefined>();

  /** `calibrations` by preference; the committed one comes last. */
  constructor(target: Target, calibrations: readonly Calibration[]) {
    const { isOwn, used } = usedOf(calibrations, target);
    this.#calibrations = used;
    this.#near = used.filter(({ stack }) => serves(stack, target));
    this.kinship = isOwn ? "measured" : this.#near.length > 0 ? "same-generation" : "datasheet";
    this.coefficients = this.#calibrations
      .toReversed()
      .reduce<Coefficients>(
        (known, { coefficients }) => merged(known, coefficients),
        h200Calibration.coefficients,
      );
  }

  /** Undefined where the analytic terms stand alone. Decoded at first use: a lint of a CNN reads one table. */
  residual({ family, format, range }: Sketched): FamilyResidual | undefined {
    if (format === "fp64" || range !== undefined) return undefined;
    if (!this.#residuals.has(family)) {
      const packed = this.#sourceOf(family)?.residuals?.[family];
      this.#residuals.set(family, packed && decoded(packed));
    }
    return this.#residuals.get(family);
  }

  /** Factors on an estimate of the terms alone. */
  analyticRange({ family, format, range }: Sketched): Range {
    // What data decides is as wide on any GPU.
    if (range !== undefined)
      return { low: range.low ** (1 / this.widening), high: range.high ** (1 / this.widening) };
    if (format === "fp64") return unmeasured;
    return this.#sourceOf(family)?.analytic?.[family] ?? h200Calibration.analytic[family];
  }

  get widening(): number {
    return widening[this.kinship];
  }

  /** As wide on any GPU where no GPU was measured in the number format. */
  wideningOf({ range, format }: Sketched): number {
    const isOwn = range !== undefined || format === "fp64";
    return isOwn || !isUnmeasured(format) ? this.widening : widening.datasheet;
  }

  /** Coefficients and residual go together: the first that says anything of the family. */
  #sourceOf(family: Family): Calibration | undefined {
    return this.#near.find(({ coefficients }) => coefficients[family] !== undefined);
  }
}

/** Whether what a fit to the kernels of `stack` leaves over says anything of the target's. */
function serves(stack: string, { stack: { kernels, comparedIn } }: Target): boolean {
  return stack === kernels || comparedIn !== null;
}

/** Those that were measured on the target itself; where none was, those of its generation. With what is committed. */
function usedOf(calibrations: readonly Calibration[], target: Target) {
  const all = [...calibrations, h200Calibration];
  const own = all.filter(({ gpu, stack }) => gpu === target.gpu.id && stack === target.stack.kernels);
  if (own.length > 0) return { isOwn: true, used: own };
  const kin = all.filter(({ gpu }) => findGpu(gpu)?.computeCapability === target.gpu.computeCapability);
  return { isOwn: false, used: kin };
}

/** Whether a target's times come from it in any part. */
export function isUsedFor(calibration: Calibration, target: Target): boolean {
  return usedOf([calibration], target).used.includes(calibration);
}

/** `over` where it has a number, else `base`. */
function merged<T extends object>(base: T, over: object): T {
  if (over === base) return base;
  const before: ReadonlyMap<string, unknown> = new Map(Object.entries(base));
  const layers = Object.entries(over).map(([name, value]: [string, unknown]) => {
    const known = before.get(name);
    const nested = isRecord(known) && isRecord(value);
    return [name, nested ? merged(known, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(layers) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function decoded({ mean, spread, change, ...rest }: Residual): FamilyResidual {
  return {
    mean: forestOf(mean),
    spread: forestOf(spread),
    change: change && { spread: forestOf(change.spread), ranges: change.ranges },
    ...rest,
  };
}

/** Targets that one fit serves share its tables. */
const forests = new WeakMap<PackedForest, Forest>();

function forestOf(packed: PackedForest): Forest {
  const known = forests.get(packed) ?? new Forest(packed);
  forests.set(packed, known);
  return known;
}
