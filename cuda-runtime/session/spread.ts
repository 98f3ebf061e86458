/** @file Shared memory that a launch asks for so that its blocks are spread over the multiprocessors (ADR 54). */
import type { Machine } from "../../src/hardware/machine.ts";
import type { Launch } from "../ir/step.ts";

/** A multiprocessor's share of blocks from which on it is filled anyway. */
const mostBlocksEach = 4;
/** Shared memory is handed out in pieces of so many bytes. */
const grainBytes = 128;

/** What decides how many blocks of a launch a multiprocessor takes. */
export type Room = Pick<Machine, "multiprocessors" | "sharedBytes" | "reservedSharedBytes"> & {
  readonly features: Pick<Machine["features"], "overlap">;
};

/**
 * Bytes of dynamic shared memory of a launch, at least its own: where launches overlap, blocks come in as soon as the launch before leaves room for them, all
 * of a small grid on the multiprocessors that it left first, while the others stay idle. With so much that a multiprocessor holds no more than its share, and no
 * more than that takes: the launch before may leave room beside its last blocks, as the next one's come in beside these.
 * `staticBytes`: shared memory that the kernel has without asking.
 */
export function spreadBytes(
  { grid, sharedBytes }: Pick<Launch, "grid" | "sharedBytes">,
  staticBytes: number,
  room: Room,
): number {
  const blocks = grid[0] * grid[1] * grid[2];
  const each = Math.ceil(blocks / room.multiprocessors);
  if (!room.features.overlap || each < 1 || each > mostBlocksEach) return sharedBytes;
  const tooMuchForOneMore = Math.floor(room.sharedBytes / (each + 1)) - room.reservedSharedBytes + 1;
  const wanted = Math.ceil(tooMuchForOneMore / grainBytes) * grainBytes - staticBytes;
  return Math.max(sharedBytes, wanted);
}
