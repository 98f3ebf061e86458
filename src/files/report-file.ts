/** @file Where reports go beside stdout: a file that is whole or not there. */
import {
  appendFileSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { Guard } from "../limits/guard.ts";
import { openModel } from "../onnx/open.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { isWrittenName, removeLeftovers, temporaryName } from "../onnx/temporary.ts";
import { presentWeights } from "../onnx/weights.ts";
import { suppressionsName } from "../settings/suppressions.ts";
import { statOf } from "./look.ts";

/** Files of a run that none of its reports may replace. */
export interface RunFiles {
  /** Read by it. */
  readonly inputs?: readonly (string | undefined)[];
  /** Where it writes models, with files beside them whose names say what is in them. */
  readonly destinations?: readonly string[];
  /** Models whose weights may lie beside them. */
  readonly models?: readonly string[];
  /** Whether an archive of inputs is written, which may take the place of an older one. */
  readonly isArchive?: boolean;
}

/**
 * Before any work, whether a report could go there. Throws InputError `bad-destination`: where the folder is not there (a name
 * mistyped would make one), where a folder has the name, where it is a model's, or of the run's own files, what may not be written
 * to, and where there is something that no report ever was: weights, an archive.
 */
export function checkReportFile(path: string, files: RunFiles = {}): void {
  const refuse = (what: string) => new InputError("bad-destination", `${path}: ${what}; ${elsewhere}`);
  const folder = dirname(path);
  const parent = statOf(folder, `${path}: its folder "${folder}"`);
  if (parent === "absent") throw refuse(`its folder "${folder}" is not there: make it first`);
  if (parent !== "hidden" && !parent.isDirectory()) throw refuse(`"${folder}" is no folder`);
  if (/\.onnx$/i.test(path)) throw refuse("is named like a model");
  const destination = files.destinations?.find((each) => isWrittenWith(each, path));
  if (destination !== undefined) throw refuse(`is named like what "${destination}" is written with`);
  const existing = statOf(path, path);
  if (typeof existing === "string") return;
  if (existing.isDirectory()) throw refuse("is a folder");
  if (existing.isBlockDevice()) throw refuse("is a disk");
  if (existing.isFIFO()) openPipe(path);
  // A pipe or a device (/dev/stderr) is written to, not replaced.
  if (!existing.isFile()) return;
  const file = realpathSync(path);
  if (/\.onnx$/i.test(file)) throw refuse(`leads to "${file}", which is named like a model`);
  if ((existing.mode & writable) === 0) throw refuse("is read-only");
  if (files.inputs?.some((input) => input !== undefined && isSame(input, existing)) === true)
    throw refuse("is read by this very command");
  const model = files.models?.find((each) => dataOf(each).some((data) => isSame(data, existing)));
  if (model !== undefined) throw refuse(`holds weights of "${model}"`);
  if (!(files.isArchive === true && /\.npz$/i.test(path)) && holdsBytes(file))
    throw refuse("is there, and holds data that no report is: weights, or an archive");
}

/** `checkReportFile` of each that is given; none may be named like a baseline either, whether or not this command reads it. */
export function checkReportFiles(paths: readonly (string | undefined)[], files: RunFiles = {}): void {
  for (const path of paths) {
    if (path === undefined) continue;
    if (basename(path) === suppressionsName)
      throw new InputError("bad-destination", `${path}: is named like a baseline; ${elsewhere}`);
    checkReportFile(path, files);
  }
}

const elsewhere = "the report goes elsewhere";

function isWrittenWith(destination: string, path: string): boolean {
  if (!isWrittenName(basename(destination), basename(path))) return false;
  const [here, there] = [statOf(dirname(destination)), statOf(dirname(path))];
  if (typeof here === "string" || typeof there === "string") return false;
  return here.dev === there.dev && here.ino === there.ino;
}

/** Asked only where a report would replace a file: opening a model takes time. */
function dataOf(path: string): string[] {
  try {
    return new Guard({ path, doing: "linting" }).runRepeatable(() => {
      using model = openModel(path);
      return presentWeights(model);
    });
  } catch (error) {
    // What is wrong with a model is said where it is worked on, and then nothing comes of it.
    if (inputErrorOf(error) === undefined) throw error;
    return [];
  }
}

function isSame(input: string, { dev, ino }: Stats): boolean {
  const stats = statOf(input);
  return typeof stats !== "string" && stats.dev === dev && stats.ino === ino;
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
  writePieces(path, [text], typeof text !== "string");
}

/** The same of a report that is more than a string holds. */
export function writeReportPieces(path: string, pieces: Iterable<string>): void {
  writePieces(path, pieces, false);
}

function writePieces(path: string, pieces: Iterable<string | Uint8Array>, isArchive: boolean): void {
  try {
    checkReportFile(path, { isArchive });
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing?.isFile() !== false)
      replaceFile(existing === undefined ? behindLinks(path) : realpathSync(path), pieces);
    else {
      const bytes = Buffer.concat([...pieces].map((piece) => Buffer.from(piece)));
      if (existing.isFIFO()) writePipe(path, bytes);
      else writeFileSync(path, bytes);
    }
  } catch (error) {
    throw error instanceof InputError ? error : unwritable(path, error);
  }
}

