/**
 * @file Which configuration a model gets: the nearest one upward from its folder.
 *
 * A model's folder may be anybody's: downloaded, unpacked, shared. What is found there is read as data, and may lead
 * nowhere else. Code runs where the user stands (the working directory and above it, up to the project's root) or where
 * `--config` names it. Files of other users are passed over, as Git does with theirs.
 */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { InputError } from "../ir/errors.ts";
import { JsonError, parseJson } from "../settings/json.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { look } from "./look.ts";

const stem = "tc-lint.config";
const codeEndings = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"] as const;
const dataEndings = [".json", ".jsonc"] as const;
export const configNames = [...codeEndings, ...dataEndings].map((ending) => `${stem}${ending}`);

/** What other tools would read by such names. */
const unreadNames = [
  ...["", ".json", ".jsonc", ".js", ".cjs", ".mjs", ".yaml", ".yml"].map((ending) => `.tc-lintrc${ending}`),
  ...[".yaml", ".yml", ".toml", ".json5"].map((ending) => `${stem}${ending}`),
  ...["tc-lint.json", "tc-lint.jsonc"],
];
const manifestKey = "tc-lint";

export function isDataFile(file: string): boolean {
  return dataEndings.some((ending) => file.endsWith(ending));
}

/** What a configuration may do. `root`: the folder that everything it names must lie in; undefined for no bound. */
export interface Trust {
  readonly code: boolean;
  readonly root: string | undefined;
  /** Whose code may run; undefined for anybody's, as where the command line names it. */
  readonly owners?: ReadonlySet<number>;
}

/** Of a file that the command line names. */
export const named: Trust = { code: true, root: undefined };

export interface FoundConfig {
  readonly file: string;
  readonly trust: Trust;
}

/** Looks into each folder once. */
export class ConfigFinder {
  readonly #project: Project;
  readonly #byFolder = new Map<string, FoundConfig | undefined>();
  readonly #say: (notice: string) => void;

  /** `say` gets a notice of every file that is passed over. */
  constructor(workingFolder: string, say: (notice: string) => void) {
    this.#project = projectAround(workingFolder);
    this.#say = say;
  }

  /** Throws InputError where a folder of the project holds two. */
  nearest(modelPath: string): FoundConfig | undefined {
    return this.#find(dirname(resolve(modelPath)));
  }

  #find(folder: string): FoundConfig | undefined {
    if (this.#byFolder.has(folder)) return this.#byFolder.get(folder);
    const parent = dirname(folder);
    const found = this.#in(folder) ?? (parent === folder ? undefined : this.#find(parent));
    this.#byFolder.set(folder, found);
    return found;
  }

  #in(folder: string): FoundConfig | undefined {
    this.#sayUnread(folder);
    const isHere = this.#project.folders.has(folder);
    const [first, ...more] = configNames
      .map((name) => join(folder, name))
      .filter((file) => this.#isThere(file) && this.#mayRead(file) && (isHere || !this.#isPassedOver(file)));
    if (first !== undefined && more.length > 0) {
      const names = [first, ...more].map(toDisplayPath).join(" and ");
      throw new InputError(
        "bad-config",
        `${names} lie in one folder: keep one of them, or say which with --config`,
      );
    }
    if (first === undefined) return undefined;
    return {
      file: first,
      trust: isHere
        ? { ...named, owners: this.#project.owners }
        : { code: false, root: this.#rootOf(folder) },
    };
  }

  /** A file that somebody wrote for nothing is a mistake that nobody sees. */
  #sayUnread(folder: string): void {
    const unread = unreadNames.filter((name) => look(join(folder, name)) === "there");
    const manifest = join(folder, "package.json");
    const named = unread.map((name) => toDisplayPath(join(folder, name)));
    if (hasOwnKey(manifest)) named.push(`"${manifestKey}" in ${toDisplayPath(manifest)}`);
    if (named.length > 0)
      this.#say(
        `${named.join(", ")}: not read: a configuration is a file named ${stem} with ${codeEndings.join(", ")}, .json or .jsonc`,
      );
  }

  #isThere(file: string): boolean {
    const seen = look(file);
    if (seen === "hidden")
      this.#say(`${toDisplayPath(file)}: not used, if it is there: it cannot be looked at`);
    return seen === "there";
  }

  #mayRead(file: string): boolean {
    const owner = foreignOwner(file, this.#project.owners);
    if (owner === undefined) return true;
    this.#say(
      `${toDisplayPath(file)}: not used: it belongs to another user (${owner}); name it with --config`,
    );
    return false;
  }

  #isPassedOver(file: string): boolean {
    if (isDataFile(file)) return false;
    const why =
      this.#project.folders.size > 0
        ? "it is code beside a model"
        : "it is code, and the working directory is in no project (package.json or .git)";
    this.#say(`${toDisplayPath(file)}: not run: ${why}; name it with --config to run it`);
    return true;
  }

  /** A model of the project may share what the project has. */
  #rootOf(folder: string): string {
    return isWithin(folder, this.#project.root) ? this.#project.root : folder;
  }
}

/** The file is npm's: whatever else is wrong with it is not said here. */
function hasOwnKey(manifest: string): boolean {
  if (look(manifest) !== "there") return false;
  try {
    const value = parseJson(readSmallFile(manifest).toString("utf8"));
    return typeof value === "object" && value !== null && Object.hasOwn(value, manifestKey);
  } catch (error) {
    if (error instanceof JsonError || error instanceof WireError) return false;
    throw error;
  }
}

export interface Project {
  readonly root: string;
  /** From the working directory up to the root; none where it is in no project. */
  readonly folders: ReadonlySet<string>;
  /** The user, the system, and whoever owns the working directory. */
  readonly owners: ReadonlySet<number>;
}

/** Who else a file belongs to, or the link that it is: whoever made the link says what it leads to. */
export function foreignOwner(file: string, owners: ReadonlySet<number>): number | undefined {
  if (process.getuid === undefined) return undefined;
  return [lstatSync(file).uid, statSync(file).uid].find((owner) => !owners.has(owner));
}

/** Up to the nearest repository, else the nearest package. A folder that is in neither is nobody's project. */
export function projectAround(workingFolder: string): Project {
  const start = resolve(workingFolder);
  const above: string[] = [];
  for (let folder = start; ; folder = dirname(folder)) {
    above.push(folder);
    if (dirname(folder) === folder) break;
  }
  const owners = new Set([process.getuid?.() ?? 0, 0, statSync(start).uid]);
  // What somebody else puts into a folder above makes no project of it.
  const holding = (name: string) =>
    above.findIndex((folder) => {
      const file = join(folder, name);
      return look(file) === "there" && foreignOwner(file, owners) === undefined;
    });
  const [repository, manifest] = [holding(".git"), holding("package.json")];
  const isProject = repository >= 0 || manifest >= 0;
  const last = repository >= 0 ? repository : Math.max(0, manifest);
  return {
    root: above[last] ?? start,
    folders: new Set(isProject ? above.slice(0, last + 1) : []),
    owners,
  };
}

/** Throws InputError `bad-config` where `path`, links resolved, leads out of what `file` may name. */
export function checkReach(path: string, file: string, { root }: Trust, what: string): void {
  if (root === undefined) return;
  const real = look(path) === "there" ? realpathSync(path) : resolve(path);
  if (isWithin(real, realpathSync(root))) return;
  const where = toDisplayPath(file);
  throw new InputError(
    "bad-config",
    `${where}: ${what} leads out of ${toDisplayPath(root)}, which a configuration beside a model may not; name it with --config`,
  );
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
