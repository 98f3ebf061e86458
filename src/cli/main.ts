/** @file The command line: which command runs, and what a mistake in it looks like. */
import yargs, { type Argv } from "yargs";
import { InputError } from "../ir/errors.ts";
import { limitMemoryBy } from "../ir/memory.ts";
import { groupMemoryBytes } from "../limits/control-group.ts";
import { closest } from "../settings/closest.ts";
import { version } from "../version.ts";
import { addBench } from "./commands/bench.ts";
import { addCalibrate } from "./commands/calibrate.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExplain } from "./commands/explain.ts";
import { addGpus } from "./commands/gpus.ts";
import { addLint } from "./commands/lint.ts";
import { addPredict } from "./commands/predict.ts";
import { addPrintConfig } from "./commands/print-config.ts";
import { addValidate } from "./commands/validate.ts";
import { addVerify } from "./commands/verify.ts";
import { reportFailure } from "./exit.ts";
import { fixOptions } from "./fix-options.ts";
import { benchOptions, validateOptions } from "./gpu-options.ts";
import { lintOptions } from "./options.ts";
import { writeStdout } from "./stdout.ts";
import { verifyOptions } from "./verify-options.ts";

const epilogue = `Exit codes: 0 clean; 1 findings at error level, or more warnings than --max-warnings;
2 wrong usage, a bad configuration, or a model that cannot be read.

Examples:
  tc-lint model.onnx                       what wastes Tensor Cores on an H200
  tc-lint models/ --gpu l4 -f sarif=out.sarif
  tc-lint model.onnx --dim batch=32 --table
  tc-lint explain TC102`;

/** Runs a command and returns its exit code. `workerUrl` is the script of worker threads. */
export async function main(args: readonly string[], workerUrl: URL): Promise<number> {
  limitMemoryBy(groupMemoryBytes);
  let exitCode = 0;
  const done = (code: number) => {
    exitCode = code;
  };
  try {
    const parser = baseParser(args);
    addLint(parser, workerUrl, done);
    addExplain(parser, done);
    addGpus(parser, done);
    addPredict(parser, done);
    addPrintConfig(parser, done);
    addVerify(parser, done);
    addValidate(parser, done);
    addBench(parser, done);
    addDoctor(parser, done);
    addCalibrate(parser, done);
    // What yargs would print itself comes back as text: help, and the version.
    let printed = "";
    await parser.parseAsync([...args], {}, (_error, _argv, output) => {
      printed = output;
    });
    if (printed !== "") await writeStdout(`${printed}\n`);
  } catch (error) {
    return reportFailure(error);
  }
  return exitCode;
}

function baseParser(args: readonly string[]): Argv {
  return yargs([...args])
    .scriptName("tc-lint")
    .usage(
      "$0 [lint] <files, folders or patterns…>\n\nFinds layers of ONNX models that waste a GPU's Tensor Cores.",
    )
    .parserConfiguration({
      "camel-case-expansion": false,
      "greedy-arrays": false,
      "dot-notation": false,
      "parse-numbers": false,
      "parse-positional-numbers": false,
      "populate--": true,
    })
    .strict()
    .locale("en")
    .version(version)
    .alias("help", "h")
    .epilogue(epilogue)
    .wrap(Math.min(110, process.stdout.columns ?? 100))
    .exitProcess(false)
    .fail((message, error: Error | undefined) => {
      // yargs has errors of its own for flags that lack their value.
      if (error !== undefined && error.name !== "YError") throw error;
      const text = (message ?? error?.message ?? "the command line cannot be read").replaceAll("\n", " ");
      throw new InputError("usage", `${text}${flagHint(text)}`, { cause: error });
    });
}

/** The flag that an unknown one was meant to be. */
function flagHint(message: string): string {
  const [, unknown] = /^Unknown arguments?: ([^,]+)/.exec(message) ?? [];
  const nearest =
    unknown === undefined
      ? undefined
      : closest(
          unknown,
          // One that another command has is no misspelling.
          Object.keys({
            ...lintOptions,
            ...fixOptions,
            ...verifyOptions,
            ...benchOptions,
            ...validateOptions,
          }).filter((name) => name !== unknown),
        );
  return nearest === undefined ? "" : `; did you mean --${nearest}?`;
}
