/** @file Rows from stdin, predicted, to stdout; what could not be read, to stderr. */
import { createCostModel } from "../cost/model.ts";
import { type Prediction, predict } from "../cost/predict.ts";
import type { Target } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { exitCodes } from "./exit-code.ts";
import { readCalibration } from "./read-calibration.ts";
import { complain } from "./stderr.ts";
import { writeStdout } from "./stdout.ts";

/** Returns the exit code: 2 where a row was not understood; the rest is answered all the same. */
export async function runPredict(
  target: Omit<Target, "precision">,
  calibrationPath: string | null,
): Promise<number> {
  const cost = createCostModel({ calibration: readCalibration(calibrationPath) });
  const prediction = predict(await parsedStdin(), cost, target);
  await writeStdout(jsonOf(prediction));
  for (const problem of prediction.problems) complain(problem, "tc-lint predict");
  return prediction.problems.length > 0 ? exitCodes.failure : exitCodes.clean;
}

async function parsedStdin(): Promise<unknown> {
  if (process.stdin.isTTY)
    throw new InputError("usage", "predict reads rows from stdin: tc-lint predict < ops.json");
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError("bad-input", `stdin is not JSON: ${reason}`, { cause: error });
  }
}

/** A row a line, as in the measurement files. */
function jsonOf({ rows }: Prediction): string {
  const families = Object.entries(rows).map(([family, predicted]) => {
    const lines = predicted.map((row) => JSON.stringify(row));
    return `"${family}": [${lines.length > 0 ? `\n${lines.join(",\n")}\n` : ""}]`;
  });
  return `{\n${families.join(",\n")}\n}\n`;
}
