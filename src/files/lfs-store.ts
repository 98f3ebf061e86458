/** @file What Git LFS has fetched: pointers, and the objects that they stand for. */
import { constants, copyFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { bytesText } from "../ir/memory.ts";
import { gitLine } from "./git.ts";
import { statOf } from "./look.ts";

export interface LfsPointer {
  readonly sha256: string;
  readonly bytes: number;
}

/** Undefined where it is something else. */
export function pointerIn(content: Buffer): LfsPointer | undefined {
  const text = content.toString("latin1");
  if (!text.startsWith("version https://git-lfs.github.com/spec/")) return undefined;
  const sha256 = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const bytes = /^size (\d{1,16})$/m.exec(text)?.[1];
  return sha256 === undefined || bytes === undefined ? undefined : { sha256, bytes: Number(bytes) };
}

export class LfsStore {
  readonly #root: string;
  #folder: string | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** The file that holds the content. Throws InputError `lfs-not-fetched` where it is not there, or not whole. */
  objectOf(
    { sha256, bytes }: LfsPointer,
    { named, ref, path }: { readonly named: string; readonly ref: string; readonly path: string },
  ): string {
    this.#folder ??= this.#storage();
    const object = join(this.#folder, "objects", sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    const seen = statOf(object);
    if (typeof seen !== "string" && seen.isFile() && seen.size === bytes) return object;
    throw new InputError(
      "lfs-not-fetched",
      `${named}: Git LFS has its content (${bytesText(bytes)}, sha256 ${sha256.slice(0, 12)}) elsewhere; run: git lfs fetch origin "${ref}" --include="${path}"`,
    );
  }

  /** Without a copy of the bytes, where the file system can share them. */
  copy(object: string, to: string): void {
    copyFileSync(object, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  }

  #storage(): string {
    const git = resolve(this.#root, gitLine(this.#root, ["rev-parse", "--git-common-dir"]) ?? ".git");
    const configured = gitLine(this.#root, ["config", "--get", "lfs.storage"]) ?? "lfs";
    return isAbsolute(configured) ? configured : join(git, configured);
  }
}
