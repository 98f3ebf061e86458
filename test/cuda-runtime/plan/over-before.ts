import type { Place } from "../../../cuda-runtime/ir/place.ts";

/** By step, all that are over before it begins: by the edges between steps alone. */
export function overBefore(places: readonly Place[]): ReadonlySet<number>[] {
  const over: Set<number>[] = [];
  for (const { front, waits } of places) {
    const behind = front === undefined ? waits : [front, ...waits];
    over.push(new Set(behind.flatMap((step) => [step, ...(over[step] ?? [])])));
  }
  return over;
}
