/** @file The archive of `--inputs` and `--samples`. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../ir/errors.ts";
import { readNpz } from "../verify/npz.ts";
import type { Tensors } from "../verify/tensor.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";

/** A Buffer holds no more than this everywhere. */
const maxBytes = 2 ** 31 - 1;

/** A NumPy archive of arrays by the names of inputs. Throws InputError. */
export function readInputs(path: string): Tensors {
  try {
    return readNpz(readSmallFile(path, maxBytes), path);
  } catch (error) {
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}

/** One set of inputs an archive; a folder's archives in the order of their names. Throws InputError. */
export function readSamples(path: string): readonly Tensors[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError("unreadable", `--samples: ${path}: no such file or folder`);
  const files = stats.isDirectory()
    ? readdirSync(path)
        .filter((name) => name.endsWith(".npz"))
        .sort()
        .map((name) => join(path, name))
    : [path];
  if (files.length === 0) throw new InputError("unreadable", `--samples: ${path}: holds no .npz file`);
  return files.map(readInputs);
}
