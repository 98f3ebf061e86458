/** @file One writer a model: a lock file beside it that says who holds it, and is taken over from the dead. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { InputError } from "../ir/errors.ts";
import { pushAll } from "../ir/lists.ts";
import { keepOnSignal, removeOnSignal } from "./cleanup.ts";
import { isDataName } from "./data-name.ts";
import {
  isStale,
  type LockRecord,
  readLock,
  thisBoot,
  thisHost,
  touch,
  unwrittenAfterMilliseconds,
} from "./lock-record.ts";
import { openModel } from "./open.ts";
import { hasLeftovers, neighbourName, processStart, removeLeftovers, temporaryName } from "./temporary.ts";
import { weightFiles } from "./weights.ts";
import { atStep, hasCode, type OnWriteStep } from "./write-step.ts";

const takeoverAttempts = 5;
/** How often a holder shows that it lives, to those who cannot see its process. */
const beatMilliseconds = 10_000;
/** What systems say that have no hard links. */
const noLinks = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

export class ModelLock implements Disposable {
  /** Of the model: its folder without symbolic links, and its name. */
  readonly folder: string;
  readonly name: string;
  /** Of the lock file. */
  readonly path: string;
  readonly onStep: OnWriteStep;
  #record: LockRecord;
  #beat: NodeJS.Timeout | undefined;

  constructor(folder: string, name: string, record: LockRecord, onStep: OnWriteStep) {
    this.folder = folder;
    this.name = name;
    this.path = join(folder, neighbourName(name, ".lock"));
    this.onStep = onStep;
    this.#record = record;
  }

  /** False where someone took it over or removed it. */
  get isHeld(): boolean {
    const found = readLock(this.path);
    return found.exists && found.record?.token === this.#record.token;
  }

