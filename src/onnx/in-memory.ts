/** @file A changed model as one buffer, for a runtime that loads it without a file; its external data stays where it is. */
import { dirname } from "node:path";
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";
import { joinSegments, type Segment, segmentsLength } from "../wire/splice.ts";
import { maxModelBytes } from "./size-limit.ts";

export interface ModelBytes {
  readonly bytes: Uint8Array;
  /** Where its external data is looked for. */
  readonly folder: string;
}

/** Throws InputError: `too-large` beyond 2 GiB, or what reading the original throws. */
export function modelInMemory(path: string, build: () => readonly Segment[]): ModelBytes {
  try {
    const segments = build();
    const length = segmentsLength(segments);
    if (length > maxModelBytes) {
      throw new InputError(
        "too-large",
        `${path}: has ${length} bytes beside its external data, at most 2 GiB can be run`,
      );
    }
    return { bytes: joinSegments(segments), folder: dirname(path) };
  } catch (error) {
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}
