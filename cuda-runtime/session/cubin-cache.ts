/**
 * @file What is kept in a folder for the next process: machine code that the driver compiled from PTX, times of steps.
 *
 * What is in the folder is handed to the driver, so an entry is believed only if it is the user's own (or root's), and
 * whole by its own header. Whatever else is found there counts as nothing and is replaced. No trouble with files is thrown: a cache
 * that cannot be used costs time, not results.
 */
import { randomBytes } from "node:crypto";
import * as nodeFiles from "node:fs";
import { join } from "node:path";
import { contentOf, encodeEntry, headerBytes } from "./cubin-entry.ts";

/** The calls that a cache makes; tests let each of them fail. */
export type CacheFiles = Pick<
  typeof nodeFiles,
  | "closeSync"
  | "fchmodSync"
  | "fstatSync"
  | "fsyncSync"
  | "futimesSync"
  | "lstatSync"
  | "mkdirSync"
  | "openSync"
  | "readdirSync"
  | "readSync"
  | "renameSync"
  | "rmSync"
  | "writeSync"
>;

export interface Surroundings {
  readonly files?: CacheFiles;
  /** Id of whose process this is. */
  readonly user?: number;
  /** Of the entries' file names. */
  readonly extension?: EntryExtension;
}

export type EntryExtension = "cubin" | "time";

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = nodeFiles.constants;
// Windows has none of these.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0 } = nodeFiles.constants;

const entryName = /^[0-9a-f]{64}\.(cubin|time)$/;
const temporaryName = /^[0-9a-f]{64}\.\d+\.[0-9a-f]+\.tmp$/;
/** A process that began to write an entry this long ago is gone. */
const abandonedMilliseconds = 3_600_000;
/** The folder is looked at again after this many entries: other processes add to it too. */
const entriesBetweenLooks = 16;

export class CubinCache {
  readonly #folder: string;
  readonly #limitBytes: number;
  readonly #files: CacheFiles;
  /** Undefined where the system has no such thing. */
  readonly #user: number | undefined;
  readonly #extension: EntryExtension;
  #isTrusted = false;
  #isRefused = false;
  /** Bytes of all entries when the folder was last looked at, and of those written since. */
  #knownBytes = 0;
  #entriesUntilLook = 0;
  /** The first thing that kept an entry from being kept, or all of them from being believed. */
  problem: string | undefined;

  /** `folder` is absolute; it is made when there is something to keep. The entries take up to `limitBytes` there. */
  constructor(folder: string, limitBytes: number, surroundings: Surroundings = {}) {
    this.#folder = folder;
    this.#limitBytes = limitBytes;
    this.#files = surroundings.files ?? nodeFiles;
    this.#user = surroundings.user ?? process.getuid?.();
    this.#extension = surroundings.extension ?? "cubin";
  }

