/** @file The repair that the runtime is given: what its own planning does not do. */
import type { ModelRequest } from "./gpu-protocol.ts";
import { makePlans } from "./make-plans.ts";
import type { ConfigChoice } from "./options.ts";

/** Padding and folding, priced for the bundled runtime. Half precision and NHWC are the planner's own. */
export async function runtimeFix(
  path: string,
  dims: Readonly<Record<string, number>>,
  gpu: string | undefined,
  config: ConfigChoice,
): Promise<NonNullable<ModelRequest["fix"]> | undefined> {
  const [plan] = await makePlans([path], {
    settings: { stack: "tc-runtime", precision: "fp16", dims, gpu },
    config,
    table: false,
    forceExclude: false,
    errorOnUnmatchedPattern: true,
  });
  if (plan === undefined) return undefined;
  return {
    plan,
    flags: {
      dryRun: false,
      half: undefined,
      halfOnlyWhereFaster: true,
      nhwc: false,
      nhwcOnlyWhereFaster: true,
      halfIo: false,
      samples: undefined,
      nhwcIo: false,
      nhwcForm: "portable",
      output: undefined,
      only: false,
      exitNonZero: false,
      verify: false,
    },
  };
}
