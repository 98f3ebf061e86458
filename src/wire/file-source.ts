/** @file A file of the disk, read by ranges. */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { WireError } from "./error.ts";
import { type ByteSource, truncated } from "./source.ts";

/** A file as it was when looked at: path without symbolic links, device and inode. */
export interface FileIdentity {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

export class FileSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #descriptor: number;
  #open = true;

  constructor(path: string, descriptor: number, size: number) {
    this.name = path;
    this.size = size;
    this.#descriptor = descriptor;
  }

  /**
   * Opens a regular file. Directories, pipes and devices are refused before they can block or never end.
   * Throws WireError `not-found`, `not-a-file` or `unreadable`.
   */
  static open(path: string): FileSource {
    const before = attempt(path, "opened", () => statSync(path));
    if (!before.isFile()) {
      const what = before.isDirectory() ? "a directory" : before.isFIFO() ? "a pipe" : "a device or socket";
      throw new WireError("not-a-file", `${path}: is ${what}, expected a regular file`);
    }
    const descriptor = attempt(path, "opened", () =>
      openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    );
    const opened = fstatSync(descriptor);
    if (!opened.isFile() || opened.ino !== before.ino || opened.dev !== before.dev) {
      closeSync(descriptor);
      throw new WireError("file-changed", `${path}: was replaced while it was being opened`);
    }
    return new FileSource(path, descriptor, opened.size);
  }

  /** Opens the very file that was looked at before. Throws WireError `file-changed` where another has its place. */
  static openExactly({ path, device, inode }: FileIdentity): FileSource {
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
    const descriptor = attempt(path, "opened", () => openSync(path, flags));
    const opened = fstatSync(descriptor);
    if (opened.dev !== device || opened.ino !== inode) {
      closeSync(descriptor);
      throw new WireError("file-changed", `${path}: was replaced after it was checked`);
    }
    return new FileSource(path, descriptor, opened.size);
  }

  readInto(offset: number, target: Uint8Array): void {
    let done = 0;
    while (done < target.length) {
      const from = done;
      const count = attempt(this.name, "read", () =>
        readSync(this.#descriptor, target, from, target.length - from, offset + from),
      );
      if (count === 0) throw truncated(this, offset, target.length);
      done += count;
    }
  }

  close(): void {
    if (this.#open) closeSync(this.#descriptor);
    this.#open = false;
  }
}

/** Turns the system's error into ours, with its code kept in the message. */
function attempt<T>(path: string, what: "opened" | "read", action: () => T): T {
  try {
    return action();
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (reason === "ENOENT" || reason === "ENOTDIR") {
      throw new WireError("not-found", `${path}: ${absence(path)}`, { cause: error });
    }
    if (reason === "ELOOP")
      throw new WireError("symbolic-link", `${path}: ${linkFault(path)}`, { cause: error });
    throw new WireError("unreadable", `${path}: cannot be ${what} (${reason})`, { cause: error });
  }
}

function absence(path: string): string {
  // Node's for what is not UTF-8 on the command line.
  return path.includes("\ufffd") ? "no such file, or its name is not UTF-8: rename it" : "no such file";
}

/** A link is a fault of its own where the very file was asked for. */
function linkFault(path: string): string {
  try {
    statSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ELOOP")
      return "is a loop of symbolic links";
  }
  return "is a symbolic link, where none may be";
}
