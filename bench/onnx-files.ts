/**
 * @file Predicted against measured time of ONNX files on the stack `cudnn`: the very graphs, a kernel a node.
 *
 *   node scripts/run.mjs bench/onnx-files.ts [--out bench/results/truth.md]
 *
 * The measured rows are bench/measurements/h200-onnx-files.json, which nothing is fitted to. Needs ../shared/zoo.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorsOf, type FileRow, predictFiles } from "./onnx-file.ts";

const zoo = join(process.cwd(), "..", "shared", "zoo");
const { values } = parseArgs({ options: { out: { type: "string" } } });
if (!existsSync(zoo)) {
  console.error(`onnx-files: ${zoo} is not there; nothing to compare with`);
  process.exit(2);
}

const rows = predictFiles(zoo);
const { median, ninetieth, inside } = errorsOf(rows);
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const cells = ({ model, measured, predicted, low, high }: FileRow) =>
  [
    model,
    measured.toFixed(0),
    predicted.toFixed(0),
    (measured / predicted).toFixed(2),
    `${low.toFixed(0)}–${high.toFixed(0)}${measured >= low && measured <= high ? "" : " (outside)"}`,
  ].join(" | ");
const text = `# Predicted and measured time of whole files

\`node scripts/run.mjs bench/onnx-files.ts --out bench/results/truth.md\`

Zoo exports in FP16 on an H200, stack \`cudnn\` (cuBLAS and cuDNN, a kernel a node), batch as exported, symbolic axes at 1:
geometric mean of two runs of ../shared/peers/onnx_torch.py over the files, on two days. Nothing was fitted to these rows.

${rows.length} files: median error ${percent(median)}, nine of ten within ${percent(ninetieth)}; ${inside} inside the 90 % interval.

| model | measured µs | predicted µs | ratio | interval |
|---|--:|--:|--:|---|
${rows.map((row) => `| ${cells(row)} |`).join("\n")}
`;
console.log(text);
if (values.out !== undefined) writeFileSync(values.out, text);
