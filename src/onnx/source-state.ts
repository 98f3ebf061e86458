/** @file Whether a model and its data files are still what was read: by identity, size, times and, if small, content. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";
import { FileSource } from "../wire/file-source.ts";
import type { ByteSource } from "../wire/source.ts";
import { resolveExternal } from "./external-file.ts";
import type { OpenModel } from "./open.ts";
import { weightFiles } from "./weights.ts";

/** Models up to this size are compared byte for byte. */
const hashedBytes = 64 << 20;
const pieceBytes = 4 << 20;

export interface FileState {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
  readonly bytes: bigint;
  readonly modifiedNs: bigint;
  /** Of its inode: nobody can set this one back. */
  readonly changedNs: bigint;
}

/** A model's files as they were. */
export interface SourceState {
  readonly model: FileState;
  readonly sha256: string | undefined;
  readonly data: readonly FileState[];
}

/** Call it right after opening. Throws InputError `file-changed` where the path already leads to another file. */
export function sourceState(model: OpenModel): SourceState {
  const state = stateOf(model.path);
  if (state === undefined) throw removed(model.path);
  if (Number(state.bytes) !== model.source.size) throw changed(model.path);
  return {
    model: state,
    sha256: model.source.size <= hashedBytes ? hashOf(model.source) : undefined,
    data: weightFiles(model).flatMap(({ location }) => {
      const found = resolveExternal(model.path, location);
      const file = found && stateOf(found.path);
      return file === undefined ? [] : [file];
    }),
  };
}

/** Throws InputError `file-changed` naming the first file that is not what was read. */
export function checkSource({ model, sha256, data }: SourceState): void {
  for (const before of [model, ...data]) {
    const now = stateOf(before.path);
    if (now === undefined) throw removed(before.path);
    if (!isSameState(before, now)) throw changed(before.path);
  }
  if (sha256 !== undefined && hashOfFile(model.path) !== sha256) throw changed(model.path);
}

/** Whether the path leads to one of the files that are read. */
export function isDataFileOf({ data }: SourceState, path: string): boolean {
  const there = stateOf(path);
  return data.some(({ device, inode }) => device === there?.device && inode === there.inode);
}

/** What to blame for `error`: where the files are not what was read, that; it may have been a message about something else. */
export function causeOf(error: unknown, state: SourceState): unknown {
  try {
    checkSource(state);
    return error;
  } catch (fault) {
    return fault instanceof InputError && fault.code === "file-changed"
      ? new InputError(fault.code, fault.message, { cause: error })
      : error;
  }
}

function changed(path: string): InputError {
  return new InputError(
    "file-changed",
    `${path}: was changed by someone else while it was worked on; nothing was written`,
  );
}

function removed(path: string): InputError {
  return new InputError(
    "file-changed",
    `${path}: was removed by someone else while it was worked on; nothing was written`,
  );
}

/** Undefined where nothing is there. */
export function stateOf(path: string): FileState | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return (
    stats && {
      path,
      device: stats.dev,
      inode: stats.ino,
      bytes: stats.size,
      modifiedNs: stats.mtimeNs,
      changedNs: stats.ctimeNs,
    }
  );
}

export function isSameState(a: FileState, b: FileState): boolean {
  return (
    a.device === b.device &&
    a.inode === b.inode &&
    a.bytes === b.bytes &&
    a.modifiedNs === b.modifiedNs &&
    a.changedNs === b.changedNs
  );
}

function hashOf(source: ByteSource): string {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, source.size));
  for (let offset = 0; offset < source.size; offset += buffer.length) {
    const piece = buffer.subarray(0, Math.min(buffer.length, source.size - offset));
    source.readInto(offset, piece);
    hash.update(piece);
  }
  return hash.digest("hex");
}

/** SHA-256 of a whole file, in hexadecimal. Throws InputError. */
export function hashOfFile(path: string): string {
  let source: FileSource | undefined;
  try {
    source = FileSource.open(path);
    return hashOf(source);
  } catch (error) {
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  } finally {
    source?.close();
  }
}
