/** @file A model of the disk, opened. Whoever has bytes, or another source of them, needs read-model.ts alone. */
import { FileSource } from "../wire/file-source.ts";
import type { ByteSource } from "../wire/source.ts";
import { DataFiles, type ReadData } from "./data-files.ts";
import { folderOf } from "./external-file.ts";
import { modelFromSource, type OpenModel, reported } from "./read-model.ts";

export {
  modelFromBytes,
  modelFromSource,
  type Notice,
  newestIrVersion,
  type OpenModel,
} from "./read-model.ts";

/**
 * Opens a model for as long as the result is not disposed; `read` may put itself between it and its file, `readData` between it and its
 * external data. Throws InputError.
 */
export function openModel(
  path: string,
  read?: (file: ByteSource) => ByteSource,
  readData?: ReadData,
): OpenModel {
  return reported(() => {
    const file = FileSource.open(path);
    const source = read?.(file) ?? file;
    try {
      return modelFromSource(source, new DataFiles(folderOf(path), undefined, readData));
    } catch (error) {
      source.close();
      throw error;
    }
  });
}
