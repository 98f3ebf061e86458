/** @file `tc-lint predict` */
import type { Argv } from "yargs";
import { findGpu, gpus } from "../../hardware/gpus.ts";
import { findStack, stackIds } from "../../hardware/stacks.ts";
import { InputError } from "../../ir/errors.ts";

export function addPredict(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "predict",
    "Predict what operations cost: rows of JSON on stdin, [microseconds, low, high] for each on stdout",
    (command) =>
      command
        .option("gpu", { type: "string", default: "h200", describe: "GPU to predict for (see tc-lint gpus)" })
        .option("stack", { type: "string", default: "cudnn", describe: "Libraries to predict for" })
        .option("calibration", { type: "string", describe: "File of coefficients measured on your machine" })
        .option("format", {
          alias: "f",
          choices: ["json"] as const,
          default: "json" as const,
          describe: "How to write them",
        }),
    async ({ gpu: gpuId, stack: stackId, calibration }) => {
      const [gpu, stack] = [findGpu(gpuId), findStack(stackId)];
      if (gpu === undefined)
        throw new InputError("usage", `--gpu ${gpuId} is none of ${[...gpus.keys()].join(", ")}`);
      if (stack === undefined)
        throw new InputError("usage", `--stack ${stackId} is none of ${stackIds.join(", ")}`);
      const { runPredict } = await import("../run-predict.ts");
      done(await runPredict({ gpu, stack }, calibration ?? null));
    },
  );
}
