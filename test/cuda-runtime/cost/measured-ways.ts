/** @file Ways that were timed on a GPU: rows of bench/measurements, and what one of them took. */
import { readFileSync } from "node:fs";

/** A row a line. */
export function measuredRows<Row>(name: string): Row[] {
  const file = new URL(`../../../bench/measurements/${name}`, import.meta.url);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

/** Microseconds with operands from DRAM, and from L2. */
export interface TimedWay {
  readonly us: number;
  readonly warm: number;
}

/** Between operands from DRAM and from L2: in a run some come from either. */
export function microsecondsOf({ us, warm }: TimedWay): number {
  return (us + warm) / 2;
}

/** Of errors, or of losses. */
export function meanOf(off: readonly number[]): number {
  return off.reduce((sum, each) => sum + each, 0) / off.length;
}
