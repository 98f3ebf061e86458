/**
 * @file Which file of the disk external data may lead to.
 *
 * A model is untrusted. Its data must lie in the model's own folder, as the user names it or as symbolic links resolve
 * it (Hugging Face's cache links both model and data into one folder of blobs). Everything else is refused by name.
 */
import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { WireError } from "../wire/error.ts";
import { type FileIdentity, FileSource } from "../wire/file-source.ts";
import type { DataFolder } from "./data-files.ts";

export interface ExternalFile extends FileIdentity {
  readonly bytes: number;
}

/**
 * The data file, to be opened by its identity alone, or undefined where it is not there.
 * Throws WireError `external-path` where links lead out of the model's folders.
 */
export function resolveExternal(modelPath: string, location: string): ExternalFile | undefined {
  const homes = () => [realpathSync(dirname(modelPath)), dirname(realpathSync(modelPath))];
  return resolveWithin(homes, modelPath, location);
}

/** The same for a model that will be at `modelPath`, in a folder without symbolic links; undefined also where it may not lead there. */
export function resolveFromNew(modelPath: string, location: string): ExternalFile | undefined {
  try {
    return resolveWithin(() => [dirname(modelPath)], modelPath, location);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The folder that a model's path says, and the one that its links lead to. */
export function folderOf(modelPath: string): DataFolder {
  return {
    find: (location) => {
      const found = resolveExternal(modelPath, location);
      return found && { bytes: found.bytes, open: () => FileSource.openExactly(found) };
    },
  };
}

function resolveWithin(
  homesOf: () => readonly string[],
  modelPath: string,
  location: string,
): ExternalFile | undefined {
  const refuse = (why: string) =>
    new WireError("external-path", `${modelPath}: external data "${location}" ${why}`);
  let path: string;
  try {
    path = realpathSync(join(dirname(modelPath), location));
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return undefined;
    }
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw refuse(`cannot be resolved (${reason})`);
  }
  if (!homesOf().some((home) => path.startsWith(home.endsWith(sep) ? home : home + sep))) {
    throw refuse("leads out of the model's folder through a symbolic link");
  }
  // The path holds no links any more: one that appears now was put there since.
  const stats = lstatSync(path);
  if (!stats.isFile()) throw refuse("is not a regular file");
  if (stats.nlink > 1)
    throw refuse(`is a hard link (${stats.nlink} names), which may alias a file elsewhere`);
  return { path, device: stats.dev, inode: stats.ino, bytes: stats.size };
}
