/** @file What a calibration file holds. */

export interface Calibration {
  readonly gpu: string;
  readonly stack: string;
}
