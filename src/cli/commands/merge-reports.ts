/** @file `tc-lint merge-reports <files or folders…>`: its arguments. */
import type { Argv } from "yargs";
import { mergeOptions, readMergeFlags } from "../merge-options.ts";
import { pathsOf } from "../options.ts";

const epilogue = `Prints what one run of all models would have, with its exit code: flags are those of the shards' runs. A shard that is
missing or there twice, and shards of other models, options, commits or versions, are exit code 2.

Examples:
  tc-lint models/ --shard 1/4 -f blob=shard-1.blob      one a machine
  tc-lint merge-reports shard-*.blob -f sarif=out.sarif
  tc-lint merge-reports reports/                        every .blob of a folder`;

export function addMergeReports(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "merge-reports <paths..>",
    "One report, and exit code, of the shards of a run (--shard I/N -f blob=PATH)",
    (command) =>
      command
        .positional("paths", {
          type: "string",
          array: true,
          describe: "What -f blob=PATH wrote, of every shard; of a folder, all that ends with .blob",
        })
        .options(mergeOptions)
        .epilogue(epilogue),
    async (argv) => {
      const flags = readMergeFlags(argv);
      const { runMerge } = await import("../run-merge.ts");
      done(await runMerge(pathsOf(argv), flags));
    },
  );
}
