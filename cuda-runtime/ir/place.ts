/** @file Where a step of a run stands among others. */

/** Where a step stands. */
export interface Place {
  readonly lane: number;
  /** The step in front of it in its lane. */
  readonly front: number | undefined;
  /** Steps of other lanes that it waits for. */
  readonly waits: readonly number[];
}
