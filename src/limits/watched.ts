/** @file What guard.ts and loading.ts see, and their threads, memory-watch.ts and load-watch.ts; apart from the threads' scripts, which run where they are loaded. */

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

/** Of the word that loading.ts and its thread both see. */
export const loadStates = { loading: 0, over: 1, stopped: 2 } as const;

export interface LoadWatchData {
  /** One of `loadStates`. */
  readonly state: Int32Array;
  readonly milliseconds: number;
}
