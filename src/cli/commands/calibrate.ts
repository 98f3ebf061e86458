/** @file `tc-lint calibrate` */
import type { Argv } from "yargs";
import { parseCount, parsePositive } from "../../settings/values.ts";

export function addCalibrate(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "calibrate",
    "Time a sweep of layers on this GPU, and write the file that --calibration takes with --stack tc-runtime",
    (command) =>
      command
        .option("output", {
          alias: "o",
          type: "string",
          requiresArg: true,
          default: "tc-lint-calibration.json",
          describe: "File to write",
        })
        .option("device", {
          type: "string",
          requiresArg: true,
          default: "0",
          describe: "Which GPU, as CUDA numbers them",
        })
        .option("timeout", {
          type: "string",
          requiresArg: true,
          default: "600",
          describe: "Stop after this many seconds",
        })
        .epilogue("Exit codes: 0 written, 2 wrong usage or no GPU."),
    async ({ output, device, timeout }) => {
      const { runCalibrate } = await import("../run-calibrate.ts");
      const timeoutSeconds = parsePositive(timeout, "--timeout");
      done(await runCalibrate({ output, device: parseCount(device, "--device"), timeoutSeconds }));
    },
  );
}
