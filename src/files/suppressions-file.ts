/** @file Where tc-lint-suppressions.json lies, and what it says. */
import nodePath, { dirname, join, type PlatformPath, resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { type PathStyle, toDisplayPath, withSlashes } from "../settings/paths.ts";
import { parseSuppressions, type Suppressions, suppressionsName } from "../settings/suppressions.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { configNames, foreignOwner, projectAround } from "./find-config.ts";
import { look } from "./look.ts";

/** A line and a few for each of hundreds of thousands of models. */
const mostBytes = 256 << 20;

export interface SuppressionsFile {
  readonly path: string;
  /** As messages name it. */
  readonly shown: string;
  /** Undefined where it is not there. */
  readonly content: Suppressions | undefined;
}

/** `location`: as the command line names it; `config`: the configuration that it names. Throws InputError `bad-suppressions`. */
export function readSuppressions(
  { location, config }: { readonly location?: string | undefined; readonly config?: string | undefined },
  say: (notice: string) => void,
): SuppressionsFile {
  const beside = config === undefined ? undefined : join(dirname(resolve(config)), suppressionsName);
  const path = location === undefined ? (beside ?? nearest(process.cwd(), say)) : resolve(location);
  const shown = toDisplayPath(path);
  const seen = look(path);
  // Nobody named it, and a configuration in such a place is passed over, too: what it would let off is shown.
  const isPassedOver = seen === "hidden" && location === undefined;
  if (seen === "absent" || isPassedOver) return { path, shown, content: undefined };
  return { path, shown, content: parseSuppressions(textOf(path), shown) };
}

/** For a file that is wanted and not there. */
export function noSuppressions({ shown }: Pick<SuppressionsFile, "shown">): InputError {
  return new InputError(
    "bad-suppressions",
    `${shown}: no such file; tc-lint --suppress-all, or --suppress-rule, writes it`,
  );
}

function textOf(path: string): string {
  try {
    return readSmallFile(path, mostBytes).toString("utf8");
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new InputError("bad-suppressions", error.message, { cause: error });
  }
}

/**
 * From where the user stands up to the project's root: the file, else beside the configuration. A model's own folder is not looked into:
 * it may be anybody's, and what came with a model must not hide what is found in it.
 */
function nearest(workingFolder: string, say: (notice: string) => void): string {
  const { folders, owners } = projectAround(workingFolder);
  const looked = folders.size > 0 ? [...folders] : [workingFolder];
  const isThere = (folder: string, name: string) => look(join(folder, name)) === "there";
  for (const folder of looked) {
    if (!isThere(folder, suppressionsName)) continue;
    const file = join(folder, suppressionsName);
    const owner = foreignOwner(file, owners);
    if (owner === undefined) return file;
    const how = "name it with --suppressions-location";
    say(`${toDisplayPath(file)}: not used: it belongs to another user (${owner}); ${how}`);
  }
  const configured = looked.find((folder) => configNames.some((name) => isThere(folder, name)));
  return join(configured ?? workingFolder, suppressionsName);
}

/** What the file calls a model; on another disk that is its whole path. */
export function suppressedPath(
  file: string,
  model: string,
  style: PathStyle & Pick<PlatformPath, "dirname"> = nodePath,
): string {
  const below = style.relative(style.dirname(file), style.resolve(model));
  return withSlashes(style.isAbsolute(below) ? style.resolve(model) : below, style);
}

/** Whether a model that the file names is there. */
export function isSuppressedThere(file: string, path: string): boolean {
  return look(resolve(dirname(file), path)) !== "absent";
}
