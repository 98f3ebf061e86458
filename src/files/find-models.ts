/** @file Files, folders and patterns of the command line to the models they stand for. */
import { isUtf8 } from "node:buffer";
import { type Dirent, readdirSync, type Stats, statSync } from "node:fs";
import nodePath, { isAbsolute, join } from "node:path";
import { InputError } from "../ir/errors.ts";
import { compilePattern, hasMagic, pathMatcher, staticPrefix } from "../settings/glob.ts";
import { type PathStyle, toDisplayPath, withSlashes } from "../settings/paths.ts";
import { IgnoreRules } from "./git-ignore.ts";

const skippedFolders = new Set(["node_modules", ".git"]);

export interface FoundModel {
  /** As reports show it; opens from where the user stands. */
  readonly path: string;
  /** Named by the user, not found in a folder or by a pattern. */
  readonly explicit: boolean;
  /** Why it cannot be opened, where its folder already says so. */
  readonly refused?: { readonly code: string; readonly message: string };
}

export interface Found {
  /** In the order of the arguments, then by name; each once. */
  readonly models: readonly FoundModel[];
  /** Arguments that stand for nothing. */
  readonly unmatched: readonly string[];
  /** By argument: what of `passedOver` it would have stood for. */
  readonly passedOverBy: ReadonlyMap<string, readonly string[]>;
  /** Models that Git ignores or that are hidden, and folders that may hold some. */
  readonly passedOver: readonly string[];
}

export interface Search {
  /** Also what Git ignores, and what is hidden by a dot before its name. */
  readonly allFiles: boolean;
  /** Gets a notice of every list of Git's that is not used. */
  readonly say: (notice: string) => void;
}

/** A path without special characters that does not exist counts as a model: opening it says so by name. */
export function findModels(patterns: readonly string[], search: Search): Found {
  const models = new Map<string, FoundModel>();
  const unmatched: string[] = [];
  const passedOverBy = new Map<string, readonly string[]>();
  const walkOver = (passedOver: Set<string>, root: string, isMeant: IsMeant) => {
    const rules = search.allFiles ? undefined : IgnoreRules.of(root, search.say);
    return walk(
      { path: root, bytes: Buffer.from(root), isText: true, rules },
      { search, passedOver, isMeant },
    );
  };
  for (const pattern of patterns) {
    const passedOver = new Set<string>();
    const found = modelsOf(pattern, (root, isMeant) => walkOver(passedOver, root, isMeant));
    passedOverBy.set(pattern, [...passedOver]);
    if (found.length === 0) unmatched.push(pattern);
    for (const model of found) if (!models.has(model.path)) models.set(model.path, model);
  }
  const passedOver = [...new Set([...passedOverBy.values()].flat())];
  return { models: [...models.values()], unmatched, passedOver, passedOverBy };
}

/** `isMeant`: whether a model that is passed over, or one in a folder that is, would have been found. */
type WalkFrom = (root: string, isMeant: IsMeant) => Iterable<WalkedFile>;
type IsMeant = (path: string, isFolder: boolean) => boolean;

function modelsOf(given: string, walkFrom: WalkFrom): FoundModel[] {
  const stats = statsOf(given);
  if (stats?.isDirectory())
    return [...walkFrom(given, () => true)].filter(({ path }) => isModelName(path)).map(found);
  if (stats !== undefined || !hasMagic(given)) return [{ path: toDisplayPath(given), explicit: true }];
  const pattern = withSlashes(given);
  const root = staticPrefix(pattern);
  if (statsOf(root)?.isDirectory() !== true) return [];
  const matches = patternMatcher(pattern, root);
  // `models/*` means the models there; `models/*.bin` means what it says.
  const namesSuffix = (pattern.split("/").at(-1) ?? "").includes(".");
  const mayHold = folderMatcher(pattern, root);
  return [...walkFrom(root, (path, isFolder) => (isFolder ? mayHold(path) : matches(path)))]
    .filter(({ path }) => matches(path) && (namesSuffix || isModelName(path)))
    .map(found);
}

/** Whether a pattern of the command line stands for a path, be it there or not. */
export function standsFor(given: string, path: string): boolean {
  const pattern = withSlashes(given);
  const plain = toDisplayPath(pattern).replace(/\/+$/, "");
  if (plain === path) return true;
  const isBelow = plain === "." || path.startsWith(`${plain}/`);
  if (!hasMagic(pattern)) return isBelow && isModelName(path);
  const namesSuffix = (pattern.split("/").at(-1) ?? "").includes(".");
  return patternMatcher(pattern, staticPrefix(pattern))(path) && (namesSuffix || isModelName(path));
}

