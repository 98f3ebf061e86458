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
const checksumBytes = 4;
const mostBytes = 64 << 20;

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
export function readKeptCode(path: string): Buffer | undefined {
  return unlessRefused(() => {
    const bytes = readOwnFile(path, mostBytes)?.bytes;
    if (bytes === undefined || bytes.length < checksumBytes) return undefined;
    const code = bytes.subarray(0, -checksumBytes);
    return crc32(code) === bytes.readUInt32LE(code.length) ? code : undefined;
  });
}

/** The oldest of more than a few go. */
export function writeKeptCode(path: string, code: Buffer): void {
  const folder = dirname(path);
  unlessRefused(() => {
    if (!isOwn(statSync(firstThere(folder)).uid)) return;
    makeFolder(folder, 0o700);
    const checksum = Buffer.alloc(checksumBytes);
    checksum.writeUInt32LE(crc32(code));
    writeOwnFile(path, Buffer.concat([code, checksum]));
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
