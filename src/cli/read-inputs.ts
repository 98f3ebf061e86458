/** @file The archive of `--inputs` and `--samples`. */
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
