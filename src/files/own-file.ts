/**
 * @file Files of the user's own that runs keep for each other: read whole (no link, no pipe, no other user's), written in one step beside
 * other runs and threads, and the oldest go. Imports Node's own alone: a start waits for it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

export interface OwnFile {
  readonly bytes: Buffer;
  readonly modifiedMilliseconds: number;
}

/** Undefined where there is none that opens, or it is longer than `mostBytes`. Throws what the system says of one that cannot be read. */
export function readOwnFile(path: string, mostBytes: number): OwnFile | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (isSystem(error)) return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || !isOwn(stats.uid) || stats.size > mostBytes) return undefined;
    return { bytes: readFileSync(file), modifiedMilliseconds: stats.mtimeMs };
  } finally {
    closeSync(file);
  }
}

/** Whole or not at all, whoever writes it at the same time: threads share a process's number. Throws what the system says. */
export function writeOwnFile(path: string, bytes: Buffer): void {
  const mark = `${process.pid}-${Math.random().toString(36).slice(2)}`;
  const temporary = join(dirname(path), `.${basename(path)}-${mark}${temporaryEnding}`);
  try {
    writeFileSync(temporary, bytes, { flag: "wx", mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

const temporaryEnding = ".tmp";
const abandonedMilliseconds = 3_600_000;

/**
 * Takes out what was not used for longest until the rest fits, and what a run that was ended left behind. `isOver` is asked of each file
 * with the count and bytes of it and all that were used since.
 */
export function pruneOwnFiles(
  folder: string,
  ending: string,
  isOver: (sum: { files: number; bytes: number }) => boolean,
): void {
  const found = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    const isTemporary = name.startsWith(".") && name.endsWith(temporaryEnding);
    if (stats?.isFile() !== true || !(isTemporary || name.endsWith(ending))) return [];
    return [{ path, isTemporary, size: stats.size, time: stats.mtimeMs }];
  });
  const sum = { files: 0, bytes: 0 };
  for (const { path, isTemporary, size, time } of found.sort((a, b) => b.time - a.time)) {
    if (!isTemporary) {
      sum.files++;
      sum.bytes += size;
    }
    if (isTemporary ? Date.now() - time > abandonedMilliseconds : isOver(sum)) rmSync(path, { force: true });
  }
}

/** Whether that user is the one who runs this; systems without users have one. */
export function isOwn(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

/** Of Node's permission model (`--permission`). */
const denied = "ERR_ACCESS_DENIED";

/** Whether the system, or Node for whoever started it, refused something: no bug of ours. */
export function isSystem(error: unknown): boolean {
  return error instanceof Error && ("syscall" in error || ("code" in error && error.code === denied));
}
