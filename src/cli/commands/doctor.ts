/** @file `tc-lint doctor` */
import type { Argv } from "yargs";

export function addDoctor(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "doctor",
    "Say what of this machine the GPU commands can use, what is missing, and how to get it",
    (command) =>
      command
        .option("format", {
          alias: "f",
          choices: ["text", "json"] as const,
          default: "text" as const,
          describe: "How to write it",
        })
        .option("color", { type: "boolean", describe: "Colour or not (--no-color)" })
        .epilogue("Exit codes: 0 validate and bench can run here, 1 something is missing, 2 wrong usage."),
    async ({ format, color }) => {
      const { runDoctor } = await import("../run-doctor.ts");
      done(await runDoctor(format, color));
    },
  );
}
