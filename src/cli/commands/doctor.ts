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
      const { diagnose } = await import("../../gpu/diagnosis.ts");
      const { renderDoctorText } = await import("../../report/doctor-text.ts");
      const { exitCodes } = await import("../exit.ts");
      const { writeStdout } = await import("../stdout.ts");
      const { reportColor } = await import("../terminal.ts");
      const diagnosis = await diagnose();
      const text =
        format === "json"
          ? `${JSON.stringify(diagnosis, null, 2)}\n`
          : renderDoctorText(diagnosis, reportColor(color, true));
      await writeStdout(text);
      done(diagnosis.ready ? exitCodes.clean : exitCodes.findings);
    },
  );
}
