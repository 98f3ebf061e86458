/** @file Segments to a new file, piece by piece: hashed on the way, synced, and read back. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { Segment } from "../wire/splice.ts";
import { hashOfFile } from "./source-state.ts";
import { atSlowStep, type OnWriteStep, type WriteStep } from "./write-step.ts";

/** Held in memory twice: one piece is made while the other is on its way to the file. */
const pieceBytes = 4 << 20;

export interface NewFile {
  readonly path: string;
  readonly bytes: number;
  /** Of its content, in hexadecimal. */
  readonly sha256: string;
}

/** Who may do what with a file. Without an owner, it belongs to whoever writes it. */
export interface Access {
  readonly mode: number;
  readonly owner: { readonly user: number; readonly group: number } | undefined;
}

/** The names of the steps of one file. */
export type FileKind = "data" | "model";

/** Writes a file that must not exist yet; removes what there is of it where that fails. Throws InputError. */
export async function writeNewFile(
  path: string,
  kind: FileKind,
  segments: readonly Segment[],
  access: Access,
  onStep: OnWriteStep,
): Promise<NewFile> {
  const step = <T>(name: WriteStep, action: () => Promise<T>) => atSlowStep(path, name, onStep, action);
  const file = await step(`create-${kind}`, () => open(path, exclusively, 0o600));
  try {
    const source = new SegmentSource(path, segments);
    const { sha256 } = await step(`write-${kind}`, () =>
      writeAll(file, source, () => onStep(`write-${kind}`)),
    );
    await step(`sync-${kind}`, () => finish(file, access));
    const { size } = await step(`check-${kind}`, () => file.stat());
    await file.close();
    if (size !== source.size || hashOfFile(path) !== sha256) {
      throw new InputError("unwritable", `${path}: does not hold the ${source.size} bytes written to it`);
    }
    return { path, bytes: size, sha256 };
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}

const exclusively = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

async function writeAll(
  file: FileHandle,
  source: SegmentSource,
  onPiece: () => void,
): Promise<{ sha256: string }> {
  const hash = createHash("sha256");
  const buffers = [Buffer.allocUnsafe(pieceBytes), Buffer.allocUnsafe(pieceBytes)];
  let written: Promise<void> = Promise.resolve();
  for (let offset = 0, turn = 0; offset < source.size; offset += pieceBytes, turn = 1 - turn) {
    const piece = (buffers[turn] ?? Buffer.alloc(0)).subarray(0, source.size - offset);
    try {
      source.readInto(offset, piece);
      hash.update(piece);
    } finally {
      // A write under way must end before its file is closed, whatever becomes of the next piece.
      await written;
    }
    onPiece();
    written = writePiece(file, piece, offset);
    // Awaited one turn later; until then a failure is not unhandled.
    written.catch(() => {});
  }
  await written;
  return { sha256: hash.digest("hex") };
}

/** The system may take less than it is given. */
async function writePiece(file: FileHandle, piece: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < piece.length) {
    const { bytesWritten } = await file.write(piece, done, piece.length - done, offset + done);
    if (bytesWritten === 0) {
      throw new InputError("unwritable", `byte ${offset + done} cannot be written: the system takes no more`);
    }
    done += bytesWritten;
  }
}

async function finish(file: FileHandle, { mode, owner }: Access): Promise<void> {
  if (owner !== undefined) await file.chown(owner.user, owner.group);
  await file.chmod(mode);
  await file.sync();
}
