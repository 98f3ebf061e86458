/** @file Models as a commit of the repository has them: which differ from the working tree, and their contents. */
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { InputError } from "../ir/errors.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { gitLine, gitOutput, repositoryRoot } from "./git.ts";
import { type LfsPointer, LfsStore, pointerIn } from "./lfs-store.ts";
import { look, statOf } from "./look.ts";

/** A file of the commit. */
export interface BaseFile {
  /** Relative to the repository's root, with `/`. */
  readonly path: string;
  readonly oid: string;
  /** Of what Git stores: a pointer, where Git LFS has the content. */
  readonly bytes: number;
  readonly pointer: LfsPointer | undefined;
}

export interface Differences {
  /** Paths in the working tree, relative to the root, and where each was. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly changed: ReadonlySet<string>;
  /** In the commit, and not in the working tree. */
  readonly deleted: readonly string[];
}

const symlinkMode = "120000";
const folderType = "tree";
const fileType = "blob";

export class BaseRevision {
  readonly ref: string;
  readonly commit: string;
  readonly root: string;
  readonly #lfs: LfsStore;

  /** Throws InputError `not-a-repository`, `foreign-repository` or `unknown-ref`. */
  constructor(ref: string, folder: string) {
    const root = repositoryRoot(folder);
    if (root === undefined)
      throw new InputError(
        "not-a-repository",
        `--base ${ref}: ${toDisplayPath(folder)} is in no Git repository`,
      );
    this.ref = ref;
    this.root = realpathSync(root);
    this.commit = commitOf(ref, this.root);
    this.#lfs = new LfsStore(this.root);
  }

  /** Of the working tree, the place below the root. Throws InputError where it lies in no or in another repository. */
  placeOf(path: string): string {
    const full = resolve(path);
    const folder = look(dirname(full)) === "there" ? realpathSync(dirname(full)) : dirname(full);
    const below = relative(this.root, join(folder, basename(full)));
    if (below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below))
      throw new InputError(
        "outside-repository",
        `${path}: lies outside of ${this.root}, the repository of --base ${this.ref}`,
      );
    for (let inner = dirname(below); inner !== "."; inner = dirname(inner)) {
      if (look(join(this.root, inner, ".git")) === "there")
        throw new InputError(
          "other-repository",
          `${path}: lies in a repository of its own, ${inner}: run tc-lint compare there`,
        );
    }
    return below.replaceAll(sep, "/");
  }

  /** The file there, if the commit has one. Throws InputError for a symbolic link, which leads to what nobody may say. */
  fileAt(path: string): BaseFile | undefined {
    const output = gitOutput(this.root, ["ls-tree", "-l", "-z", "--full-tree", this.commit, "--", path]);
    const [entry = ""] = output.toString("utf8").split("\0");
    const [, mode, type, oid, size, name] = /^(\d+) (\w+) ([0-9a-f]+) +(\S+)\t(.*)$/s.exec(entry) ?? [];
    if (oid === undefined || name !== path || type === folderType) return undefined;
    if (type !== fileType)
      throw new InputError("other-repository", `${this.named(path)}: is a repository of its own there`);
    if (mode === symlinkMode)
      throw new InputError(
        "link-at-base",
        `${this.named(path)}: is a symbolic link there; compare what it leads to`,
      );
    const bytes = Number(size);
    const pointer = bytes < mostPointerBytes ? pointerIn(this.#contentOf(oid)) : undefined;
    return { path, oid, bytes, pointer };
  }

  /** Of a small file, not of one that Git LFS has. */
  textOf({ oid }: BaseFile): string {
    return this.#contentOf(oid).toString("utf8");
  }

  /** `main:models/a.onnx`, as Git calls it; of a whole hash as much as tells it from others. */
  named(path: string): string {
    return `${this.ref === this.commit ? this.commit.slice(0, 12) : this.ref}:${path}`;
  }

  /** Models whose content or place differs; `more`: files that are none by their name, and are compared all the same. */
  differences(more: readonly string[]): Differences {
    const specs = [":(top,icase,glob)**/*.onnx", ...more.map((path) => `:(top,literal)${path}`)];
    const flags = [
      "--raw",
      "-z",
      "-M",
      "--no-abbrev",
      "--no-ext-diff",
      "--no-textconv",
      "--ignore-submodules",
    ];
    const output = gitOutput(this.root, ["diff", ...flags, this.commit, "--", ...specs]);
    return this.#parsed(output.toString("utf8").split("\0"));
  }

  #parsed(fields: readonly string[]): Differences {
    const [renamed, changed, deleted] = [new Map<string, string>(), new Set<string>(), [] as string[]];
    for (let index = 0; index + 1 < fields.length; ) {
      const [, letter] = /^:.* ([A-Z])\d*$/.exec(fields[index] ?? "") ?? [];
      const path = fields[index + 1] ?? "";
      const isPair = letter === "R" || letter === "C";
      const to = isPair ? (fields[index + 2] ?? "") : path;
      if (letter === "R") renamed.set(to, path);
      else if (letter === "D" && look(join(this.root, path)) === "absent") deleted.push(path);
      else changed.add(to);
      index += isPair ? 3 : 2;
    }
    return { renamed, changed, deleted };
  }

  /** Whether a file of the working tree has this very content. */
  isSame(file: BaseFile, path: string): boolean {
    const seen = statOf(path);
    if (typeof seen === "string" || seen.size !== (file.pointer?.bytes ?? file.bytes)) return false;
    if (file.pointer !== undefined) return sha256Of(path) === file.pointer.sha256;
    return gitLine(this.root, ["hash-object", "--no-filters", "--", resolve(path)]) === file.oid;
  }

  /** Where the content is as a file, without a copy; undefined where Git alone has it. Throws InputError `lfs-not-fetched`. */
  storedAt(file: BaseFile): string | undefined {
    return (
      file.pointer &&
      this.#lfs.objectOf(file.pointer, { named: this.named(file.path), ref: this.ref, path: file.path })
    );
  }

  /** Writes the content to a new file. Throws InputError. */
  write(file: BaseFile, to: string): void {
    const stored = this.storedAt(file);
    if (stored !== undefined) return this.#lfs.copy(stored, to);
    const descriptor = openSync(to, "wx", 0o600);
    try {
      gitOutput(this.root, ["cat-file", "blob", file.oid], descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #contentOf(oid: string): Buffer {
    return gitOutput(this.root, ["cat-file", "blob", oid]);
  }
}

/** Pointers are smaller. */
const mostPointerBytes = 1024;

function commitOf(ref: string, root: string): string {
  // What begins with a hyphen is an option of git's, and no name that it gives a commit.
  const commit = ref.startsWith("-")
    ? undefined
    : gitLine(root, ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
  if (commit !== undefined) return commit;
  throw new InputError(
    "unknown-ref",
    `--base ${ref}: the repository has no such commit; a shallow clone may lack it: git fetch --depth=1 origin REF, and --base FETCH_HEAD`,
  );
}

const pieceBytes = 2 ** 20;

function sha256Of(path: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(pieceBytes);
  const file = openSync(path, "r");
  try {
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece))
      hash.update(piece.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}
