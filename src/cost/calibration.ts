/**
 * @file What was fitted on one machine: coefficients, residuals, and how far off they are.
 *
 * The committed fit and a user's `--calibration FILE` have the same form (schemas/calibration.schema.json).
 */
import type { ChangeKind, ChangeRange } from "./change.ts";
import type { PackedForest } from "./forest.ts";
import type { Family } from "./sketch.ts";
import type { Coefficients } from "./terms.ts";

/** Factors on a prediction, or multiples of a spread, that enclose nine measurements of ten. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Residual {
  /** ln(measured / analytic), from a sketch's features. */
  readonly mean: PackedForest;
  /** ln of the size of what is left over. */
  readonly spread: PackedForest;
  /** Multiples of the spread that enclose ln(measured / predicted). */
  readonly range: Range;
  /** How much of their error a layer and its changed self share: 0 to 1. */
  readonly shared: number;
  /** On the interval of a saving, so that it covers nine of ten. */
  readonly savingScale: number;
  /** Instead of the two above, for the kinds of change that were measured. */
  readonly change?: ChangeResidual | undefined;
}

export interface ChangeResidual {
  /** ln of the size of the error of ln(after / before), from the features of both. */
  readonly spread: PackedForest;
  /** Multiples of it that enclose nine of ten. */
  readonly ranges: Readonly<Partial<Record<ChangeKind, ChangeRange>>>;
}

/** Every number of a record may be left out. */
type Sparse<T> = { readonly [Key in keyof T]?: T[Key] extends number ? number : Sparse<T[Key]> };

export interface Calibration {
  readonly schema: 1;
  /** Ids of the rows this was measured on. */
  readonly gpu: string;
  readonly stack: string;
  /** What was measured, with which versions, when. */
  readonly source: string;
  /** What is left out keeps the committed value. */
  readonly coefficients: Sparse<Coefficients>;
  /** Factors that enclose measured / analytic, where there is no residual. */
  readonly analytic?: Readonly<Partial<Record<Family, Range>>>;
  /** Only beside coefficients of the same family: a residual is what those left over. */
  readonly residuals?: Readonly<Partial<Record<Family, Residual>>>;
}

/** The committed fit is whole. */
export interface CommittedCalibration extends Calibration {
  readonly coefficients: Coefficients;
  readonly analytic: Readonly<Record<Family, Range>>;
  readonly residuals: Readonly<Record<Family, Residual>>;
}
