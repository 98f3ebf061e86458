/** @file Where compiled PTX and times of steps are kept, and how much of either: by the environment. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { InputError } from "../../src/ir/errors.ts";
import { CubinCache, type EntryExtension } from "./cubin-cache.ts";

const defaultMebibytes = 512;
const bytesInMebibyte = 2 ** 20;

const subfolders: Readonly<Record<EntryExtension, string>> = { cubin: "ptx", time: "times" };

/** A cache, or why there is none; a reason of undefined is that nobody wants one. */
export type CacheChoice = { readonly cache: CubinCache } | { readonly reason: string | undefined };

/**
 * `folder` is the user's cache folder (XDG_CACHE_HOME, else ~/.cache) unless given, null for no cache; its size is
 * TC_LINT_CACHE_MB, in MiB. Throws InputError `usage` where that is no number.
 */
export function chooseCache(
  folder: string | null | undefined,
  env: NodeJS.ProcessEnv = process.env,
  home: () => string = homedir,
  extension: EntryExtension = "cubin",
): CacheChoice {
  const limitBytes = limitOf(env["TC_LINT_CACHE_MB"]);
  if (folder === null || limitBytes === 0) return { reason: undefined };
  const own = folder ?? userFolder(env["XDG_CACHE_HOME"], home, subfolders[extension]);
  if (own === undefined) return { reason: "the user has no home folder, and XDG_CACHE_HOME is not set" };
  return { cache: new CubinCache(own, limitBytes, { extension }) };
}

/** Relative paths are ignored, as the XDG base directories have it: they would lead to the model's folder. */
function userFolder(
  cacheHome: string | undefined,
  home: () => string,
  subfolder: string,
): string | undefined {
  const base = cacheHome !== undefined && isAbsolute(cacheHome) ? cacheHome : join(homeOf(home), ".cache");
  return isAbsolute(base) ? join(base, "tc-lint", subfolder) : undefined;
}

/** Empty where the system knows of none: a container's user without an entry. */
function homeOf(home: () => string): string {
  try {
    return home();
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return "";
    throw error;
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined || text === "") return defaultMebibytes * bytesInMebibyte;
  if (/^\d{1,9}$/.test(text)) return Number(text) * bytesInMebibyte;
  throw new InputError(
    "usage",
    `TC_LINT_CACHE_MB: found "${text}", expected a number of MiB, 0 for no cache of compiled kernels`,
  );
}

/** A lock of one GPU for measurements, in the user's cache folder; undefined where there is none to be had. */
export function lockOfGpu(index: number, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folder = userFolder(env["XDG_CACHE_HOME"], homedir, "locks");
  if (folder === undefined) return undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return join(folder, `gpu-${index}`);
  } catch (error) {
    // Measurements beside others are noisy, not wrong.
    if (error instanceof Error && "syscall" in error) return undefined;
    throw error;
  }
}
