/** @file Reasons that differ in the nodes that they name alone: one reason, at several places. */
import { counted } from "./format.ts";

/** What such reasons have in common. */
export function withoutNames(reason: string): string {
  return reason.replaceAll(/"[^"]*"/g, '""');
}

/** `Shape "a" reads its size; the same at 2 other nodes`, of reasons that are alike. */
export function alikeText(reasons: Iterable<string>): string {
  const [first = "", ...others] = new Set(reasons);
  return others.length === 0 ? first : `${first}; the same at ${counted(others.length, "other node")}`;
}
