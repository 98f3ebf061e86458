/** @file A file of the user's own, read whole: no link, no pipe, no other user's. Imports Node's own alone: a start waits for it. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

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

/** Whether that user is the one who runs this; systems without users have one. */
export function isOwn(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

/** Whether the system refused something: no bug of ours. */
export function isSystem(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
