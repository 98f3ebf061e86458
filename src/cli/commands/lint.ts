/** @file `tc-lint [lint] <files, folders or patterns…>`: its arguments; and who does what they ask for. */
import { existsSync } from "node:fs";
import type { Argv } from "yargs";
import { InputError } from "../../ir/errors.ts";
import { closest } from "../../settings/closest.ts";
import { fixOptions, readFixFlags } from "../fix-options.ts";
import { type LintFlags, lintOptions, pathsOf, readLintFlags } from "../options.ts";
import { checkShardFlags } from "../shard-options.ts";

/** With --fix and --diff, too. */
const lintExitCodes = `Exit codes: 0 clean; 1 findings at error level (--fail-on), more warnings than --max-warnings,
a budget exceeded, what --diff would change, or what --exit-non-zero-on-fix changed; 2 wrong usage,
a bad configuration, a model that cannot be read or fixed, or suppressions of what is found no more;
130 interrupted.`;

/** What a fix makes of a model nobody has measured. Throws InputError `usage`. */
function refuseProfile({ profiles }: LintFlags): void {
  if (profiles.length === 0) return;
  const instead =
    "a repair is decided by predictions; lint with --profile says what it saves of what was measured";
  throw new InputError("usage", `--profile: found beside --fix, --diff or --fix-only: ${instead}`);
}

/** A bare word that is no file and nearly a command is taken for that, not for a model that is missing. Throws InputError `usage`. */
async function refuseMistyped(word: string | undefined, parser: Argv): Promise<void> {
  if (word === undefined || !/^[a-z-]+$/i.test(word) || existsSync(word)) return;
  const { commandsOf } = await import("../completion.ts");
  const meant = closest(word, await commandsOf(parser));
  if (meant !== undefined)
    throw new InputError("usage", `"${word}" is neither a command nor a file; did you mean "${meant}"?`);
}

export function addLint(parser: Argv, workerUrl: URL, done: (exitCode: number) => void): Argv {
  return parser.command(
    ["lint [paths..]", "$0"],
    "Find layers that waste Tensor Cores (the default command)",
    (command) =>
      command
        .positional("paths", {
          type: "string",
          array: true,
          describe: "Models, folders that hold models, or patterns such as 'exports/**/*.onnx'",
        })
        .options(lintOptions)
        .options(fixOptions)
        .epilogue(lintExitCodes),
    async (argv) => {
      const flags = readLintFlags(argv);
      const paths = pathsOf(argv);
      if (argv._.length === 0) await refuseMistyped(argv.paths?.[0], parser);
      if (argv["print-config"] === true) {
        const { printConfig } = await import("./print-config.ts");
        await printConfig(paths, flags);
        return done(0);
      }
      const fix = readFixFlags(argv, argv.precision);
      checkShardFlags(flags, fix !== undefined);
      const { runLint } = await import("../run-lint.ts");
      if (fix !== undefined) refuseProfile(flags);
      if (fix === undefined) return done(await runLint(paths, flags, workerUrl));
      const { runFix } = await import("./fix.ts");
      return done(await runFix(paths, flags, fix, (fixed, parts) => runLint(fixed, flags, workerUrl, parts)));
    },
  );
}
