/** @file Where reports go beside stdout: a file that is whole or not there. */
import {
  appendFileSync,
  closeSync,
  openSync,
  readSync,
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
import { statOf } from "./look.ts";

/**
 * Before any work, whether a report could go there. Throws InputError `bad-destination`: where the folder is not there (a name
 * mistyped would make one), where a folder has the name, where it is a model's, what may not be written to, and where there is
 * something that no report ever was: weights, an archive. `inputs` are files of the run that a report must not replace.
 */
export function checkReportFile(path: string, inputs: readonly string[] = []): void {
  const refuse = (what: string) =>
    new InputError("bad-destination", `${path}: ${what}; the report goes elsewhere`);
  const folder = dirname(path);
  const parent = statOf(folder, `${path}: its folder "${folder}"`);
  if (parent === "absent") throw refuse(`its folder "${folder}" is not there: make it first`);
  if (parent !== "hidden" && !parent.isDirectory()) throw refuse(`"${folder}" is no folder`);
  if (/\.onnx$/i.test(path)) throw refuse("is named like a model");
  const existing = statOf(path, path);
  if (typeof existing === "string") return;
  if (existing.isDirectory()) throw refuse("is a folder");
  // A pipe or a device (/dev/stderr) is written to, not replaced.
  if (!existing.isFile()) return;
  const file = realpathSync(path);
  if (/\.onnx$/i.test(file)) throw refuse(`leads to "${file}", which is named like a model`);
  if ((existing.mode & writable) === 0) throw refuse("is read-only");
  if (inputs.some((input) => isSame(input, existing))) throw refuse("is read by this very command");
  // Inputs that a comparison failed on are saved as an archive, over an older one.
  if (!/\.npz$/i.test(path) && holdsBytes(file))
    throw refuse("is there, and holds data that no report is: weights, or an archive");
}

/** `checkReportFile` of each that is given. */
export function checkReportFiles(
  paths: readonly (string | undefined)[],
  inputs: readonly (string | undefined)[] = [],
): void {
  const read = inputs.flatMap((input) => input ?? []);
  for (const path of paths) if (path !== undefined) checkReportFile(path, read);
}

function isSame(input: string, { dev, ino }: Stats): boolean {
  const stats = statSync(input, { throwIfNoEntry: false });
  return stats !== undefined && stats.dev === dev && stats.ino === ino;
}

/** Enough of a file to tell text from bytes. */
const sampledBytes = 65_536;

/** Reports are text without control characters; weights, also of nothing but zeros, are not. */
function holdsBytes(file: string): boolean {
  const descriptor = openSync(file, "r");
  try {
    const sample = Buffer.alloc(sampledBytes);
    const length = readSync(descriptor, sample, 0, sampledBytes, 0);
    return sample.subarray(0, length).includes(0);
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file in one step: a temporary neighbour, then a rename. Throws InputError. */
export function writeReportFile(path: string, text: string | Uint8Array): void {
  try {
    checkReportFile(path);
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing !== undefined && !existing.isFile()) writeFileSync(path, text);
    else replaceFile(existing === undefined ? path : realpathSync(path), text);
  } catch (error) {
    throw error instanceof InputError ? error : unwritable(path, error);
  }
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
