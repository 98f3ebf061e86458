/** @file Which code of a project this process runs: whoever finds the process ended by it can name it. Imports nothing: the executable does. */

/** As messages name them, in the order in which they were begun. */
export const ranModules: Set<string> = new Set();

/** For messages; undefined where none was run. */
export function ranModulesText(): string | undefined {
  return ranModules.size === 0 ? undefined : [...ranModules].join(", ");
}
