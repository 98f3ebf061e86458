/** @file `tc-lint completion <shell>` */
import type { Argv } from "yargs";
import { shells } from "../completion.ts";

export function addCompletion(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "completion <shell>",
    "Print what makes a shell complete commands and flags: bash, zsh or fish",
    (command) => command.positional("shell", { choices: shells, demandOption: true, describe: "The shell" }),
    async ({ shell }) => {
      const { completionScript } = await import("../completion.ts");
      const { writeStdout } = await import("../stdout.ts");
      await writeStdout(completionScript(shell));
      done(0);
    },
  );
}
