/** @file Segments to a new file, piece by piece: each read back and compared, all of it synced. */
import { createHash } from "node:crypto";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { Segment } from "../wire/splice.ts";
import { keepOnSignal, removeOnSignal } from "./cleanup.ts";
import { atSlowStep, type OnWriteStep, type WriteStep } from "./write-step.ts";

/** Held in memory three times: one piece is made while another is on its way to the file, and read back. */
const pieceBytes = 1 << 20;
/** So much is written before the system is asked to bring it to the disk, beside the writing. */
const flushedBytes = 128 << 20;

export interface NewFile {
  readonly path: string;
  readonly bytes: number;
  /** Of its content, in hexadecimal; of data files, which are named by it. */
  readonly sha256: string | undefined;
}

/** Who may do what with a file. Without an owner, it belongs to whoever writes it. */
export interface Access {
  readonly mode: number;
  readonly owner: { readonly user: number; readonly group: number } | undefined;
}

/** The names of the steps of one file. */
export type FileKind = "data" | "model";

/**
 * Writes a file that must not exist yet; removes what there is of it where that fails. Until the caller says that it is to
 * be kept (`keepOnSignal`), a signal removes it. Throws InputError.
 */
export async function writeNewFile(
  path: string,
  kind: FileKind,
  segments: readonly Segment[],
  access: Access,
  onStep: OnWriteStep,
): Promise<NewFile> {
  const step = <T>(name: WriteStep, action: () => Promise<T>) => atSlowStep(path, name, onStep, action);
  const file = await step(`create-${kind}`, () => create(path));
  try {
    const source = new SegmentSource(path, segments);
    const hash = kind === "data" ? createHash("sha256") : undefined;
    const pieces = new Pieces(file, source, (piece) => {
      hash?.update(piece);
      onStep(`write-${kind}`);
    });
    await step(`write-${kind}`, () => pieces.writeAll());
    await step(`sync-${kind}`, () => finish(file, access));
    const { size } = await step(`check-${kind}`, () => file.stat());
    await file.close();
    if (size !== source.size || !pieces.areSame) {
      throw new InputError("unwritable", `${path}: does not hold the ${source.size} bytes written to it`);
    }
    return { path, bytes: size, sha256: hash?.digest("hex") };
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    keepOnSignal(path);
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}

const exclusively = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** The file is there, and known to be provisional, before anything is waited for: no signal falls in between. */
async function create(path: string): Promise<FileHandle> {
  closeSync(openSync(path, exclusively, 0o600));
  removeOnSignal(path);
  try {
    return await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
  } catch (error) {
    rmSync(path, { force: true });
    keepOnSignal(path);
    throw error;
  }
}

/** One file on its way, a piece after another. */
class Pieces {
  readonly #file: FileHandle;
  readonly #source: SegmentSource;
  readonly #onPiece: (piece: Uint8Array) => void;
  readonly #buffers = [Buffer.allocUnsafe(pieceBytes), Buffer.allocUnsafe(pieceBytes)];
  readonly #readBack = Buffer.allocUnsafe(pieceBytes);
  #flushing: Promise<void> | undefined;
  #unflushedBytes = 0;
  /** Whether the file gave back what was written to it. */
  areSame = true;

  constructor(file: FileHandle, source: SegmentSource, onPiece: (piece: Uint8Array) => void) {
    this.#file = file;
    this.#source = source;
    this.#onPiece = onPiece;
  }

  async writeAll(): Promise<void> {
    let written: Promise<void> = Promise.resolve();
    for (let offset = 0, turn = 0; offset < this.#source.size; offset += pieceBytes, turn = 1 - turn) {
      const piece = (this.#buffers[turn] ?? Buffer.alloc(0)).subarray(0, this.#source.size - offset);
      try {
        this.#source.readInto(offset, piece);
        this.#onPiece(piece);
      } finally {
        // A write under way must end before its file is closed, whatever becomes of the next piece.
        await written;
      }
      written = this.#put(piece, offset);
      // Awaited one turn later; until then a failure is not unhandled.
      written.catch(() => {});
    }
    try {
      await written;
    } finally {
      await this.#flushing;
    }
  }

  async #put(piece: Uint8Array, offset: number): Promise<void> {
    await writePiece(this.#file, this.#source.name, piece, offset);
    const { bytesRead } = await this.#file.read(this.#readBack, 0, piece.length, offset);
    this.areSame &&=
      bytesRead === piece.length && Buffer.compare(this.#readBack.subarray(0, bytesRead), piece) === 0;
    this.#unflushedBytes += piece.length;
    if (this.#unflushedBytes < flushedBytes || this.#flushing !== undefined) return;
    this.#unflushedBytes = 0;
    // The last sync reports what goes wrong here: it covers the same bytes.
    const done = () => {
      this.#flushing = undefined;
    };
    this.#flushing = this.#file.datasync().then(done, done);
  }
}

/** The system may take less than it is given. */
async function writePiece(file: FileHandle, path: string, piece: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < piece.length) {
    const { bytesWritten } = await file.write(piece, done, piece.length - done, offset + done);
    if (bytesWritten === 0) {
      const what = `byte ${offset + done} cannot be written: the system takes no more`;
      throw new InputError("unwritable", `${path}: ${what}`);
    }
    done += bytesWritten;
  }
}

async function finish(file: FileHandle, { mode, owner }: Access): Promise<void> {
  if (owner !== undefined) await file.chown(owner.user, owner.group);
  await file.chmod(mode);
  await file.sync();
}
