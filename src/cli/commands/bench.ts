/** @file `tc-lint bench <model>` */
import type { Argv } from "yargs";
import { benchOptions, readBenchFlags } from "../gpu-options.ts";

export function addBench(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "bench <models..>",
    "Run a model on the GPU and time it, step by step, in four configurations; or print its plan (no GPU needed)",
    (command) =>
      command
        .positional("models", {
          type: "string",
          array: true,
          demandOption: true,
          describe: "The model; two with --compare",
        })
        .options(benchOptions)
        .epilogue("Exit codes: 0 measured, 2 wrong usage, no GPU, or a model that does not run."),
    async (argv) => {
      const { runBench } = await import("../run-bench.ts");
      done(await runBench(argv.models, readBenchFlags(argv)));
    },
  );
}