/** Unlike in a configuration, a pattern without folders is about this folder only. */
export function patternMatcher(
  pattern: string,
  root: string,
  style: PathStyle = nodePath,
): (path: string) => boolean {
  const below = root === "." ? pattern.replace(/^\.\//, "") : pattern.slice(root.length).replace(/^\/+/, "");
  const matches = compilePattern(`/${below}`, pathMatcher, "the command line");
  return (path) => matches(`/${withSlashes(style.relative(root, path), style)}`);
}

/** Whether a pattern may stand for something in a folder: each of the folders above it is what the pattern says there. */
function folderMatcher(pattern: string, root: string): (path: string) => boolean {
  const below = root === "." ? pattern.replace(/^\.\//, "") : pattern.slice(root.length).replace(/^\/+/, "");
  // An alternative may hold folders of its own.
  if (below.includes("{")) return () => true;
  const parts = below.split("/");
  const any = parts.indexOf("**");
  const fixed = any < 0 ? parts.slice(0, -1) : parts.slice(0, any);
  return (path) => {
    const folders = withSlashes(nodePath.relative(root, path)).split("/");
    if (any < 0 && folders.length > fixed.length) return false;
    const shared = Math.min(folders.length, fixed.length);
    if (shared === 0) return true;
    const matches = compilePattern(`/${fixed.slice(0, shared).join("/")}`, pathMatcher, "the command line");
    return matches(`/${folders.slice(0, shared).join("/")}`);
  };
}

function found({ path, isText }: WalkedFile): FoundModel {
  const shown = toDisplayPath(path);
  if (isText) return { path: shown, explicit: false };
  const message = `${shown}: its name is not UTF-8 (\\x stands for a byte of it); rename it, or the folder`;
  return { path: shown, explicit: false, refused: { code: "not-utf8", message } };
}

export function isModelName(path: string): boolean {
  return path.toLowerCase().endsWith(".onnx");
}

/** Undefined where it cannot be told, for whatever reason: opening the path says which. */
function statsOf(path: string | Buffer): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return undefined;
    throw error;
  }
}

interface WalkedFile {
  /** A byte that is not of UTF-8 stands as `\\xff`. */
  readonly path: string;
  /** Whether the path is the file's, and opens it. */
  readonly isText: boolean;
}

interface Walk extends WalkedFile {
  readonly bytes: Buffer;
  /** What Git ignores in it; undefined where nobody asks. */
  readonly rules: IgnoreRules | undefined;
}

/** Every file below a folder, by name. Links to files count, links to folders are not followed (they may circle). */
function* walk(
  { path: folder, bytes, isText, rules }: Walk,
  to: { readonly search: Search; readonly passedOver: Set<string>; readonly isMeant: IsMeant },
): Generator<WalkedFile> {
  for (const entry of entriesOf(folder, bytes)) {
    const name = textOf(entry.name);
    const path = isAbsolute(folder) || folder !== "." ? join(folder, name) : name;
    const place = Buffer.concat([bytes, separator, entry.name]);
    const isWhole = isText && isUtf8(entry.name);
    const isFolder = entry.isDirectory();
    if (isFolder ? skippedFolders.has(name) : !isFileOf(entry, path, place)) continue;
    const isPassedOver =
      !to.search.allFiles && (name.startsWith(".") || rules?.ignores(path, isFolder) === true);
    if (isPassedOver) {
      if ((isFolder || isModelName(path)) && to.isMeant(path, isFolder))
        to.passedOver.add(toDisplayPath(path));
    } else if (isFolder) yield* walk({ path, bytes: place, isText: isWhole, rules: rules?.in(path) }, to);
    else yield { path, isText: isWhole };
  }
}

function isFileOf(entry: Dirent<Buffer>, path: string, place: Buffer): boolean {
  return entry.isFile() || (entry.isSymbolicLink() && linksToFile(path, place));
}

const separator = Buffer.from("/");

/** Names as the system has them: one that is not UTF-8 is lost in a string. */
function entriesOf(folder: string, bytes: Buffer): Dirent<Buffer>[] {
  try {
    const entries = readdirSync(bytes, { withFileTypes: true, encoding: "buffer" });
    return entries.sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new InputError("unreadable", `${folder}: the folder cannot be read (${reason})`, { cause: error });
  }
}

function textOf(name: Buffer): string {
  if (isUtf8(name)) return name.toString("utf8");
  return name
    .toString("latin1")
    .replaceAll(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A dangling link that is named like a model is one that is missing: opening it says so. */
function linksToFile(path: string, place: Buffer): boolean {
  const stats = statsOf(place);
  return stats === undefined ? isModelName(path) : stats.isFile();
}