  /** Creates the lock file, with its record in it from the start; false where there is one. */
  create(): boolean {
    const staged = join(this.folder, temporaryName(this.name));
    writeFileSync(staged, JSON.stringify(this.#record), { flag: "wx", mode: 0o644 });
    try {
      linkSync(staged, this.path);
      return true;
    } catch (error) {
      if (hasCode(error, "EEXIST")) return false;
      if (noLinks.some((code) => hasCode(error, code))) return this.#createEmpty();
      throw error;
    } finally {
      rmSync(staged, { force: true });
    }
  }

  /** The same on a file system without links: a process that dies here leaves a lock that says nothing. */
  #createEmpty(): boolean {
    let descriptor: number;
    try {
      descriptor = openSync(this.path, "wx", 0o644);
    } catch (error) {
      if (hasCode(error, "EEXIST")) return false;
      throw error;
    }
    try {
      writeSync(descriptor, JSON.stringify(this.#record));
    } catch (error) {
      unlinkSync(this.path);
      throw error;
    } finally {
      closeSync(descriptor);
    }
    return true;
  }

  /** Notes that `fileName` is about to come into being, so that the next run can clear up after this one. */
  willMake(fileName: string): void {
    this.#record = { ...this.#record, made: [...this.#record.made, fileName] };
    const descriptor = openSync(this.path, "r+");
    try {
      // Longer than before and written in one piece: no reader finds half a record.
      writeSync(descriptor, JSON.stringify(this.#record), 0);
    } finally {
      closeSync(descriptor);
    }
  }

  /** From now on it is this process's: kept fresh, and removed on a signal. */
  hold(): void {
    removeOnSignal(this.path);
    this.#beat = setInterval(() => touch(this.path), beatMilliseconds).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#beat);
    atStep(this.path, "unlock", this.onStep, () => {
      if (this.isHeld) rmSync(this.path, { force: true });
      keepOnSignal(this.path);
    });
  }
}

/**
 * Takes the lock of the model at `path` (which need not exist), and removes what an interrupted run left of it.
 * Hold it from before the model is read until it is written; dispose of it then. Throws InputError: `locked` where
 * another process holds it, `read-only` where the folder cannot be written to.
 */
export function lockModel(path: string, onStep: OnWriteStep = () => {}): ModelLock {
  const folder = atStep(path, "lock", onStep, () => folderOf(path));
  const record: LockRecord = {
    pid: process.pid,
    start: processStart(process.pid),
    host: thisHost(),
    boot: thisBoot(),
    token: randomBytes(8).toString("hex"),
    since: new Date().toISOString(),
    made: [],
  };
  const lock = new ModelLock(folder, basename(path), record, onStep);
  const orphans = atStep(path, "lock", onStep, () => claim(lock));
  try {
    atStep(path, "clean", onStep, () => {
      removeLeftovers(folder, lock.name);
      for (const name of orphans) removeUnused(lock, name);
    });
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
  return lock;
}

/**
 * Removes what an interrupted run left, for a run that has nothing to write. What another process works on stays, and so
 * does what is in a folder that may not be written to.
 */
export function clearLeftovers(path: string): void {
  const isClean = () => !hasLeftovers(folderOf(path), basename(path));
  if (atStep(path, "clean", () => {}, isClean)) return;
  try {
    lockModel(path)[Symbol.dispose]();
  } catch (error) {
    if (!(error instanceof InputError && ["locked", "read-only"].includes(error.code))) throw error;
  }
}

/** Without symbolic links. Throws InputError where there is none. */
function folderOf(path: string): string {
  try {
    return realpathSync(dirname(path));
  } catch (error) {
    if (!hasCode(error, "ENOENT") && !hasCode(error, "ENOTDIR")) throw error;
    const what = "its folder is not there; make it first";
    throw new InputError("bad-destination", `${path}: ${what}`, { cause: error });
  }
}

/** Creates the lock file; returns the data files that dead holders made. */
function claim(lock: ModelLock): string[] {
  const orphans: string[] = [];
  for (let attempt = 0; attempt < takeoverAttempts; attempt++) {
    if (lock.create()) {
      lock.hold();
      return orphans;
    }
    const found = readLock(lock.path);
    if (!found.exists) continue;
    if (!isStale(lock, found.record)) throw lockedBy(lock.path, found.record);
    if (removeStale(lock, found.record)) pushAll(orphans, found.record?.made ?? []);
  }
  throw lockedBy(lock.path, undefined);
}

/**
 * Moves the lock aside, then looks at what was moved: another process may have taken it over first, and then gets its
 * own back. Should even that fail, its holder notices before it replaces anything (`isHeld`).
 */
function removeStale(lock: ModelLock, judged: LockRecord | undefined): boolean {
  const aside = join(lock.folder, temporaryName(lock.name));
  try {
    renameSync(lock.path, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
  const moved = readLock(aside);
  const isJudged = moved.exists && moved.record?.token === judged?.token;
  if (!isJudged) restore(aside, lock.path);
  rmSync(aside, { force: true });
  return isJudged;
}

function restore(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function lockedBy(path: string, holder: LockRecord | undefined): InputError {
  if (holder === undefined) {
    const seconds = unwrittenAfterMilliseconds / 1000;
    const what = `names no process: one that begins right now, or one that died; it is passed over after ${seconds} s`;
    return new InputError("locked", `${path}: ${what}, or remove it`);
  }
  const who = `process ${holder.pid} on ${holder.host}, since ${holder.since}`;
  return new InputError(
    "locked",
    `${path}: the model is being written by ${who}; if that does not run any more, remove this file`,
  );
}

/** Removes a data file of a run that died, unless its model came into place all the same. */
function removeUnused({ folder, name }: ModelLock, made: string): void {
  const path = join(folder, made);
  const model = join(folder, name);
  if (!isDataName(name, made) || statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  if (statSync(model, { throwIfNoEntry: false }) === undefined || !refersTo(model, made)) rmSync(path);
}

/** A model that cannot be read may refer to anything. */
function refersTo(path: string, location: string): boolean {
  try {
    using model = openModel(path);
    return weightFiles(model).some((file) => file.location === location);
  } catch (error) {
    if (error instanceof InputError) return true;
    throw error;
  }
}
