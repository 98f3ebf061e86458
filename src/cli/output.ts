/** @file Where reports go beside stdout: a file that is whole or not there. */
import {
  appendFileSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { InputError } from "../ir/errors.ts";
import { removeLeftovers, temporaryName } from "../onnx/temporary.ts";

/** Replaces a file in one step: a temporary neighbour, then a rename. Folders are made. Throws InputError. */
export function writeReportFile(path: string, text: string | Uint8Array): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const existing = statSync(path, { throwIfNoEntry: false });
    // A pipe or a device (/dev/stderr) is written to, not replaced.
    if (existing?.isFile()) refuseToReplace(path, existing);
    if (existing !== undefined && !existing.isFile()) writeFileSync(path, text);
    else replaceFile(existing === undefined ? path : realpathSync(path), text);
  } catch (error) {
    throw error instanceof InputError ? error : unwritable(path, error);
  }
}

/** `-o model.onnx` is a slip that would cost the model. */
function refuseToReplace(path: string, { mode }: Stats): void {
  const refuse = (what: string) =>
    new InputError("bad-destination", `${path}: ${what}; the report goes elsewhere`);
  if (/\.onnx$/i.test(path)) throw refuse("is there, and is named like a model");
  if ((mode & writable) === 0) throw refuse("is read-only");
}

const writable = 0o222;

/** On the disk before it has the name: no loss of power leaves a report without its end. */
function replaceFile(path: string, text: string | Uint8Array): void {
  const [folder, name] = [dirname(path), basename(path)];
  removeLeftovers(folder, name);
  const temporary = join(folder, temporaryName(name));
  try {
    writeFileSync(temporary, text, { flag: "wx", flush: true });
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
