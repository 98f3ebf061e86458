/** @file Paths as reports show them. */
import { isAbsolute, relative, resolve, sep } from "node:path";
import { cwd } from "node:process";

/** Relative to where the user stands, with `/`, where the path lies below it; else as given. */
export function toDisplayPath(path: string): string {
  const below = relative(cwd(), resolve(path));
  const leaves = below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
  return (leaves || below === "" ? path : below).replaceAll(sep, "/");
}

/** What patterns of a configuration are held against: relative to its folder, with `/`. */
export function pathBelow(folder: string, path: string): string {
  return relative(folder, resolve(path)).replaceAll(sep, "/");
}
