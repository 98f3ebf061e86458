/** @file The folder where the user's own caches are, by the conventions of the system. Imports Node's own alone: a start waits for it. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder of one of tc-lint's caches, there or not; undefined where the user has no home. */
export function userCache(name: string): string | undefined {
  const { XDG_CACHE_HOME: xdg = "", LOCALAPPDATA: local = "" } = process.env;
  const base = [xdg, process.platform === "win32" ? local : ""].find((path) => isAbsolute(path));
  const home = homedir();
  if (base !== undefined) return join(base, "tc-lint", name);
  return isAbsolute(home) ? join(home, ".cache", "tc-lint", name) : undefined;
}
