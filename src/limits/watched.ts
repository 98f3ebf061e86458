/** @file What guard.ts and its thread, memory-watch.ts, both see; apart from the thread's script, which runs where it is loaded. */

/** Of the first word of what both threads see. */
export const watchStates = { idle: 0, watching: 1, exceeded: 2, signalled: 3 } as const;

/** Places in `WatchData.bytes`. */
export const watchBytes = { resident: 0, heap: 1, passed: 2 } as const;

export interface WatchData {
  /** One of `watchStates`. */
  readonly state: Int32Array;
  /** By `watchBytes`: limits of the process's resident memory and of the main thread's live objects, and which was passed. */
  readonly bytes: Float64Array;
}