  /** What was kept for a key of 32 bytes; undefined where there is nothing that can be believed. */
  read(key: Buffer): Buffer | undefined {
    if (this.#isRefused) return undefined;
    try {
      if (!this.#isThere()) return undefined;
      const entry = this.#readEntry(this.#pathOf(key));
      return entry && contentOf(entry, key);
    } catch (error) {
      // An entry that cannot be read is replaced; where that fails too, writing it says why.
      if (error instanceof Refusal) this.#note(error);
      else if (!isSystemError(error)) throw error;
      return undefined;
    }
  }

  /** Replaces what is there. After the first problem nothing more is kept. */
  write(key: Buffer, content: Uint8Array): void {
    const entry = encodeEntry(key, content);
    if (this.#isRefused || this.problem !== undefined || entry.length > this.#limitBytes) return;
    try {
      this.#files.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      if (!this.#isThere()) return;
      this.#makeRoom(entry.length);
      this.#put(this.#pathOf(key), entry);
      this.#knownBytes += entry.length;
    } catch (error) {
      if (!(error instanceof Refusal) && !isSystemError(error)) throw error;
      this.#note(error);
    }
  }

  #pathOf(key: Buffer): string {
    return join(this.#folder, `${key.toString("hex")}.${this.#extension}`);
  }

  /** Whether the folder exists. Throws Refusal where others may have put files there. */
  #isThere(): boolean {
    if (this.#isTrusted || this.#user === undefined) return true;
    const files = this.#files;
    const descriptor = unlessAbsent(() => files.openSync(this.#folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (descriptor === undefined) return false;
    try {
      const { uid, mode } = files.fstatSync(descriptor);
      if (uid !== this.#user && uid !== 0) throw new Refusal("belongs to another user");
      const isOpen = (mode & 0o077) !== 0;
      if (isOpen && uid === this.#user) files.fchmodSync(descriptor, 0o700);
      else if ((mode & 0o022) !== 0) throw new Refusal("may be written by others");
    } finally {
      files.closeSync(descriptor);
    }
    this.#isTrusted = true;
    return true;
  }

  #readEntry(path: string): Buffer | undefined {
    const files = this.#files;
    const descriptor = unlessAbsent(() => files.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (descriptor === undefined) return undefined;
    try {
      const stats = files.fstatSync(descriptor);
      if (!this.#isOwn(stats) || stats.size < headerBytes || stats.size > this.#limitBytes) return undefined;
      const entry = Buffer.alloc(stats.size);
      let length = 0;
      while (length < entry.length) {
        const count = files.readSync(descriptor, entry, length, entry.length - length, length);
        if (count === 0) return undefined;
        length += count;
      }
      this.#touch(descriptor);
      return entry;
    } finally {
      files.closeSync(descriptor);
    }
  }

  #isOwn(stats: nodeFiles.Stats): boolean {
    if (!stats.isFile()) return false;
    if (this.#user === undefined) return true;
    return (stats.uid === this.#user || stats.uid === 0) && (stats.mode & 0o022) === 0;
  }

  /** What was used last goes last. Of root's entries the user cannot say so. */
  #touch(descriptor: number): void {
    const now = new Date();
    try {
      this.#files.futimesSync(descriptor, now, now);
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
  }

  /** Other processes see a whole entry or none. */
  #put(path: string, entry: Buffer): void {
    const files = this.#files;
    const temporary = path.replace(/[a-z]+$/, `${process.pid}.${randomBytes(8).toString("hex")}.tmp`);
    try {
      const descriptor = files.openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        this.#writeAll(descriptor, entry);
        files.fsyncSync(descriptor);
      } finally {
        files.closeSync(descriptor);
      }
      this.#rename(temporary, path);
    } catch (error) {
      files.rmSync(temporary, { force: true });
      throw error;
    }
    this.#syncFolder();
  }

  #writeAll(descriptor: number, entry: Buffer): void {
    let length = 0;
    while (length < entry.length) {
      const count = this.#files.writeSync(descriptor, entry, length, entry.length - length, length);
      if (count === 0) throw new Refusal("takes no more bytes");
      length += count;
    }
  }

  #rename(from: string, to: string): void {
    try {
      this.#files.renameSync(from, to);
    } catch (error) {
      if (!hasCode(error, "EISDIR")) throw error;
      // A folder is no entry of ours.
      this.#files.rmSync(to, { recursive: true, force: true });
      this.#files.renameSync(from, to);
    }
  }

  #syncFolder(): void {
    // Windows opens no folders; its rename is journalled.
    if (this.#user === undefined) return;
    const descriptor = this.#files.openSync(this.#folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      this.#files.fsyncSync(descriptor);
    } finally {
      this.#files.closeSync(descriptor);
    }
  }

  /** Removes what was not used for longest, until `bytes` more fit. */
  #makeRoom(bytes: number): void {
    this.#entriesUntilLook -= 1;
    if (this.#entriesUntilLook >= 0 && this.#knownBytes + bytes <= this.#limitBytes) return;
    const entries = this.#entries().sort((a, b) => a.usedAt - b.usedAt);
    let total = entries.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size } of entries) {
      if (total + bytes <= this.#limitBytes) break;
      this.#files.rmSync(path, { recursive: true, force: true });
      total -= size;
    }
    this.#knownBytes = total;
    this.#entriesUntilLook = entriesBetweenLooks;
  }

  /** Entries, and temporary files of processes at work; those of processes that are gone are removed. */
  #entries(): { path: string; size: number; usedAt: number }[] {
    const files = this.#files;
    return files.readdirSync(this.#folder).flatMap((name) => {
      const isTemporary = temporaryName.test(name);
      if (!isTemporary && !entryName.test(name)) return [];
      const path = join(this.#folder, name);
      // Gone by now: another process makes room too.
      const stats = unlessAbsent(() => files.lstatSync(path));
      if (stats === undefined) return [];
      if (isTemporary && Date.now() - stats.mtimeMs > abandonedMilliseconds) {
        files.rmSync(path, { force: true });
        return [];
      }
      return [{ path, size: stats.size, usedAt: isTemporary ? Number.POSITIVE_INFINITY : stats.mtimeMs }];
    });
  }

  #note(error: Error): void {
    this.#isRefused ||= error instanceof Refusal;
    this.problem ??= error instanceof Refusal ? `${this.#folder} ${error.message}` : error.message;
  }
}

/** The folder cannot be used; the message completes "the folder …". */
class Refusal extends Error {
  override readonly name = "Refusal";
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && "syscall" in error;
}

function hasCode(error: unknown, code: string): boolean {
  return isSystemError(error) && error.code === code;
}

function unlessAbsent<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
