/** @file Lint's reports of real exports: what several checks ask of one model on one stack is computed once a test file. */
import { afterAll } from "vitest";
import { lint } from "../../../src/api/lint.ts";
import type { StackId } from "../../../src/hardware/stacks.ts";
import type { ModelReport } from "../../../src/lint/result.ts";

export interface ZooReports {
  readonly stack: StackId;
  /** With all that --verbose lists. */
  of(path: string): Promise<ModelReport>;
}

/** Called at the top of a test file. */
export function useReports(stack: StackId): ZooReports {
  const known = new Map<string, Promise<ModelReport>>();
  afterAll(() => known.clear());
  return {
    stack,
    of(path) {
      const report = known.get(path) ?? lint(path, { stack, verbose: true });
      known.set(path, report);
      return report;
    },
  };
}
