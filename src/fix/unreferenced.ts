/** @file What lies beside a model that was repaired in place, and is nothing of it any more. */
import { dirname, join } from "node:path";
import type { Model } from "../ir/model.ts";
import { externalRanges } from "../onnx/weights.ts";

export interface UnreferencedFile {
  readonly path: string;
  /** That tensors of the original are in, and none of the result. */
  readonly bytes: number;
  /** Whether nothing in the result refers to the file at all: others may. */
  readonly isWhole: boolean;
}

/** By files of the original's external data; what both refer to in part counts by its beginning. */
export function unreferencedBy(original: Model, result: Model): UnreferencedFile[] {
  const now = externalRanges(result);
  return [...externalRanges(original)].flatMap(([location, ranges]) => {
    const kept = now.get(location);
    let bytes = 0;
    for (const [offset, length] of ranges) if (kept?.has(offset) !== true) bytes += length;
    const path = join(dirname(original.path), location);
    return bytes === 0 ? [] : [{ path, bytes, isWhole: kept === undefined }];
  });
}
