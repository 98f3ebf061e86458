/**
 * @file Writes a model so that at every moment, whatever ends the process, its path leads to the old file or to the
 * whole new one.
 *
 * The data file comes first, under a name made of its content: nothing refers to it yet. The model follows as a
 * temporary neighbour; it can be opened and verified there. `commit` renames it into place. Data files of the original
 * are never touched.
 */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, join } from "node:path";
import { InputError, invariant } from "../ir/errors.ts";
import type { Segment } from "../wire/splice.ts";
import type { PatchedModel } from "./apply.ts";
import { carryData } from "./carry-data.ts";
import { keepOnSignal, removeOnSignal } from "./cleanup.ts";
import { dataName } from "./data-name.ts";
import type { ModelLock } from "./lock.ts";
import { type OpenModel, openModel } from "./open.ts";
import { isSameFile } from "./same-file.ts";
import {
  checkSource,
  type FileState,
  isDataFileOf,
  isSameState,
  type SourceState,
  stateOf,
} from "./source-state.ts";
import { temporaryName } from "./temporary.ts";
import { weightFiles } from "./weights.ts";
import { type Access, type NewFile, writeNewFile } from "./write-file.ts";
import { atStep } from "./write-step.ts";

export interface WriteRequest {
  /** The model that was read. */
  readonly source: OpenModel;
  /** `sourceState(source)`, taken when it was opened. */
  readonly state: SourceState;
  /** `lockModel(destination)`: says where the new model goes, which may be where the source is. */
  readonly lock: ModelLock;
  /** The new model, with the name that its new data file will have; called twice, and must make the same both times. */
  readonly render: (dataLocation: string) => PatchedModel;
}

/** `isNew` is false where the folder had it already. */
export type DataFile = NewFile & { readonly isNew: boolean };

/** Nothing that tc-lint writes is a program, whatever the model's own mode says, and data is nobody else's to change. */
const modelMode = 0o666;
const dataMode = 0o644;
const writable = 0o222;
const ownerWrites = 0o200;

/** A new model, complete on the disk, but not yet in its place. Disposing of it uncommitted removes every trace. */
class StagedModel implements Disposable {
  /** The temporary file: opens like the model it will be, from the same folder. */
  readonly path: string;
  readonly destination: string;
  readonly bytes: number;
  /** The new external data files. */
  readonly data: readonly DataFile[];
  readonly #request: WriteRequest;
  /** Of the temporary file, when it was complete. */
  readonly #state: FileState;
  /** Files to remove unless the model comes into place. */
  readonly #made: readonly string[];
  #isCommitted = false;

  constructor(request: WriteRequest, file: NewFile, data: readonly DataFile[], made: readonly string[]) {
    const { lock } = request;
    const state = stateOf(file.path);
    if (state === undefined)
      throw new InputError("file-changed", `${file.path}: was removed by someone else`);
    this.#request = request;
    this.#state = state;
    this.#made = made;
    this.path = file.path;
    this.bytes = file.bytes;
    this.destination = join(lock.folder, lock.name);
    this.data = data;
  }

