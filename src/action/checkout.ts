/** @file The checkout that a step stands in: git reads it whoever it belongs to, and says so where there is none. */
import { realpathSync } from "node:fs";
import { dirname, sep } from "node:path";
import { repositoryRoot } from "../files/git.ts";
import { InputError } from "../ir/errors.ts";

type Environment = Record<string, string | undefined>;

/**
 * In a container the checkout belongs to the runner's user, and the step runs as another: git refuses to read it, and what actions/checkout
 * allowed ends with that step. The folders are the workflow's own, so that the git of this process, and what it starts, takes them as
 * they are. Versions below 2.38 of git do not listen, and are named.
 */
export function trustCheckout(env: Environment, workspace: string, folder: string): void {
  const folders = between(realpathSync(workspace), realpathSync(folder));
  const before = Number(env["GIT_CONFIG_COUNT"] ?? 0);
  for (const [index, each] of folders.entries()) {
    env[`GIT_CONFIG_KEY_${before + index}`] = "safe.directory";
    env[`GIT_CONFIG_VALUE_${before + index}`] = each;
  }
  env["GIT_CONFIG_COUNT"] = String(before + folders.length);
}

/** The roots that a working tree may have: the folder, and what is above it as far as the workspace. */
function between(workspace: string, folder: string): string[] {
  const folders = [folder];
  for (let each = folder; each.startsWith(`${workspace}${sep}`); folders.push(each)) each = dirname(each);
  return folders;
}

/** Throws InputError `no-checkout`. */
export function requireCheckout(folder: string): void {
  if (repositoryRoot(folder) !== undefined) return;
  throw new InputError(
    "no-checkout",
    `${folder} is in no Git repository: actions/checkout comes before this step`,
  );
}
