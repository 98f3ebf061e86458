/** @file A model of a commit as files that can be opened, with the weights that lie beside it there. */
import { basename, dirname, join, posix } from "node:path";
import { InputError } from "../ir/errors.ts";
import { Guard, type Limits } from "../limits/guard.ts";
import { answerSignals } from "../onnx/cleanup.ts";
import { openModel } from "../onnx/open.ts";
import { weightFiles } from "../onnx/weights.ts";
import type { BaseFile, BaseRevision } from "./base-revision.ts";
import { makeFolder } from "./make-folder.ts";

export interface Materialized {
  /** Opens. */
  readonly path: string;
  readonly notices: readonly { readonly code: string; readonly message: string }[];
}

/**
 * What Git LFS has is opened where it lies, unless weights belong beside it; the rest is written into `folder`. Throws InputError
 * where the content is not here.
 */
export async function materialize(
  revision: BaseRevision,
  file: BaseFile,
  folder: string,
  limits: Limits,
): Promise<Materialized> {
  const stored = revision.storedAt(file);
  const path = join(folder, basename(file.path));
  if (stored === undefined) revision.write(file, path);
  await answerSignals();
  const guard = new Guard({ path: stored ?? path, doing: "comparing", ...limits });
  const locations = guard.runRepeatable(() => locationsOf(stored ?? path));
  const data = locations.flatMap((location) => {
    const found = revision.fileAt(posix.join(dirname(file.path), location.replaceAll("\\", "/")));
    return found === undefined ? [] : [{ location, found }];
  });
  if (data.length === 0) return { path: stored ?? path, notices: [] };
  if (stored !== undefined) revision.write(file, path);
  return {
    path,
    notices: data.flatMap(({ location, found }) => written(revision, found, join(folder, location))),
  };
}

/** Of its weights, as the model names them; none of one that cannot be read: who opens it next says why. */
export function locationsOf(path: string): string[] {
  try {
    using model = openModel(path);
    return weightFiles(model).map(({ location }) => location);
  } catch (error) {
    if (error instanceof InputError) return [];
    throw error;
  }
}

/** Weights that are not here are said, as of any model: shapes are enough to price it. */
function written(revision: BaseRevision, file: BaseFile, to: string): Materialized["notices"] {
  try {
    makeFolder(dirname(to));
    revision.write(file, to);
    return [];
  } catch (error) {
    if (error instanceof InputError && error.code === "lfs-not-fetched")
      return [{ code: error.code, message: error.message }];
    throw error;
  }
}
