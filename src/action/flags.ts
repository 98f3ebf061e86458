/** @file A step's inputs as the flags that the commands take: one account, whoever asks for it. */
import type { PlanRequest } from "../api/make-plans.ts";
import { type CompareFlags, readCompareFlags } from "../cli/compare-options.ts";
import { type LintFlags, readLintFlags } from "../cli/options.ts";
import type { ActionInputs, InputName } from "./inputs.ts";

export function lintFlagsOf(inputs: ActionInputs, hasBase: boolean): LintFlags {
  const { gpu, stack, failOn, sarifFile, html, sourceRoot, pathMapping } = inputs;
  const flags = readLintFlags({
    gpu,
    stack,
    "source-root": sourceRoot,
    "path-mapping": [...pathMapping],
    "fail-on": failOn === "fixable" ? "fixable" : "error",
    // What is new is the comparison's to say, where there is one.
    "exit-zero": failOn === "never" || (failOn === "new" && hasBase),
    // A change that repairs what the baseline lets off is no failure of the change.
    "pass-on-unpruned-suppressions": failOn === "never" || failOn === "new",
    "force-exclude": true,
  });
  return {
    ...flags,
    reports: [
      ...(sarifFile === undefined ? [] : [{ format: "sarif", path: sarifFile } as const]),
      ...(html === undefined ? [] : [{ format: "html", path: html } as const]),
    ],
  };
}

/** The input that names models. */
const patternsOf: InputName = "paths";

export function compareFlagsOf({ gpu, stack, failOn }: ActionInputs, base: string): CompareFlags {
  const flags = readCompareFlags({ base, gpu, stack, "exit-zero": failOn === "never" });
  return { ...flags, reports: [], patternsOf };
}

/** A comparison has looked already whether the paths stand for anything, gone models among it. */
export function planRequestOf(inputs: ActionInputs, hasBase: boolean): PlanRequest {
  const flags = lintFlagsOf(inputs, hasBase);
  return { ...flags, table: false, errorOnUnmatchedPattern: !hasBase, patternsOf, onNotice: () => {} };
}