  /**
   * Puts the new model in place. Throws InputError: `file-changed` where source or result are not what they were,
   * `locked` where the lock was lost.
   */
  commit(): void {
    const { lock, state } = this.#request;
    const { onStep } = lock;
    atStep(this.destination, "compare-source", onStep, () => {
      checkSource(state);
      if (!lock.isHeld) throw new InputError("locked", `${lock.path}: was taken over by another process`);
      const now = stateOf(this.path);
      if (now === undefined || !isSameState(this.#state, now)) {
        throw new InputError(
          "file-changed",
          `${this.path}: was changed by someone else since it was written`,
        );
      }
    });
    atStep(this.destination, "replace", onStep, () => {
      renameSync(this.path, this.destination);
      for (const path of [this.path, ...this.#made]) keepOnSignal(path);
    });
    this.#isCommitted = true;
    atStep(this.destination, "sync-folder", onStep, () => syncFolder(lock.folder));
  }

  [Symbol.dispose](): void {
    if (!this.#isCommitted) discard([this.path, ...this.#made]);
  }
}

/**
 * Writes and reads back everything but the last step. Memory: a few pieces of 1 MiB, whatever the model's size.
 * Throws InputError naming the path and the step; nothing is left behind then.
 */
export async function stageModel(request: WriteRequest): Promise<StagedModel> {
  const { source, lock, render } = request;
  const destination = join(lock.folder, lock.name);
  const access = checkDestination(destination, request);
  const made: string[] = [];
  try {
    const data: DataFile[] = [];
    const place = async (pieces: readonly Segment[]) => {
      const file = await writeData(lock, pieces, access, made);
      data.push(file);
      return basename(file.path);
    };
    const { data: segments } = render(dataName(lock.name, "0".repeat(64)));
    const own = segments && (await place(segments));
    const { model } = render(own ?? dataName(lock.name, "0".repeat(64)));
    const whole = await carryData(source, model, destination, own, place);
    const temporary = join(lock.folder, temporaryName(lock.name));
    const file = await writeNewFile(temporary, "model", whole, access, lock.onStep);
    made.push(temporary);
    atStep(file.path, "check-model", lock.onStep, () => checkModel(file.path, source));
    return new StagedModel(request, file, data, made);
  } catch (error) {
    discard(made);
    throw error;
  }
}

function discard(paths: readonly string[]): void {
  for (const path of paths) {
    rmSync(path, { force: true });
    keepOnSignal(path);
  }
}

/** What may be replaced, and the rights that the new file gets. */
function checkDestination(destination: string, { source, state }: WriteRequest): Access {
  const refuse = (what: string) => new InputError("bad-destination", `${destination}: ${what}`);
  const existing = lstatSync(destination, { throwIfNoEntry: false });
  if (existing === undefined)
    return { mode: (statSync(source.path).mode & modelMode) | ownerWrites, owner: undefined };
  if (existing.isSymbolicLink()) {
    const target = readlinkSync(destination);
    throw refuse(`is a symbolic link to ${target}; fix that file, or name another place for the result`);
  }
  if (!existing.isFile()) throw refuse("is not a regular file");
  if ((existing.mode & writable) === 0)
    throw refuse("is read-only; make it writable, or name another place for the result");
  if (isDataFileOf(state, destination)) throw refuse("holds the model's external data");
  // Only root gives files away.
  const isForeign = process.getuid?.() === 0;
  const owner = isForeign ? { user: existing.uid, group: existing.gid } : undefined;
  return { mode: existing.mode & 0o7777, owner };
}

/** Writes the data file under a temporary name, then under the one its content gives it. */
async function writeData(
  lock: ModelLock,
  segments: readonly Segment[],
  access: Access,
  made: string[],
): Promise<DataFile> {
  const temporary = join(lock.folder, temporaryName(lock.name));
  const readable = { ...access, mode: access.mode & dataMode };
  const file = await writeNewFile(temporary, "data", segments, readable, lock.onStep);
  made.push(temporary);
  const { sha256 } = file;
  invariant(sha256 !== undefined, "a data file without a hash");
  const name = dataName(lock.name, sha256);
  const path = join(lock.folder, name);
  const isNew = atStep(path, "name-data", lock.onStep, () => {
    if (isSameFile(path, { bytes: file.bytes, sha256 })) {
      discard([temporary]);
      return false;
    }
    lock.willMake(name);
    removeOnSignal(path);
    renameSync(temporary, path);
    keepOnSignal(temporary);
    made.push(path);
    syncFolder(lock.folder);
    return true;
  });
  return { ...file, path, isNew };
}

/** The new model must open, and find its data wherever the old one did. */
function checkModel(path: string, source: OpenModel): void {
  using model = openModel(path);
  const before = new Map(weightFiles(source).map(({ location, present }) => [location, present]));
  for (const { location, present } of weightFiles(model)) {
    if (!present && before.get(location) !== false) {
      throw new InputError("weights-missing", `${path}: its external data "${location}" is not there`);
    }
  }
}

function syncFolder(folder: string): void {
  // Windows opens no folders; its rename is journalled.
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
