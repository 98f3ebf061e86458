/** @file Errors of the system at paths that nobody foresaw: the surroundings are at fault, not tc-lint. */
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";

/** What the codes say in words; others stand for themselves. */
const meanings: Readonly<Record<string, string>> = {
  EACCES: "access is denied",
  EPERM: "access is denied",
  ENOENT: "no such file or folder",
  ENOTDIR: "a part of the path is no folder",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  EMFILE: "too many files are open",
  EIO: "the device fails",
};

/** The error as one of the input, where the system or the wire names what is wrong; undefined for all others. */
export function inputErrorOf(thrown: unknown): InputError | undefined {
  const error = firstOf(thrown);
  if (error instanceof InputError) return error;
  if (error instanceof WireError) return new InputError(error.code, error.message, { cause: error });
  const denied = deniedText(error);
  if (denied !== undefined) return new InputError("not-permitted", denied, { cause: error });
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return undefined;
  const code = String(error.code);
  const path = "path" in error && typeof error.path === "string" ? error.path : String(error.syscall);
  return new InputError("unreadable", `${path}: ${meanings[code] ?? "the system refuses"} (${code})`, {
    cause: error,
  });
}

/** Of Node's permission model: what each permission is given by. */
const permissionFlags: Readonly<Record<string, string>> = {
  FileSystemRead: "--allow-fs-read",
  FileSystemWrite: "--allow-fs-write",
  ChildProcess: "--allow-child-process",
  WorkerThreads: "--allow-worker",
};

/** What Node was told not to allow, and the flag that does; undefined for all other errors. */
function deniedText(error: unknown): string | undefined {
  if (!(error instanceof Error && "code" in error && error.code === "ERR_ACCESS_DENIED")) return undefined;
  const permission = "permission" in error ? String(error.permission) : "";
  const resource = "resource" in error && typeof error.resource === "string" ? error.resource : "";
  const flag = permissionFlags[permission];
  const isFile = permission.startsWith("FileSystem") && resource !== "";
  const where = isFile ? `${resource}: ` : "";
  const how = flag === undefined ? "" : `; ${isFile ? `${flag}=PATH` : flag} allows it`;
  return `${where}Node's permission model denies ${permission === "" ? "it" : permission}${how}`;
}

/** Where giving something up fails as well (`using`, on a disk that has failed), what failed first says more. */
function firstOf(error: unknown): unknown {
  const isSecond = error instanceof Error && error.name === "SuppressedError" && "suppressed" in error;
  return isSecond ? firstOf(error.suppressed) : error;
}
