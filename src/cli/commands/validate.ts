/** @file `tc-lint validate <model>`: on the GPU, against a reference. */
import type { Argv } from "yargs";
import { readValidateFlags, type ValidateFlags, validateOptions } from "../validate-options.ts";

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
    async (argv) => done(await runValidate(argv.model, readValidateFlags(argv))),
  );
}

/** Whether greedy decoding gives the reference's tokens. */
async function decode(model: string, count: number, flags: ValidateFlags): Promise<number> {
  const { readInputs } = await import("../../files/read-inputs.ts");
  const { validateDecode } = await import("../../gpu/decode/decode.ts");
  const { exitCodes } = await import("../exit.ts");
  const { complain } = await import("../stderr.ts");
  const { withProgress } = await import("../progress.ts");
  const { writeRun } = await import("../write-reports.ts");
  const { timeoutSeconds, memoryBytes } = flags;
  const report = await withProgress((say) => {
    const inputs = flags.inputs === undefined ? undefined : readInputs(flags.inputs);
    const onProgress = (what: string) => say(`${what} …`);
    const limits = { timeoutSeconds, memoryBytes, onProgress, onNotice: complain };
    return validateDecode(model, { ...flags, inputs, count }, limits);
  });
  await writeRun("decode", report, flags);
  return report.same ? exitCodes.clean : exitCodes.findings;
}

/** Returns the exit code: 0 the same, 1 different. Throws InputError where that cannot be found out. */
async function runValidate(model: string, flags: ValidateFlags): Promise<number> {
  const { checkReportFiles } = await import("../../files/report-file.ts");
  const { readInputs } = await import("../../files/read-inputs.ts");
  const { validateModel } = await import("../../gpu/validate/validation.ts");
  const { exitCodes } = await import("../exit.ts");
  const { complain } = await import("../stderr.ts");
  const { withProgress } = await import("../progress.ts");
  const { writeRun } = await import("../write-reports.ts");
  const models = [model, ...(flags.against === undefined ? [] : [flags.against])];
  checkReportFiles([flags.output], { inputs: [...models, flags.inputs], models });
  if (flags.decode !== undefined) return decode(model, flags.decode, flags);
  const { timeoutSeconds, memoryBytes } = flags;
  const report = await withProgress((say) => {
    const inputs = flags.inputs === undefined ? undefined : readInputs(flags.inputs);
    const onProgress = (what: string) => say(`${what} …`);
    const limits = { timeoutSeconds, memoryBytes, onProgress, onNotice: complain };
    return validateModel(model, { ...flags, inputs }, limits);
  });
  await writeRun("validate", report, flags);
  return report.same ? exitCodes.clean : exitCodes.findings;
}
