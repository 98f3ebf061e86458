/** @file Shared memory that a launch asks for so that its blocks are spread over the multiprocessors (ADR 54). */
import { clusterShare } from "../../src/hardware/clusters.ts";
import type { Machine } from "../../src/hardware/machine.ts";
import type { Launch } from "../ir/step.ts";

/** Beyond so many blocks a multiprocessor, what crowds is a small part of a launch: two and four took the same over eight models. */
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
 * more than that takes: beside a block lie those of other launches that ask for less than the rest, but none that is spread the same way.
 * `staticBytes`: shared memory that the kernel has without asking.
 */
export function spreadBytes(
  { grid, sharedBytes, cluster }: Pick<Launch, "grid" | "sharedBytes" | "cluster">,
  staticBytes: number,
  room: Room,
): number {
  const blocks = grid[0] * grid[1] * grid[2];
  const together = cluster === undefined ? 1 : cluster[0] * cluster[1] * cluster[2];
  // Clusters that found no room would wait for a second wave.
  const each = Math.ceil(blocks / (room.multiprocessors * clusterShare(together)));
  if (!room.features.overlap || each < 1 || each > mostBlocksEach) return sharedBytes;
  const tooMuchForOneMore = Math.floor(room.sharedBytes / (each + 1)) - room.reservedSharedBytes + 1;
  const wanted = Math.ceil(tooMuchForOneMore / grainBytes) * grainBytes - staticBytes;
  return Math.max(sharedBytes, wanted);
}
