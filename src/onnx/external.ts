/**
 * @file External data: what an entry may say, and which file it may lead to.
 *
 * A model is untrusted. Its data must lie in the model's own folder, as the user names it or as symbolic links resolve
 * it (Hugging Face's cache links both model and data into one folder of blobs). Everything else is refused by name.
 */
import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { TensorData } from "../ir/model.ts";
import { WireError } from "../wire/error.ts";
import type { FileIdentity } from "../wire/source.ts";
import { intern } from "./compact.ts";

export interface ExternalEntry {
  readonly key: string;
  readonly value: string;
}

/** Keys of onnx.proto's external_data, and those ONNX Runtime adds for prepacked weights. */
const knownKeys = /^(location|offset|length|checksum|basepath|prepacked_\d+)$/;
/** ONNX Runtime marks tensors that live in its own memory with this location. */
const memoryMarker = "_ORT_MEM_ADDR_";

type Fail = (code: string, what: string) => Error;

/** The entries of one tensor, checked. `expected` is the size its dims call for, in bytes. */
export function externalData(
  entries: readonly ExternalEntry[],
  expected: number | undefined,
  fail: Fail,
): TensorData {
  const values = new Map<string, string>();
  for (const { key, value } of entries) {
    if (!knownKeys.test(key)) throw fail("external-key", `external data has the unknown key "${key}"`);
    if (values.has(key)) throw fail("external-key", `external data gives "${key}" twice`);
    values.set(key, value);
  }
  const location = values.get("location") ?? "";
  checkLocation(location, fail);
  const offset = wholeNumber("offset", values.get("offset"), fail) ?? 0;
  const length = wholeNumber("length", values.get("length"), fail);
  if (length !== undefined && expected !== undefined && length !== expected) {
    throw fail("external-length", `external length is ${length} bytes, but the dims call for ${expected}`);
  }
  return { kind: "external", location: intern(location), offset, length: length ?? expected };
}

function wholeNumber(key: string, text: string | undefined, fail: Fail): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw fail("external-number", `external ${key} is "${text}", expected a whole number of bytes`);
  }
  return value;
}

function checkLocation(location: string, fail: Fail): void {
  const refuse = (why: string) => fail("external-path", `external data location "${location}" ${why}`);
  if (location === "") throw fail("external-path", "external data has no location");
  if (location.includes("\0")) throw refuse("holds a NUL byte");
  if (location.includes(memoryMarker)) throw refuse("points into another program's memory");
  if (/^([/\\]|[A-Za-z]:)/.test(location))
    throw refuse("is absolute, expected a path inside the model's folder");
  if (location.split(/[/\\]/).includes("..")) throw refuse("leaves the model's folder");
}

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