/** As many as Linux follows. */
const mostLinks = 40;

/** Where a file would be made that is not there: links to it stay. */
function behindLinks(path: string): string {
  let place = path;
  for (let links = 0; links < mostLinks; links++) {
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return place;
    place = resolve(dirname(place), readlinkSync(place));
  }
  throw new Error("more links than the system follows");
}

const writable = 0o222;

/** On the disk before it has the name: no loss of power leaves a report without its end. */
function replaceFile(path: string, pieces: Iterable<string | Uint8Array>): void {
  const [folder, name] = [dirname(path), basename(path)];
  removeLeftovers(folder, name);
  const temporary = join(folder, temporaryName(name));
  try {
    const descriptor = openSync(temporary, "wx");
    try {
      for (const piece of pieces) writeFileSync(descriptor, piece);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** GitHub's step summary is shared by the steps' tools: each adds to it. */
export function appendReportFile(path: string, text: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFIFO() === true) writePipe(path, Buffer.from(text));
    else appendFileSync(path, text);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Pipes that are written to at the end: whoever reads them would go away, were they closed before. */
const pipes = new Map<string, number>();

/** Throws InputError where nobody reads it: opening it, or writing to it, would wait for somebody for ever. */
function openPipe(path: string): number {
  try {
    const pipe = pipes.get(path) ?? openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    pipes.set(path, pipe);
    return pipe;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENXIO")) throw unwritable(path, error);
    const what = "is a pipe that nobody reads: begin its reader first, or name a file";
    throw new InputError("bad-destination", `${path}: ${what}`, { cause: error });
  }
}

const patienceMilliseconds = 60_000;
const pauseMilliseconds = 10;

/** Waits for a slow reader, but not for one that has stopped to read. */
function writePipe(path: string, bytes: Uint8Array): void {
  const pipe = openPipe(path);
  try {
    let [written, moved] = [0, performance.now()];
    while (written < bytes.length) {
      const more = writeSome(pipe, bytes.subarray(written));
      written += more;
      if (more > 0) moved = performance.now();
      else if (performance.now() - moved > patienceMilliseconds)
        throw new Error("its reader has stopped reading");
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
    }
  } finally {
    closeSync(pipe);
    pipes.delete(path);
  }
}

/** How much of it a pipe took: nothing where it is full. */
function writeSome(pipe: number, bytes: Uint8Array): number {
  try {
    return writeSync(pipe, bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
    throw error;
  }
}

function unwritable(path: string, error: unknown): InputError {
  const text = error instanceof Error ? error.message : String(error);
  const reason = error instanceof Error && "code" in error ? String(error.code) : text;
  return new InputError("unwritable", `${path}: the report cannot be written (${reason})`, { cause: error });
}
