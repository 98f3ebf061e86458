/** @file A line of a .gitignore as a matcher of paths relative to the folder that it lies in. */
import { matchesPlainly } from "./glob.ts";

export interface GitPattern {
  /** What it matches is not ignored after all. */
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

/** Longer lines are no patterns that a person wrote. */
const maxLength = 1024;

/** Undefined where the line says nothing. */
export function gitPattern(line: string): GitPattern | undefined {
  const text = withoutTrailingSpace(line.replace(/\r$/, ""));
  if (text === "" || text.startsWith("#") || text.length > maxLength) return undefined;
  const negated = text.startsWith("!");
  const body = negated ? text.slice(1) : text;
  const foldersOnly = body.endsWith("/");
  const path = foldersOnly ? body.slice(0, -1) : body;
  if (path === "") return undefined;
  // One with a slash is about this folder, any other about all below it.
  const pattern = path.includes("/") ? path.replace(/^\//, "") : `**/${path}`;
  return { negated, foldersOnly, matches: matchesPlainly(pattern) };
}

/** A space at the end counts where it is escaped. */
function withoutTrailingSpace(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end -= 1;
  return line.slice(0, end);
}
