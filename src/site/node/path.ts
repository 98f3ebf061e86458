/** @file What the engine uses of node:path, for names of dropped files: there is no folder that a path could start from. */
import { missing } from "./missing.ts";

export const sep = "/";

export function dirname(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "." : path.slice(0, Math.max(at, 1));
}

/** Of a folder and a name in it. */
export function join(folder: string, name: string): string {
  return folder === "." ? name : `${folder}/${name}`;
}

export const isAbsolute = missing("path.isAbsolute");
export const relative = missing("path.relative");
export const resolve = missing("path.resolve");
