/** @file What a commit of a model would keep and nothing reads any more: data that its last commit has, as a fix in place leaves it. */
import { readdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { InputError } from "../ir/errors.ts";
import { modelFromBytes, openModel } from "../onnx/open.ts";
import { externalRanges } from "../onnx/weights.ts";
import { repositoryRoot, runGit } from "./git.ts";
import { trackedIn } from "./untracked-data.ts";

/** Of a model whose weights lie beside it. */
const mostBytes = 64 << 20;

/**
 * Files that the last commit's model refers to and this one does not, that Git tracks, and that no model of this folder or of one above it refers to: no other can. `data` are
 * those that it refers to. None where something beside it cannot be read. Throws InputError `foreign-repository` where Git may not look.
 */
export function orphanedData(model: string, data: readonly string[]): string[] {
  const folder = dirname(model);
  const committed = committedBytes(folder, basename(model));
  const before = committed === undefined ? undefined : namedIn(() => modelFromBytes(committed));
  const left = (before ?? []).filter((name) => !data.some((path) => relative(folder, path) === name));
  if (left.length === 0) return [];
  const tracked = trackedIn(folder, left);
  const kept = new Set<string>();
  for (const other of modelsAbove(folder)) {
    if (relative(model, other) === "") continue;
    const names = namedIn(() => openModel(other));
    if (names === undefined) return [];
    for (const name of names) kept.add(relative(folder, join(dirname(other), name)));
  }
  return left.filter((name) => tracked.has(name) && !kept.has(name)).map((name) => join(folder, name));
}

/** Undefined where there is none, it is the same, or it has its weights within it. */
function committedBytes(folder: string, name: string): Buffer | undefined {
  const object = `HEAD:./${name}`;
  if (runGit(folder, ["--literal-pathspecs", "diff", "--quiet", "HEAD", "--", name]).status !== 1)
    return undefined;
  const size = runGit(folder, ["cat-file", "-s", object]);
  if (size.status !== 0 || Number(size.stdout) > mostBytes) return undefined;
  const { status, stdout } = runGit(folder, ["cat-file", "blob", object]);
  return status === 0 ? stdout : undefined;
}

/** Names of its external data, as seen from its folder; undefined of what cannot be read. */
function namedIn(open: () => ReturnType<typeof openModel>): string[] | undefined {
  try {
    using model = open();
    return [...externalRanges(model).keys()].map((name) => join(name));
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

function modelsAbove(folder: string): string[] {
  const root = repositoryRoot(folder);
  const depth = root === undefined ? 0 : relative(root, folder).split(/[\\/]/).filter(Boolean).length;
  const folders = Array.from({ length: depth + 1 }, (_, up) => join(folder, ...Array<string>(up).fill("..")));
  return folders.flatMap((each) =>
    readdirSync(each)
      .filter((name) => name.endsWith(".onnx"))
      .map((name) => join(each, name)),
  );
}
