/** @file Where `--cache` keeps what lint found: a folder of the user's own, and the files in it. */
import { lstatSync, utimesSync } from "node:fs";
import { join, resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { foreignOwner, projectAround } from "./find-config.ts";
import { statOf } from "./look.ts";
import { makeFolder } from "./make-folder.ts";
import { isSystem, pruneOwnFiles, readOwnFile, writeOwnFile } from "./own-file.ts";
import { userCache } from "./user-cache.ts";

/** Undefined where the user has none. Throws InputError where `location` is no folder. */
export function cacheFolder(location: string | undefined, say: (notice: string) => void): string | undefined {
  const folder = location === undefined ? (inProject(say) ?? userCache("lint")) : resolve(location);
  if (folder === undefined) {
    say("--cache: nothing is kept: the user has no home folder; --cache-location names one");
    return undefined;
  }
  const seen = statOf(folder);
  if (typeof seen !== "string" && !seen.isDirectory())
    throw new InputError("usage", `--cache-location: "${toDisplayPath(folder)}" is no folder`);
  const problem = made(folder);
  if (problem === undefined) return folder;
  say(`--cache: nothing is kept: ${problem}`);
  return undefined;
}

/** What is wrong with a folder; undefined where it is there, and the user's own. */
function made(folder: string): string | undefined {
  const shown = toDisplayPath(folder);
  try {
    makeFolder(folder, 0o700);
    const owner = foreignOwner(folder, ownersHere());
    return owner === undefined ? undefined : `${shown} belongs to another user (${owner})`;
  } catch (error) {
    return `${shown} cannot be made (${codeOf(error)})`;
  }
}

function ownersHere(): ReadonlySet<number> {
  return new Set([process.getuid?.() ?? 0]);
}

/** Beside the nearest packages of the project; a link there may lead anywhere, and is not followed. */
function inProject(say: (notice: string) => void): string | undefined {
  for (const folder of projectAround(process.cwd()).folders) {
    const packages = join(folder, "node_modules");
    if (lookAt(packages) === "absent") continue;
    const parts = [packages, join(packages, ".cache"), join(packages, ".cache", "tc-lint")];
    const link = parts.find((part) => lookAt(part) === "other");
    if (link === undefined) return parts.at(-1);
    say(`--cache: ${toDisplayPath(link)} is a link, or no folder: the user's own cache is used`);
    return undefined;
  }
  return undefined;
}

function lookAt(path: string): "absent" | "folder" | "other" {
  const seen = lstatSync(path, { throwIfNoEntry: false });
  if (seen === undefined) return "absent";
  return seen.isDirectory() ? "folder" : "other";
}

const ending = ".lint";
const mostEntryBytes = 64 << 20;
/** Entries that are used are touched, but not with every run. */
const freshMilliseconds = 86_400_000;

/** The bytes of an entry, or undefined where there is none that is the user's own file. */
export function readEntry(folder: string, key: string): Buffer | undefined {
  const path = join(folder, key + ending);
  const file = readOwnFile(path, mostEntryBytes);
  if (file !== undefined && Date.now() - file.modifiedMilliseconds > freshMilliseconds) touch(path);
  return file?.bytes;
}

/** Another run may have removed it, or nothing may be written there: then it is as old as it looks. */
function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date());
  } catch (error) {
    if (!isSystem(error)) throw error;
  }
}

/** Returns what kept it from being written. */
export function writeEntry(folder: string, key: string, bytes: Buffer): string | undefined {
  if (bytes.length > mostEntryBytes) return undefined;
  try {
    writeOwnFile(join(folder, key + ending), bytes);
    return undefined;
  } catch (error) {
    if (isSystem(error)) return `${toDisplayPath(folder)} cannot be written to (${codeOf(error)})`;
    throw error;
  }
}

export function pruneEntries(folder: string, mostBytes: number): void {
  pruneOwnFiles(folder, ending, (sum) => sum.bytes > mostBytes);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
