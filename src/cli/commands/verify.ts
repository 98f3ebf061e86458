/** @file `tc-lint verify <original> <candidate>` */
import type { Argv } from "yargs";
import { readVerifyFlags, verifyOptions } from "../verify-options.ts";

export function addVerify(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "verify <original> <candidate>",
    "Run two models on the same inputs (ONNX Runtime, CPU): are they the same function?",
    (command) =>
      command
        .positional("original", { type: "string", demandOption: true, describe: "The model to compare with" })
        .positional("candidate", { type: "string", demandOption: true, describe: "The model to check" })
        .options(verifyOptions)
        .epilogue("Exit codes: 0 the same, 1 different, 2 wrong usage or a model that cannot be compared."),
    async (argv) => {
      const { runVerify } = await import("../run-verify.ts");
      done(await runVerify(argv.original, argv.candidate, readVerifyFlags(argv)));
    },
  );
}
