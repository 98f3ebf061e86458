/** @file `tc-lint calibrate`: times a fixed sweep on this GPU, and writes the coefficients that it leads to. */
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
      const timeoutSeconds = parsePositive(timeout, "--timeout");
      await runCalibrate({ output, device: parseCount(device, "--device"), timeoutSeconds });
      done(0);
    },
  );
}

interface CalibrateFlags {
  readonly device: number;
  readonly output: string;
  readonly timeoutSeconds: number;
}

/** Throws InputError. */
async function runCalibrate({ device, output, timeoutSeconds }: CalibrateFlags): Promise<void> {
  const { checkReportFiles, writeReportFile } = await import("../../files/report-file.ts");
  const { calibrationOf } = await import("../../gpu/calibration.ts");
  const { askGpu, kernelsUrl } = await import("../../gpu/process.ts");
  const { sweep } = await import("../../gpu/sweep.ts");
  const { complain } = await import("../stderr.ts");
  const { writeStdout } = await import("../stdout.ts");
  const { withProgress } = await import("../progress.ts");
  checkReportFiles([output]);
  const items = sweep();
  const report = await withProgress((say) => {
    const onProgress = (what: string) => say(`timing ${what} …`);
    const task = { kind: "sweep", device, kernels: kernelsUrl, items } as const;
    return askGpu(task, { timeoutSeconds, onProgress, onNotice: complain });
  });
  const { calibration, lines } = calibrationOf(items, report);
  writeReportFile(output, `${JSON.stringify(calibration, null, 2)}\n`);
  const use = `${output} written; use it with --stack tc-runtime --gpu ${calibration.gpu} --calibration ${output}`;
  await writeStdout(`${[...lines, use].join("\n")}\n`);
}
