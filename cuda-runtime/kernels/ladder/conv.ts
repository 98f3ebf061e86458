/** @file Launches of the ladder's convolutions. The family is built on demand (docs/adr/0027-ladders.md). */
import { maxOf } from "../../../src/ir/lists.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import { writeParams } from "../../ir/param-table.ts";
import { isPacked, type View } from "../../ir/view.ts";
import { ladderConvStruct } from "./params.table.ts";

/** Channels first, packed, FP16: [N, C, H, W], [K, C, 3, 3], [N, K, H, W]; padded by one pixel. */
export interface LadderConv {
  readonly x: View;
  readonly w: View;
  readonly y: View;
}

/** Filters of a thread, by entry. */
const filtersPerThread = { direct: 1, shared: 1, outputs: 8 } as const;
export type LadderConvRung = keyof typeof filtersPerThread;

const threads = 256;
/** Of a block's square of outputs, and channels that it stages at a time. */
const side = 16;
const stagedChannels = 8;

/** Throws OperandError for sizes that the rung does not take. */
export function emitLadderConv(emitter: Emitter, { x, w, y }: LadderConv, rung: LadderConvRung): void {
  const [batch = 0, channels = 0, height = 0, width = 0] = x.shape;
  const [filters = 0] = w.shape;
  check({ x, w, y }, [batch, filters, height, width]);
  const perThread = filtersPerThread[rung];
  if (rung !== "direct" && channels % stagedChannels !== 0)
    throw new OperandError(`${channels} channels, no multiple of ${stagedChannels}`);
  if (filters % perThread !== 0) throw new OperandError(`${filters} filters, no multiple of ${perThread}`);
  const tiles =
    rung === "direct"
      ? Math.ceil((height * width) / threads)
      : Math.ceil(height / side) * Math.ceil(width / side);
  emitter.launch({
    kernel: { kind: "built", family: "ladder", entry: `ladder_conv_${rung}` },
    grid: [tiles, filters / perThread, batch],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(ladderConvStruct, { x, w, y, channels, filters, height, width }),
    reads: [x, w],
    writes: [y],
    flops: 2 * batch * filters * height * width * channels * 9,
  });
}

function check({ x, w, y }: LadderConv, output: readonly number[]): void {
  const [, channels = 0] = x.shape;
  const filterShape = [output[1] ?? 0, channels, 3, 3];
  const isRight = [x, w, y].every((view) => view.type === "float16" && isPacked(view));
  if (!isRight) throw new OperandError("a ladder's convolution of other than packed halves");
  if (String(w.shape) !== String(filterShape) || String(y.shape) !== String(output))
    throw new OperandError(`a ladder's convolution of [${x.shape}] by [${w.shape}] to [${y.shape}]`);
  if (maxOf(output) > 65_535) throw new OperandError("a grid of more than 65,535 blocks along an axis");
}
