/** @file What Git ignores, of a folder that is walked: rules of .gitignore files are data, and Git itself is not run for them. */
import { lstatSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { counted } from "../ir/format.ts";
import { type GitPattern, gitPattern } from "../settings/git-pattern.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { look } from "./look.ts";

/** Whoever writes a .gitignore by hand has fewer; each is matched with every file. */
const mostPatterns = 1000;

/** The rules that hold in a folder: its own, and those of the folders above it up to the root of its repository. */
export class IgnoreRules {
  readonly #folder: string;
  readonly #patterns: readonly GitPattern[];
  readonly #above: IgnoreRules | undefined;
  readonly #say: (notice: string) => void;

  private constructor(folder: string, above: IgnoreRules | undefined, say: (notice: string) => void) {
    this.#folder = folder;
    this.#above = above;
    this.#say = say;
    const files = above === undefined ? [".git/info/exclude", ".gitignore"] : [".gitignore"];
    this.#patterns = files.flatMap((name) => patternsOf(join(folder, name), say));
  }

  /** Of a folder; undefined where it is in no repository. `say` gets a notice of every file that is passed over. */
  static of(path: string, say: (notice: string) => void): IgnoreRules | undefined {
    const folder = resolve(path);
    if (look(join(folder, ".git")) === "there") return new IgnoreRules(folder, undefined, say);
    const parent = dirname(folder);
    const above = parent === folder ? undefined : IgnoreRules.of(parent, say);
    return above && new IgnoreRules(folder, above, say);
  }

  /** Of a folder in this one: a repository in a repository has rules of its own. */
  in(path: string): IgnoreRules {
    const folder = resolve(path);
    const isRepository = look(join(folder, ".git")) === "there";
    return new IgnoreRules(folder, isRepository ? undefined : this, this.#say);
  }

  /** The last rule that matches decides, the nearest file first. */
  ignores(path: string, isFolder: boolean): boolean {
    const below = relative(this.#folder, resolve(path)).replaceAll(sep, "/");
    const decides = this.#patterns.findLast(
      ({ foldersOnly, matches }) => (isFolder || !foldersOnly) && matches(below),
    );
    return decides === undefined ? (this.#above?.ignores(path, isFolder) ?? false) : !decides.negated;
  }
}

function patternsOf(file: string, say: (notice: string) => void): readonly GitPattern[] {
  if (look(file) !== "there") return [];
  // Git does not follow links here either: what they lead to is no list of patterns.
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return [];
  try {
    const patterns = readSmallFile(file)
      .toString("utf8")
      .split("\n")
      .flatMap((line) => gitPattern(line) ?? []);
    if (patterns.length <= mostPatterns) return patterns;
    say(
      `${toDisplayPath(file)}: not used: has ${counted(patterns.length, "pattern")}, expected at most ${mostPatterns}`,
    );
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    say(`${toDisplayPath(file)}: not used: ${error.message}`);
  }
  return [];
}
