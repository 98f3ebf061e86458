/**
 * @file Compiled code that is kept between runs: a file a program, a version of V8 and its flags, in a folder of the user's own. V8 does
 * not check such code, so a file is used only where it is the user's own and whole. Nothing here fails a run: it is slower without.
 */
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { cachedDataVersionTag } from "node:v8";
import { crc32 } from "node:zlib";
import { makeFolder } from "../files/make-folder.ts";
import { isOwn, isSystem, pruneOwnFiles, readOwnFile, writeOwnFile } from "../files/own-file.ts";
import { userCache } from "../files/user-cache.ts";

const ending = ".code";
/** Of versions and sets of flags: runs under several Nodes each have theirs. */
const mostFiles = 4;
/** Behind the code: `compiledBytes`, and a checksum of all before it. */
const sizeBytes = 4;
const checksumBytes = 4;
const mostBytes = 64 << 20;

export interface KeptCode {
  readonly code: Buffer;
  /** What V8 had compiled, of Node's own as well, at the end of the run that kept it; 0 where a thread did. */
  readonly compiledBytes: number;
}

export interface FoundCode extends KeptCode {
  readonly ageMilliseconds: number;
}

/** Where code of this program is kept by this Node; undefined where none is to be. Node's own variables of the same meaning are heeded. */
export function keptCodePath(programPath: string): string | undefined {
  const { NODE_COMPILE_CACHE: asked = "", NODE_DISABLE_COMPILE_CACHE: isOff = "" } = process.env;
  const folder = asked === "" ? userCache("code") : resolve(asked, "tc-lint");
  if (isOff !== "" || folder === undefined) return undefined;
  return join(
    folder,
    `${basename(programPath)}-${process.arch}-${cachedDataVersionTag().toString(16)}${ending}`,
  );
}

/** Undefined where there is none that can be trusted. */
export function readKeptCode(path: string): FoundCode | undefined {
  return unlessRefused(() => {
    const { bytes, modifiedMilliseconds } = readOwnFile(path, mostBytes) ?? {};
    if (bytes === undefined || modifiedMilliseconds === undefined || bytes.length < sizeBytes + checksumBytes)
      return undefined;
    const checked = bytes.subarray(0, -checksumBytes);
    if (crc32(checked) !== bytes.readUInt32LE(checked.length)) return undefined;
    const code = checked.subarray(0, -sizeBytes);
    const compiledBytes = checked.readUInt32LE(code.length);
    return { code, compiledBytes, ageMilliseconds: Date.now() - modifiedMilliseconds };
  });
}

/** The oldest of more than a few go. */
export function writeKeptCode(path: string, { code, compiledBytes }: KeptCode): void {
  const folder = dirname(path);
  unlessRefused(() => {
    if (!isOwn(statSync(firstThere(folder)).uid)) return;
    makeFolder(folder, 0o700);
    const size = Buffer.alloc(sizeBytes);
    size.writeUInt32LE(compiledBytes);
    const checksum = Buffer.alloc(checksumBytes);
    checksum.writeUInt32LE(crc32(size, crc32(code)));
    writeOwnFile(path, Buffer.concat([code, size, checksum]));
    pruneOwnFiles(folder, ending, ({ files }) => files > mostFiles);
  });
}

/** Under another user's home (sudo) nothing is made that its owner could not remove. */
function firstThere(folder: string): string {
  const parent = dirname(folder);
  return statSync(folder, { throwIfNoEntry: false }) !== undefined || parent === folder
    ? folder
    : firstThere(parent);
}

/** What the system refuses (no such file, a full disk, a folder that cannot be written to) only costs time. */
function unlessRefused<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (isSystem(error)) return undefined;
    throw error;
  }
}
