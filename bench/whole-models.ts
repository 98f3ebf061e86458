/**
 * @file Predicted against measured time of whole models: eager PyTorch on an H200, half precision, channels_last.
 *
 *   node scripts/run.mjs bench/whole-models.ts [--out bench/results/whole-models.json]
 *
 * The measured rows are ../shared/measurements/h200-pytorch-models.json. A graph exported at batch 1 is costed at
 * another batch by multiplying the batch of every piece of work: exact for all but shape arithmetic.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { predictModel, type WholeModelRow } from "./whole-model.ts";

const shared = join(process.cwd(), "..", "shared");
const { values } = parseArgs({ options: { out: { type: "string" } } });
const measured = join(shared, "measurements", "h200-pytorch-models.json");
if (!existsSync(measured)) {
  console.error(`whole-models: ${measured} is not there; nothing to compare with`);
  process.exit(2);
}

interface MeasuredRow {
  readonly model: string;
  readonly batch: number;
  readonly mode: string;
  readonly us: number;
}

const { models } = JSON.parse(readFileSync(measured, "utf8")) as { readonly models: readonly MeasuredRow[] };
const rows: WholeModelRow[] = models
  .filter(({ mode }) => mode === "fp16_nhwc")
  .map(({ model, batch, us }) => predictModel(join(shared, "zoo", `${model}.onnx`), model, batch, us));

console.log("model                   batch   measured  predicted   error  90 % interval");
for (const { model, batch, measuredMicroseconds: us, predicted, low, high } of rows) {
  const error = `${(100 * (predicted / us - 1)).toFixed(0)} %`;
  const inside = us >= low && us <= high ? "" : " outside";
  const figures = [us.toFixed(0).padStart(10), predicted.toFixed(0).padStart(10), error.padStart(7)].join(
    " ",
  );
  console.log(
    `${model.padEnd(24)}${String(batch).padStart(4)} ${figures}  ${low.toFixed(0)}–${high.toFixed(0)}${inside}`,
  );
}
const errors = rows
  .map(({ predicted, measuredMicroseconds }) => Math.abs(predicted / measuredMicroseconds - 1))
  .sort((a, b) => a - b);
const median = errors[Math.floor(errors.length / 2)] ?? Number.NaN;
const factors = rows.map(({ predicted, measuredMicroseconds: us }) =>
  Math.max(predicted / us, us / predicted),
);
const worst = Math.max(...factors);
console.log(`median error ${(100 * median).toFixed(1)} %, worst ${worst.toFixed(2)}×, ${rows.length} rows`);
if (values.out !== undefined) {
  mkdirSync(dirname(values.out), { recursive: true });
  const command = `node scripts/run.mjs bench/whole-models.ts --out ${values.out}`;
  writeFileSync(
    values.out,
    `${JSON.stringify({ command, medianError: median, worstFactor: worst, rows }, null, 1)}\n`,
  );
}
