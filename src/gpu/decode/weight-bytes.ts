/** @file How many bytes of weights a run of a plan reads: what bounds a step that computes one token. */
import { type Plan, touched } from "../../../cuda-runtime/ir/step.ts";
import type { DeviceBuffer } from "../../../cuda-runtime/ir/view.ts";

/** Every buffer once, however many steps read it. Of a table that is looked up, the rows that are asked for. */
export function weightBytesOf({ steps }: Plan): number {
  const whole = new Set<DeviceBuffer>();
  let rows = 0;
  for (const { action } of steps) {
    const constants = touched(action)[0].filter(({ buffer }) => buffer.kind === "constant");
    const moved = action.kind === "launch" ? action.launch.movedBytes : undefined;
    if (moved === undefined) for (const { buffer } of constants) whole.add(buffer);
    // What is read beside the table's rows is not told apart: both are few bytes.
    else if (constants.length > 0) rows += moved;
  }
  return [...whole].reduce((total, { bytes }) => total + bytes, rows);
}
