/** @file The command line: which command runs, and what a mistake in it looks like. */
import yargs, { type Argv } from "yargs";
import { InputError } from "../ir/errors.ts";
import { limitMemoryBy } from "../ir/memory.ts";
import { groupMemoryBytes } from "../limits/control-group.ts";
import { version } from "../version.ts";
import { checkArguments, plainMessage } from "./check-arguments.ts";
import { addBench } from "./commands/bench.ts";
import { addCalibrate } from "./commands/calibrate.ts";
import { addCompare } from "./commands/compare.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExplain } from "./commands/explain.ts";
import { addExplainMatch } from "./commands/explain-match.ts";
import { addGpus } from "./commands/gpus.ts";
import { addInit } from "./commands/init.ts";
import { addLint } from "./commands/lint.ts";
import { addMergeReports } from "./commands/merge-reports.ts";
import { addPredict } from "./commands/predict.ts";
import { addPrintConfig } from "./commands/print-config.ts";
import { addValidate } from "./commands/validate.ts";
import { addVerify } from "./commands/verify.ts";
import { commandIn, completionArguments, isCompletionRequest } from "./completion.ts";
import { reportFailure } from "./exit.ts";
import { writeFailedRun } from "./failed-run.ts";
import { writeStdout } from "./stdout.ts";

/** Exit codes are the command's own, which is `lint` where none is named. */
const epilogue = `Examples:
  tc-lint model.onnx                       what wastes Tensor Cores on an H200
  tc-lint models/ --gpu l4 -f sarif=out.sarif
  tc-lint model.onnx --dim batch=32 --table
  tc-lint model.onnx --dim batch=1,8,32 --gpu l4,h200
  tc-lint decoder.onnx --dim sequence_length=1 --dim past_sequence_length=2048
  tc-lint compare --base main models/     what a change costs
  tc-lint explain TC102`;

/** Runs a command and returns its exit code. `workerUrl` is the script of worker threads. */
export async function main(args: readonly string[], workerUrl: URL): Promise<number> {
  limitMemoryBy(groupMemoryBytes);
  let exitCode = 0;
  const done = (code: number) => {
    exitCode = code;
  };
  try {
    const isCompletion = isCompletionRequest(args);
    if (!isCompletion) checkArguments(args);
    const completion = isCompletion
      ? await completionArguments(args, parserOf(args, workerUrl, done))
      : { asked: args };
    if ("offered" in completion) {
      await writeStdout(completion.offered.map((value) => `${value}\n`).join(""));
      return exitCode;
    }
    const { asked } = completion;
    // What yargs would print itself comes back as text: help, and the version.
    let printed = "";
    await parserOf(asked, workerUrl, done).parseAsync([...asked], {}, (_error, _argv, output) => {
      printed = output;
    });
    if (printed !== "") await writeStdout(`${printed}\n`);
  } catch (error) {
    const command = await commandIn(args, parserOf(args, workerUrl, done));
    const code = reportFailure(error, command);
    await writeFailedRun(error, args, command);
    return code;
  }
  return exitCode;
}

function parserOf(args: readonly string[], workerUrl: URL, done: (code: number) => void): Argv {
  const parser = baseParser(args);
  addLint(parser, workerUrl, done);
  addMergeReports(parser, done);
  addExplain(parser, done);
  addExplainMatch(parser, done);
  addGpus(parser, done);
  addPredict(parser, done);
  addPrintConfig(parser, done);
  addCompare(parser, workerUrl, done);
  addVerify(parser, done);
  addValidate(parser, done);
  addBench(parser, done);
  addDoctor(parser, done);
  addCalibrate(parser, done);
  addInit(parser, done);
  addCompletion(parser, done);
  return parser;
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
      throw new InputError("usage", plainMessage(text, args), { cause: error });
    });
}
