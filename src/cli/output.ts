/** @file Where reports go beside stdout: a file that is whole or not there. */
import {
  appendFileSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { InputError } from "../ir/errors.ts";

/** Replaces a file in one step: a temporary neighbour, then a rename. Folders are made. Throws InputError. */
export function writeReportFile(path: string, text: string | Uint8Array): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const existing = statSync(path, { throwIfNoEntry: false });
    // A pipe or a device (/dev/stderr) is written to, not replaced.
    if (existing !== undefined && !existing.isFile()) writeFileSync(path, text);
    else replaceFile(existing === undefined ? path : realpathSync(path), text);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function replaceFile(path: string, text: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text, { flag: "wx" });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** GitHub's step summary is shared by the steps' tools: each adds to it. */
export function appendReportFile(path: string, text: string): void {
  try {
    appendFileSync(path, text);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): InputError {
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return new InputError("unwritable", `${path}: the report cannot be written (${reason})`, { cause: error });
}
