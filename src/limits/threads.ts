/** @file Threads, where one is begun: Node reads six modules for node:worker_threads, 2 to 3 ms, and most lints are over before they need one. */
import type * as Threads from "node:worker_threads";

export function threads(): typeof Threads {
  return process.getBuiltinModule("node:worker_threads");
}
