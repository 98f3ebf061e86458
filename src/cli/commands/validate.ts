/** @file `tc-lint validate <model>` */
import type { Argv } from "yargs";
import { readValidateFlags, validateOptions } from "../gpu-options.ts";

export function addValidate(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "validate <model>",
    "Run a model on the GPU: does it compute what it should, and how much faster?",
    (command) =>
      command
        .positional("model", { type: "string", demandOption: true, describe: "The model to run" })
        .options(validateOptions)
        .epilogue(
          "Exit codes: 0 the same within the budget, 1 different, 2 wrong usage, no GPU, or a model that does not run.",
        ),
    async (argv) => {
      const { runValidate } = await import("../run-validate.ts");
      done(await runValidate(argv.model, readValidateFlags(argv)));
    },
  );
}
