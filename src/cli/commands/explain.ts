/** @file `tc-lint explain [rule]` */
import type { Argv } from "yargs";

export function addExplain(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "explain [rule]",
    "Say what a rule is about, why, and what its fix does; without a rule, list them",
    (command) =>
      command
        .positional("rule", { type: "string", describe: "A code (TC102) or a name (misaligned-gemm)" })
        .option("format", {
          alias: "f",
          choices: ["text", "json"] as const,
          default: "text" as const,
          describe: "How to write it",
        })
        .option("color", { type: "boolean", describe: "Colour or not" }),
    async ({ rule, format, color }) => {
      const { explain } = await import("../show-rules.ts");
      await explain({ rule, format, color });
      done(0);
    },
  );
}
