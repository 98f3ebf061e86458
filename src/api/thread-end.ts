/** @file A worker thread that ended under its work: by code of a plugin, where there is any, else by a bug. */
import { pathToFileURL } from "node:url";
import { InputError } from "../ir/errors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { toDisplayPath } from "../settings/paths.ts";

export class ThreadEnded extends Error {
  constructor(code: number) {
    super(`its worker thread ended with code ${code}`);
  }
}

/** The error, or what it is where a plugin's code made it outside of its rules: from a timer, or by `process.exit`. */
export function laidToPlugins(
  { path, settings: { plugins } }: Pick<LintPlan, "path" | "settings">,
  error: unknown,
): unknown {
  if (plugins.length === 0 || !(error instanceof Error)) return error;
  const shown = plugins.map(toDisplayPath).join(", ");
  if (error instanceof ThreadEnded) {
    const message = `${path}: code of a plugin (${shown}) ended the thread that lints it, as process.exit does`;
    return new InputError("plugin-failed", message, { cause: error });
  }
  const stack = error.stack ?? "";
  const guilty = plugins.find((file) => stack.includes(pathToFileURL(file).href) || stack.includes(file));
  if (guilty === undefined) return error;
  const message = `${path}: plugin ${toDisplayPath(guilty)} failed outside of its rules: ${error.name}: ${error.message}`;
  return new InputError("plugin-failed", message, { cause: error });
}
