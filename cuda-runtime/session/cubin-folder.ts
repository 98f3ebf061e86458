/** @file Where compiled PTX is kept, and how much of it: by the environment. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { InputError } from "../../src/ir/errors.ts";
import { CubinCache } from "./cubin-cache.ts";

const defaultMebibytes = 512;
const bytesInMebibyte = 2 ** 20;

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
): CacheChoice {
  const limitBytes = limitOf(env["TC_LINT_CACHE_MB"]);
  if (folder === null || limitBytes === 0) return { reason: undefined };
  const own = folder ?? userFolder(env["XDG_CACHE_HOME"], home);
  if (own === undefined) return { reason: "the user has no home folder, and XDG_CACHE_HOME is not set" };
  return { cache: new CubinCache(own, limitBytes) };
}

/** Relative paths are ignored, as the XDG base directories have it: they would lead to the model's folder. */
function userFolder(cacheHome: string | undefined, home: () => string): string | undefined {
  const base = cacheHome !== undefined && isAbsolute(cacheHome) ? cacheHome : join(homeOf(home), ".cache");
  return isAbsolute(base) ? join(base, "tc-lint", "ptx") : undefined;
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
