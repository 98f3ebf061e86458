/** @file Whether a file that is about to be made is there already. */
import { lstatSync } from "node:fs";
import { InputError } from "../ir/errors.ts";
import { hashOfFile } from "./source-state.ts";

/** Whether the file is there already, from an earlier run. Throws InputError where something else has its name. */
export function isSameFile(
  path: string,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
): boolean {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing === undefined) return false;
  if (existing.isFile() && existing.size === bytes && hashOfFile(path) === sha256) return true;
  throw new InputError(
    "name-taken",
    `${path}: exists and holds something else; move it, or write the result to another folder`,
  );
}
