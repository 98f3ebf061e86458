/** @file Paths as reports show them and patterns match them: with `/`, whatever the system has between folders. */

import { isAbsolute, type PlatformPath, relative, resolve, sep } from "node:path";
import { cwd } from "node:process";

/** How a system writes paths; the functions that take one are those of the system where none is given. */
export type PathStyle = Pick<PlatformPath, "isAbsolute" | "relative" | "resolve" | "sep">;

const ofSystem: PathStyle = { isAbsolute, relative, resolve, sep };

/** Relative to where the user stands, with `/`, where the path lies below it; else as given. */
export function toDisplayPath(path: string): string {
  return displayPath(path, cwd());
}

export function displayPath(path: string, here: string, style: PathStyle = ofSystem): string {
  const below = style.relative(here, style.resolve(here, path));
  const leaves = below === ".." || below.startsWith(`..${style.sep}`) || style.isAbsolute(below);
  return withSlashes(leaves || below === "" ? path : below, style);
}

/** What patterns of a configuration are held against: relative to its folder, with `/`. */
export function pathBelow(folder: string, path: string, style: PathStyle = ofSystem): string {
  return withSlashes(style.relative(folder, style.resolve(path)), style);
}

/**
 * A path, or a pattern of the command line, with `/`. Where `\` parts folders no name holds one, so that it cannot stand before a literal
 * character either.
 */
export function withSlashes(path: string, style: PathStyle = ofSystem): string {
  return path.replaceAll(style.sep, "/");
}
