/** @file `tc-lint verify`: compares two models, reports, and decides the exit code. */
import { jsonText } from "../report/json-text.ts";
import { renderVerifyText } from "../report/verify-text.ts";
import { compareModels, type VerifyReport, writeNpz } from "../verify/index.ts";
import { colorLevel } from "./color.ts";
import { exitCodes } from "./exit-code.ts";
import { checkReportFiles, type RunFiles, writeReportFile } from "./output.ts";
import { ProgressLine } from "./progress.ts";
import { readInputs } from "./read-inputs.ts";
import { writeStdout } from "./stdout.ts";
import type { VerifyFlags } from "./verify-options.ts";

/** Returns the exit code: 0 the same, 1 different. Throws InputError where that cannot be found out. */
export async function runVerify(original: string, candidate: string, flags: VerifyFlags): Promise<number> {
  const models = [original, candidate];
  const files: RunFiles = { inputs: [...models, flags.inputs], models };
  checkReportFiles([flags.output], files);
  checkReportFiles([flags.saveInputs], { ...files, isArchive: true });
  const inputs = flags.inputs === undefined ? undefined : readInputs(flags.inputs);
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  const { budget, seeds, sizes, timeoutSeconds, memoryBytes, threads } = flags;
  const { report, failingInputs } = await compareModels(original, candidate, {
    childUrl: new URL("../verify-child.js", import.meta.url),
    budget,
    seeds,
    sizes,
    inputs,
    timeoutSeconds,
    memoryBytes,
    threads,
    onProgress: (what) => progress.show(`comparing: ${what} …`),
  }).finally(() => progress.erase());
  const text = render(report, flags);
  if (flags.output === undefined) await writeStdout(text);
  else writeReportFile(flags.output, text);
  if (flags.saveInputs !== undefined && failingInputs !== undefined) {
    writeReportFile(flags.saveInputs, writeNpz(failingInputs));
  }
  return report.same ? exitCodes.clean : exitCodes.findings;
}

function render(report: VerifyReport, { format, color, output }: VerifyFlags): string {
  if (format === "json") return jsonText(report);
  const isTerminal = output === undefined && process.stdout.isTTY === true;
  const env = output === undefined ? process.env : {};
  return renderVerifyText(report, colorLevel({ flag: color, env, isTerminal }));
}
