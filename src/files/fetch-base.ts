/** @file What a shallow clone lacks of the commit that it is compared with: the commit, and what Git LFS has of its models. */
import { InputError } from "../ir/errors.ts";
import type { BaseFile, BaseRevision } from "./base-revision.ts";
import { gitLine, gitOutput, runGit } from "./git.ts";

/** The commit that a name stands for, fetched from `origin` where it is not here. Throws InputError `unknown-ref`. */
export function fetchedCommit(folder: string, ref: string): string {
  const commit = commitHere(folder, ref);
  if (commit !== undefined) return commit;
  if (!ref.startsWith("-")) {
    const flags = ["--quiet", "--no-tags", "--no-recurse-submodules"];
    // A depth would cut the history of a whole clone off where it is fetched.
    const depth = isShallow(folder) ? ["--depth=1"] : [];
    const { status, stderr } = runGit(folder, ["fetch", ...flags, ...depth, "origin", ref]);
    const fetched = status === 0 ? commitHere(folder, "FETCH_HEAD") : undefined;
    if (fetched !== undefined) return fetched;
    const [said = ""] = stderr.trim().split("\n");
    throw new InputError(
      "unknown-ref",
      `base ${ref}: is not here, and cannot be fetched (${said}); actions/checkout with fetch-depth: 0 has it`,
    );
  }
  throw new InputError("unknown-ref", `base ${ref}: is no name of a commit`);
}

function isShallow(folder: string): boolean {
  return gitLine(folder, ["rev-parse", "--is-shallow-repository"]) !== "false";
}

function commitHere(folder: string, ref: string): string | undefined {
  if (ref.startsWith("-")) return undefined;
  return gitLine(folder, ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
}

export interface PullRequestBase {
  readonly commit: string;
  /** Where the branch left the base, or the base that it was merged onto; else what others merged since counts as the change's own. */
  readonly isExact: boolean;
}

/**
 * What the checked-out commit is to be compared with, where a pull request says that it is of `head` into `base`. A merge of the two,
 * which is what GitHub checks out, was made onto its first parent: `base` may be older. Of the branch itself, it is where the branch left
 * `base`, as far as a shallow clone knows.
 */
export function pullRequestBase(
  folder: string,
  { base, head }: { base: string; head: string },
): PullRequestBase {
  // Where history is cut off, the commit itself still names its parents.
  const lines = gitOutput(folder, ["cat-file", "commit", "HEAD"]).toString("utf8").split("\n\n", 1)[0];
  const [first, second] = [...(lines ?? "").matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, oid]) => oid);
  if (first !== undefined && second === head) return { commit: fetchedCommit(folder, first), isExact: true };
  if (commitHere(folder, "HEAD") === base)
    throw new InputError("wrong-checkout", "what is checked out is the pull request's base, not its change");
  const commit = fetchedCommit(folder, base);
  const left = gitLine(folder, ["merge-base", commit, "HEAD"]);
  return { commit: left ?? commit, isExact: left !== undefined };
}

/** Files of the tracked working tree that differ from the commit, deleted ones too: relative to the root, with `/`. */
export function changedFiles(root: string, commit: string): ReadonlySet<string> {
  const flags = [
    "--name-only",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules",
  ];
  const output = gitOutput(root, ["diff", ...flags, commit, "--"]).toString("utf8");
  return new Set(output.split("\0").filter((path) => path !== ""));
}

/** Where the objects of Git LFS are not here; what cannot be fetched is said by whoever wants it. */
export function fetchLfsObjects(revision: BaseRevision): void {
  const { changed, deleted, renamed } = revision.differences([]);
  const missing = [...changed, ...deleted, ...renamed.values()].filter((path) => isMissing(revision, path));
  if (missing.length === 0) return;
  // A list separated by commas, of patterns.
  const include = missing.map((path) => path.replaceAll(/[,*?[\]\\]/g, "?")).join(",");
  runGit(revision.root, ["lfs", "fetch", "origin", revision.commit, `--include=${include}`, "--exclude="]);
}

function isMissing(revision: BaseRevision, path: string): boolean {
  try {
    const file: BaseFile | undefined = revision.fileAt(path);
    if (file?.pointer !== undefined) revision.storedAt(file);
    return false;
  } catch (error) {
    if (error instanceof InputError) return error.code === "lfs-not-fetched";
    throw error;
  }
}
