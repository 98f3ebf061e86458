/** @file `tc-lint verify <original> <candidate>`: on the CPU, with ONNX Runtime. */
import { resolve } from "node:path";
import type { Argv } from "yargs";
import { InputError } from "../../ir/errors.ts";
import { readVerifyFlags, type VerifyFlags, verifyOptions } from "../verify-options.ts";

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
    async (argv) => done(await runVerify(argv.original, argv.candidate, readVerifyFlags(argv))),
  );
}

/** Returns the exit code: 0 the same, 1 different. Throws InputError where that cannot be found out. */
async function runVerify(original: string, candidate: string, flags: VerifyFlags): Promise<number> {
  const { foundBudget, withBudgetNotice } = await import("../../api/half-budget.ts");
  const { checkReportFiles, writeReportFile } = await import("../../files/report-file.ts");
  const { readInputs } = await import("../../files/read-inputs.ts");
  const { verifyChildUrl } = await import("../../verify/child-url.ts");
  const { compareModels, writeNpz } = await import("../../verify/index.ts");
  const { exitCodes } = await import("../exit.ts");
  const { withProgress } = await import("../progress.ts");
  const { writeRun } = await import("../write-reports.ts");
  const { output, saveInputs } = flags;
  if (output !== undefined && saveInputs !== undefined && resolve(output) === resolve(saveInputs))
    throw new InputError("usage", `-o, --save-inputs: two files cannot both be written to "${output}"`);
  const models = [original, candidate];
  const files = { inputs: [...models, flags.inputs], models };
  checkReportFiles([flags.output], files);
  checkReportFiles([flags.saveInputs], { ...files, isArchive: true });
  const inputs = flags.inputs === undefined ? undefined : readInputs(flags.inputs);
  const { seeds, sizes, timeoutSeconds, memoryBytes, threads } = flags;
  const found = flags.budget === undefined ? foundBudget(original, candidate) : { budget: flags.budget };
  const { report, failingInputs } = await withProgress((say) =>
    compareModels(original, candidate, {
      childUrl: verifyChildUrl,
      budget: found.budget,
      seeds,
      sizes,
      inputs,
      timeoutSeconds,
      memoryBytes,
      threads,
      onProgress: (what) => say(`comparing: ${what} …`),
    }),
  );
  await writeRun("verify", withBudgetNotice(report, found), flags);
  if (flags.saveInputs !== undefined && failingInputs !== undefined) {
    writeReportFile(flags.saveInputs, writeNpz(failingInputs));
  }
  return report.same ? exitCodes.clean : exitCodes.findings;
}
