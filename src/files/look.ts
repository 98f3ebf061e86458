/** @file Whether a file is there: told apart from a disk that does not say. */
import { type Stats, statSync } from "node:fs";
import { InputError } from "../ir/errors.ts";
import { toDisplayPath } from "../settings/paths.ts";

/** `hidden`: nobody may look, or its links go in a circle. */
export type Look = "there" | "absent" | "hidden";

const looks: Readonly<Record<string, Exclude<Look, "there">>> = {
  ENOTDIR: "absent",
  ENAMETOOLONG: "absent",
  EACCES: "hidden",
  EPERM: "hidden",
  ELOOP: "hidden",
};

/** Follows links. Throws InputError `unreadable` where the system fails: what is there must not count as absent. */
export function look(path: string): Look {
  const seen = statOf(path);
  return typeof seen === "string" ? seen : "there";
}

/**
 * What is there, in one call: two could see two files.
 *
 * @param shown The path, as whoever reads of a failure knows it.
 */
export function statOf(path: string, shown = toDisplayPath(path)): Stats | Exclude<Look, "there"> {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? "absent";
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const seen = looks[reason];
    if (seen !== undefined) return seen;
    throw new InputError("unreadable", `${shown}: cannot be looked at (${reason})`, { cause: error });
  }
}
