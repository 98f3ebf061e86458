/** @file A folder for models that nobody keeps. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepOnSignal, removeOnSignal } from "./cleanup.ts";

/** What `work` makes of a new folder, which is gone when it is done, or when a signal ends the process. */
export async function inTemporaryFolder<T>(
  purpose: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), `tc-lint-${purpose}-`));
  removeOnSignal(folder);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    keepOnSignal(folder);
  }
}

/** The same with a file `model.onnx` of these bytes in it. */
export function withTemporaryModel<T>(
  purpose: string,
  bytes: Uint8Array,
  work: (path: string, folder: string) => Promise<T>,
): Promise<T> {
  return inTemporaryFolder(purpose, (folder) => {
    const path = join(folder, "model.onnx");
    writeFileSync(path, bytes);
    return work(path, folder);
  });
}
