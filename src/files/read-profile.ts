/** @file Files of `--profile`: JSON that another tool wrote, within bounds. */
import { InputError } from "../ir/errors.ts";
import { JsonError, parseJson } from "../settings/json.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";

/** Some thousand runs of a large model. */
const maxBytes = 256 << 20;

export interface ReadProfile {
  readonly path: string;
  readonly value: unknown;
}

/** Throws InputError `bad-profile`. */
export function readProfile(path: string): ReadProfile {
  const fail = (what: string, cause?: unknown) =>
    new InputError("bad-profile", `${path}: ${what}`, { cause });
  try {
    const bytes = readSmallFile(path, maxBytes);
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw fail("is compressed: expected JSON (gunzip it first)");
    return { path, value: parseJson(bytes.toString("utf8")) };
  } catch (error) {
    if (error instanceof WireError) throw new InputError("bad-profile", error.message, { cause: error });
    if (!(error instanceof JsonError)) throw error;
    throw fail(error.message, error);
  }
}
