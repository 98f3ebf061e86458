/** @file tc-lint-suppressions.json as a comparison with a commit uses it: what it lets off in the working tree is no news. */
import type { CompareBaseline } from "../compare/baseline.ts";
import { readSuppressions, suppressedPath } from "../files/suppressions-file.ts";
import { InputError } from "../ir/errors.ts";
import type { CompareFlags } from "./compare-options.ts";
import { complain } from "./stderr.ts";

export interface HeadBaseline extends CompareBaseline {
  /** That no report may replace. */
  readonly path: string;
}

/** Undefined where there is none, and where two files are compared: there the first is the baseline. Throws InputError `bad-suppressions`. */
export function headBaseline({ base, config, suppressions }: CompareFlags): HeadBaseline | undefined {
  if (base === undefined || !suppressions.isRead) return undefined;
  const { location } = suppressions;
  const named = config.kind === "file" ? config.path : undefined;
  const { path, shown, content } = readSuppressions({ location, config: named }, complain);
  if (content === undefined) {
    if (location === undefined) return undefined;
    throw new InputError("bad-suppressions", `${shown}: no such file; tc-lint --suppress-all writes it`);
  }
  return { path, file: shown, countsOf: (model) => content.get(suppressedPath(path, model))?.rules };
}
