/** @file The repair that the runtime is given: what its own planning does not do. */
import type { LintPlan } from "../settings/lint-plan.ts";
import { type ConfigChoice, makePlans } from "./make-plans.ts";

export interface RuntimeFixRequest {
  readonly dims: Readonly<Record<string, number>>;
  /** A row of the table; undefined prices for the configuration's. */
  readonly gpu: string | undefined;
  readonly config: ConfigChoice;
  readonly onNotice: (message: string) => void;
}

/** A plan priced for the bundled runtime; undefined where the configuration ignores the model. */
export async function runtimeFix(
  path: string,
  { dims, gpu, config, onNotice }: RuntimeFixRequest,
): Promise<LintPlan | undefined> {
  const [plan] = await makePlans([path], {
    settings: { stack: "tc-runtime", precision: "fp16", dims, gpu },
    config,
    table: false,
    verbose: false,
    forceExclude: false,
    allFiles: false,
    errorOnUnmatchedPattern: true,
    onNotice,
  });
  return plan;
}
