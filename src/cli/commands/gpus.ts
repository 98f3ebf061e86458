/** @file `tc-lint gpus` */
import type { Argv } from "yargs";

export function addGpus(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "gpus",
    "List the GPUs and stacks that tc-lint predicts for, with their sources",
    (command) =>
      command.option("format", {
        alias: "f",
        choices: ["text", "json"] as const,
        default: "text" as const,
        describe: "How to write them",
      }),
    async ({ format }) => {
      const { gpuTable, hardwareJson } = await import("../../report/hardware-text.ts");
      const { writeStdout } = await import("../stdout.ts");
      await writeStdout(format === "json" ? hardwareJson() : gpuTable());
      done(0);
    },
  );
}
