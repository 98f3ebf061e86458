/** @file Refuses what no runtime loads. */
import { InputError } from "../ir/errors.ts";
import { FileSource } from "../wire/file-source.ts";
import { oversize } from "./size-limit.ts";

/** Throws InputError `too-large` before anything is read of it. */
export function checkLoadable(path: string, doing: string): void {
  const file = FileSource.open(path);
  try {
    const reason = oversize(file.size);
    if (reason !== undefined) throw new InputError("too-large", `${path}: ${reason}; so it is not ${doing}`);
  } finally {
    file.close();
  }
}
