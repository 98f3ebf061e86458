/** @file `tc-lint compare <base> <head>` and `tc-lint compare --base REF [models or folders…]`: its arguments. */
import type { Argv } from "yargs";
import { compareOptions, readCompareFlags } from "../compare-options.ts";
import { pathsOf } from "../options.ts";

const epilogue = `Exit codes: 0 nothing new; 1 new findings at error level, more new warnings than --max-warnings, or
a budget exceeded by the whole of its interval; 2 wrong usage, or a model that cannot be read or is
not fetched.

Examples:
  tc-lint compare base.onnx head.onnx --gpu l4
  tc-lint compare --base main                       every model below here that differs from main
  tc-lint compare --base origin/main models/ -f markdown=comment.md
  tc-lint compare --base HEAD~1 model.onnx --gpu l4,h200 --dim batch=1,8`;

export function addCompare(parser: Argv, workerUrl: URL, done: (exitCode: number) => void): Argv {
  return parser.command(
    "compare [paths..]",
    "Say what changed between two models, or since a commit: time, findings, graph, budgets",
    (command) =>
      command
        .positional("paths", {
          type: "string",
          array: true,
          describe: "The model as it was and as it is; with --base, models, folders or patterns (default: .)",
        })
        .options(compareOptions)
        .epilogue(epilogue),
    async (argv) => {
      const flags = readCompareFlags(argv);
      const { runCompare } = await import("../run-compare.ts");
      done(await runCompare(pathsOf(argv), flags, workerUrl));
    },
  );
}
