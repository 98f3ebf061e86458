/** @file What a commit of a model would leave behind: external data that Git neither tracks nor ignores. */
import { basename, dirname, relative } from "node:path";
import { refuseForeign, runGit } from "./git.ts";

/** Names of one call: systems bound the length of a command line. */
const mostNames = 500;

/**
 * Of the files, those that a commit would lack; none where Git does not track the model either, or there is no repository. Throws
 * InputError `foreign-repository` where Git may not look.
 */
export function untrackedData(model: string, data: readonly string[]): string[] {
  if (data.length === 0) return [];
  const folder = dirname(model);
  if (listed(folder, ["--cached"], [basename(model)]).size === 0) return [];
  const names = data.map((path) => relative(folder, path));
  const chunks = Array.from({ length: Math.ceil(names.length / mostNames) }, (_, index) =>
    names.slice(index * mostNames, (index + 1) * mostNames),
  );
  const others = new Set(
    chunks.flatMap((chunk) => [...listed(folder, ["--others", "--exclude-standard"], chunk)]),
  );
  return data.filter((path) => others.has(relative(folder, path).replaceAll("\\", "/")));
}

/** Those of some names that Git tracks. */
export function trackedIn(folder: string, names: readonly string[]): ReadonlySet<string> {
  return listed(folder, ["--cached"], names);
}

function listed(folder: string, flags: readonly string[], names: readonly string[]): ReadonlySet<string> {
  const { status, stdout, stderr } = runGit(folder, [
    "--literal-pathspecs",
    "ls-files",
    "-z",
    ...flags,
    "--",
    ...names,
  ]);
  if (status !== 0) refuseForeign(stderr);
  const paths = status === 0 ? stdout.toString("utf8").split("\0") : [];
  return new Set(paths.filter((path) => path !== ""));
}
