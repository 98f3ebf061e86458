/** @file Makes a folder and those that it is in. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * As `mkdirSync` with `recursive` does, which never returns where a file system says ENOENT of what cannot be made in a folder that is
 * there, as /proc does.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (statSync(parent, { throwIfNoEntry: false }) === undefined && parent !== folder)
    makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another run may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
