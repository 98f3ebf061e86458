/** @file Chrome trace events, as ONNX Runtime and PyTorch write them. */
import { badProfile, type Fields, isRecord, timeIn } from "./profile.ts";

export interface Event {
  readonly cat: string;
  readonly name: string;
  /** Where it runs: process and thread. */
  readonly thread: string;
  /** Microseconds. */
  readonly ts: number;
  /** The same; asked of what counts, because markers have none. Throws InputError. */
  readonly dur: () => number;
  readonly args: Fields;
}

/** More than a trace of minutes has. */
const mostEvents = 4_000_000;

/** Those of an array that are events; what is none is another tool's business. Throws InputError where there are too many. */
export function eventsOf(value: unknown, path = ""): Event[] {
  if (!Array.isArray(value)) return [];
  if (value.length > mostEvents)
    throw badProfile(path, `has ${value.length} events, expected at most ${mostEvents}: profile fewer runs`);
  return value.flatMap((each) => {
    if (!isRecord(each)) return [];
    const { cat, name, ts, pid, tid, args } = each;
    if (typeof cat !== "string" || typeof name !== "string" || typeof ts !== "number") return [];
    const dur = () => timeIn(each, "dur", path);
    return [
      { cat, name, ts, thread: `${String(pid)} ${String(tid)}`, dur, args: isRecord(args) ? args : {} },
    ];
  });
}

/** Where the last item is that begins at a moment or before it, of items in the order of their beginnings; -1 where there is none. */
export function lastBefore<Item>(
  items: readonly Item[],
  startOf: (item: Item) => number,
  at: number,
): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && startOf(item) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
