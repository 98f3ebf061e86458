/** @file Whether a file is there: told apart from a disk that does not say. */
import { statSync } from "node:fs";
import { InputError } from "../ir/errors.ts";
import { toDisplayPath } from "../settings/paths.ts";

/** `hidden`: nobody may look, or its links go in a circle. */
export type Look = "there" | "absent" | "hidden";

const looks: Readonly<Record<string, Look>> = {
  ENOTDIR: "absent",
  ENAMETOOLONG: "absent",
  EACCES: "hidden",
  EPERM: "hidden",
  ELOOP: "hidden",
};

/** Follows links. Throws InputError `unreadable` where the system fails: what is there must not count as absent. */
export function look(path: string): Look {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined ? "absent" : "there";
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const seen = looks[reason];
    if (seen !== undefined) return seen;
    const what = `cannot be looked at (${reason})`;
    throw new InputError("unreadable", `${toDisplayPath(path)}: ${what}`, { cause: error });
  }
}
