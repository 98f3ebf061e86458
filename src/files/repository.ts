/** @file Where things are in the repository: what CI shows a report beside, from wherever in it the command ran. */
import { realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { look, statOf } from "./look.ts";

/** What the user says of where sources lie; the first mapping whose beginning fits counts. */
export interface SourcePlaces {
  /** The folder that relative paths of exporters are below. */
  readonly root?: string | undefined;
  /** A beginning of the exporter's paths, and what is here in its place. */
  readonly mapping?: readonly (readonly [from: string, to: string])[];
}

export class Repository {
  readonly #root: string;
  readonly #here: string;
  readonly #places: SourcePlaces;
  readonly #sources = new Map<string, string | undefined>();

  /** `workspace`: where a workflow says that the checkout is (GITHUB_WORKSPACE); passed over by who stands elsewhere. */
  constructor(here: string, workspace: string | undefined, places: SourcePlaces = {}) {
    this.#here = here;
    this.#root = rootAround(here, workspace);
    this.#places = places;
  }

  /** A path of this run, relative to the root, with `/`; as it is where it lies outside. */
  pathOf(path: string): string {
    return this.#below(resolve(this.#here, path)) ?? path;
  }

  /**
   * An exporter wrote the path as its machine had it: here the same file may lie elsewhere. The longest end of it that
   * exists below the current folder or the root is taken, as long as it has a folder of its own: `model.py` alone says too
   * little. Relative to the root; what is installed is nobody's own source.
   */
  sourceOf(file: string): string | undefined {
    if (!this.#sources.has(file)) this.#sources.set(file, this.#findSource(file));
    return this.#sources.get(file);
  }

  #findSource(exported: string): string | undefined {
    if (installed.test(exported)) return undefined;
    const { root, mapping = [] } = this.#places;
    const file = mapped(exported, mapping);
    const named = root === undefined ? [] : [resolve(this.#here, root)];
    const folders = new Set([...named, this.#here, this.#root]);
    for (const folder of folders) {
      const path = resolve(folder, file);
      const below = isFile(path) ? this.#below(path) : undefined;
      if (below !== undefined) return below;
    }
    const parts = file.split(/[\\/]/).filter((part) => part !== "" && part !== "." && part !== "..");
    for (let from = 1; from <= parts.length - 2; from++) {
      for (const folder of folders) {
        const candidate = join(folder, ...parts.slice(from));
        if (isFile(candidate)) return this.#below(candidate);
      }
    }
    return undefined;
  }

  #below(path: string): string | undefined {
    const below = relative(this.#root, path);
    const leaves = below === "" || below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
    return leaves ? undefined : below.replaceAll(sep, "/");
  }
}

const installed = /(?:^|[\\/])(site|dist)-packages[\\/]/;

/** Either kind of slash, for models come from either kind of machine. */
function mapped(file: string, mapping: NonNullable<SourcePlaces["mapping"]>): string {
  const plain = file.replaceAll("\\", "/");
  for (const [from, to] of mapping) {
    const start = from.replaceAll("\\", "/").replace(/\/+$/, "");
    if (plain === start || plain.startsWith(`${start}/`)) return `${to}${plain.slice(start.length)}`;
  }
  return file;
}

/** The checkout of a workflow, else the nearest repository upward, else where the user stands. */
function rootAround(here: string, workspace: string | undefined): string {
  if (workspace !== undefined && workspace !== "" && look(workspace) === "there") {
    const root = realpathSync(workspace);
    const below = relative(root, here);
    if (below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below)) return root;
  }
  for (let folder = here; ; folder = dirname(folder)) {
    if (look(join(folder, ".git")) === "there") return folder;
    if (dirname(folder) === folder) return here;
  }
}

function isFile(path: string): boolean {
  const seen = statOf(path);
  return typeof seen !== "string" && seen.isFile();
}
