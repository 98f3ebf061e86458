/** @file A model that takes more samples at once than another does. */

/** What one run of it is: runs of the other, each on `size` samples, stacked. */
export interface Stacked {
  /** Samples of one run of the other. */
  readonly size: number;
  /** Inputs that hold samples, along their first axis; all others are the same in each run. */
  readonly inputs: readonly string[];
  /** The axis of samples of each output that has one. */
  readonly outputs: ReadonlyMap<string, number>;
}
