/** @file V8's limit of memory, as the main thread meets it. */
import { getHeapStatistics } from "node:v8";

/** V8 collects ever more often on the last stretch, and then ends the process. */
const heapShare = 0.8;
/** Of V8's limit, its young generation's: three semi-spaces of 16 MiB. */
const youngBytes = 48 * 2 ** 20;

/** Resident bytes beyond which the main thread's JavaScript may soon have no room: V8's limit cannot be raised at run time. */
export function heapBound(): number {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  return process.memoryUsage.rss() + heapShare * Math.max(limit - youngBytes - used, 0);
}

const liveShare = 0.9;
/** What may come to be before the main thread can be asked how much it holds: tables that double, lists that are joined. */
const hurriedBytes = 48 * 2 ** 20;

/** What V8 has for objects that last, as `--max-old-space-size` names it. */
export function oldSpaceBytes(): number {
  return Math.max(getHeapStatistics().heap_size_limit - youngBytes, 0);
}

/** Bytes of live objects beyond which V8 may soon end the process. */
export function liveBound(): number {
  const limit = oldSpaceBytes();
  return Math.max(Math.min(liveShare * limit, limit - hurriedBytes), 0);
}

/** Whether the user set V8's limit, which then holds in every thread. */
export function isHeapLimitGiven(): boolean {
  const flags = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  return /--max[-_]old[-_]space[-_]size/.test(flags);
}
