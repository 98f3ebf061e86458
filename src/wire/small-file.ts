/** @file Files that are read whole: configurations, calibrations, lists. */

import { WireError } from "./error.ts";
import { FileSource } from "./file-source.ts";
import { readRange } from "./source.ts";

const megabyte = 1 << 20;

/**
 * The bytes of a regular file; pipes and devices, which may never end, are refused before they are opened.
 * Throws WireError `too-large` beyond `limitBytes`, and what `FileSource.open` throws.
 */
export function readSmallFile(path: string, limitBytes = megabyte): Buffer {
  const file = FileSource.open(path);
  try {
    if (file.size > limitBytes) {
      throw new WireError("too-large", `${path}: has ${file.size} bytes, expected at most ${limitBytes}`);
    }
    return readRange(file, 0, file.size);
  } finally {
    file.close();
  }
}
