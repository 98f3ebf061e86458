/** @file Launches of the ladder's resampling. */
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { isPacked, type View } from "../../ir/view.ts";
import { ladderResampleStruct } from "./params.table.ts";

/** Packed: [batch, source, features] and [batch, target, features] of BF16, [batch, source] and [batch, target] of float32. */
export interface LadderResample {
  readonly x: View;
  readonly y: View;
  readonly times: View;
  readonly targets: View;
}

/** Whether a warp has a row, and elements of an access. */
const forms = {
  element: { isRow: false, width: 1 },
  row: { isRow: true, width: 1 },
  vectors: { isRow: true, width: 8 },
  lanes: { isRow: true, width: 8 },
} as const;
export type LadderResampleRung = keyof typeof forms;

const threads = 256;
const rowsOfBlock = threads / 32;
const mostElements = 2 ** 31;

/** Between sorted source times, at least two. Throws OperandError for sizes that the rung does not take. */
export function emitLadderResample(
  emitter: Emitter,
  { x, y, times, targets }: LadderResample,
  rung: LadderResampleRung,
): void {
  const [batch = 0, source = 0, features = 0] = x.shape;
  const target = y.shape[1] ?? 0;
  const { isRow, width } = forms[rung];
  const isRight =
    [x, y].every((view) => view.type === "bfloat16" && isPacked(view)) &&
    [times, targets].every((view) => view.type === "float32" && isPacked(view));
  if (!isRight) throw new OperandError("a ladder's resampling of other than packed BF16 and float32 times");
  if (source < 2) throw new OperandError("fewer than two source rows");
  if (features % width !== 0) throw new OperandError(`${features} features, no multiple of ${width}`);
  const rows = batch * target;
  if (Math.max(rows, batch * source) * features >= mostElements)
    throw new OperandError("too many elements to count");
  const read = batch * Math.min(source, 2 * target) * features * bytesOfType(x.type);
  emitter.launch({
    kernel: { kind: "built", family: "ladder", entry: `ladder_resample_${rung}` },
    grid: [Math.ceil(isRow ? rows / rowsOfBlock : (rows * features) / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(ladderResampleStruct, { x, y, times, targets, rows, source, target, features }),
    reads: [x, times, targets],
    writes: [y],
    // Rows that nobody asks for are not read.
    movedBytes: read + rows * features * bytesOfType(y.type) + 4 * (batch * source + rows),
  });
}
