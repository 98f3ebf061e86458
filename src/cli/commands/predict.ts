/** @file `tc-lint predict`: rows from stdin, predicted, to stdout; what could not be read, to stderr. */
import type { Argv } from "yargs";
import type { Prediction } from "../../cost/predict.ts";
import { findGpu, gpus } from "../../hardware/gpus.ts";
import { findStack, stackIds } from "../../hardware/stacks.ts";
import type { Target } from "../../hardware/target.ts";
import { InputError } from "../../ir/errors.ts";
import { standard } from "../../settings/standard.ts";

const epilogue = `stdin holds rows by family, with these columns; what stands behind them, such as a measured time, is passed over:
  gemm    M, N, K, type                                          fp16, bf16, tf32, fp32 or int8
  bmm     batch, M, N, K, "NN" or "NT"
  conv    N, C, H, W, K, R, stride, pad, groups, "NHWC" or "NCHW", type
  sdpa    batch, heads, queries, keys, width of a head, causal
  memory  add, relu, silu, gelu, layernorm, softmax, transpose or copy, rows, columns, type

Exit codes: 0 all rows predicted; 2 wrong usage, or rows that are not understood: stderr names them,
and the others are predicted all the same.

Example:
  echo '{"gemm": [[4096, 4096, 4096, "fp16"]]}' | tc-lint predict --gpu l4`;

export function addPredict(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "predict",
    "Predict what operations cost: rows of JSON on stdin, [microseconds, low, high] for each on stdout",
    (command) =>
      command
        .option("gpu", {
          type: "string",
          default: standard.gpu,
          describe: "GPU to predict for (see tc-lint gpus)",
        })
        .option("stack", { type: "string", default: standard.stack, describe: "Libraries to predict for" })
        .option("calibration", { type: "string", describe: "File of coefficients measured on your machine" })
        .option("format", {
          alias: "f",
          choices: ["json"] as const,
          default: "json" as const,
          describe: "How to write them",
        })
        .epilogue(epilogue),
    async ({ gpu: gpuId, stack: stackId, calibration }) => {
      const [gpu, stack] = [findGpu(gpuId), findStack(stackId)];
      if (gpu === undefined)
        throw new InputError("usage", `--gpu ${gpuId} is none of ${[...gpus.keys()].join(", ")}`);
      if (stack === undefined)
        throw new InputError("usage", `--stack ${stackId} is none of ${stackIds.join(", ")}`);
      done(await runPredict({ gpu, stack }, calibration ?? null));
    },
  );
}

/** A few milliseconds of them. */
const rowsBetween = 1000;

/** Returns the exit code: 2 where a row was not understood; the rest is answered all the same. */
async function runPredict(
  target: Omit<Target, "precision">,
  calibrationPath: string | null,
): Promise<number> {
  const { createCostModel } = await import("../../cost/model.ts");
  const { predict } = await import("../../cost/predict.ts");
  const { readCalibration } = await import("../../files/read-calibration.ts");
  const { exitCodes } = await import("../exit.ts");
  const { withProgress } = await import("../progress.ts");
  const { complain } = await import("../stderr.ts");
  const { writeStdout } = await import("../stdout.ts");
  const cost = createCostModel({ calibration: readCalibration(calibrationPath) });
  const input = await parsedStdin();
  const prediction = await withProgress((say) =>
    predict(input, cost, target, (family, index, count) => {
      if (index % rowsBetween === 0) say(`${index} of ${count} rows of ${family}`);
    }),
  );
  await writeStdout(jsonOf(prediction));
  for (const note of prediction.notes) complain(note, "tc-lint predict");
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
