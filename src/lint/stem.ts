/** @file First layers of image and audio networks: one or three channels, and the padding that pays there. */
import type { ConvWork } from "../ops/work.ts";

/** Four halves are 8 bytes: enough for the loads of a first layer; eight would double its work (measured on an H200). */
export const stemPadding = 4;

/** Grey or colour: too few channels for the multiple of any format. Whether it is a first layer the graph tells. */
export function isNarrowStem({ channels, groups, transposed }: ConvWork<number>): boolean {
  return groups === 1 && !transposed && (channels === 1 || channels === 3);
}
