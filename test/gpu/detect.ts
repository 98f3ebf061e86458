/**
 * @file The detector of detector.ts on the GPU beside ONNX Runtime, over drawn inputs.
 *
 *     node dist/gpu/detect.js --model /tmp/zoo/yolo.onnx [--inputs 20] [--precision fp32] [--write detector.onnx]
 *     node scripts/run.mjs test/gpu/detect.ts --model ../shared/zoo/yolo.onnx --write detector.onnx
 *
 * The second one, without a GPU, only writes the model (beside the weights that it names). The threshold is put between two scores that
 * ONNX Runtime finds for the first input, so that some hundred boxes are above it. A detection that the other side lacks is excused where a
 * score is within `--tie` of the threshold or of a detection that it competes with, or an overlap may be on either side; they are counted.
 * Exit code 1 where something else differs. JSON to stdout.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { programOf } from "../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { ProgramSession } from "../../cuda-runtime/session/program-device.ts";
import { timeHost, timeProgram } from "../../cuda-runtime/session/program-timing.ts";
import { labelOf } from "../../src/ir/model.ts";
import { openModel } from "../../src/onnx/open.ts";
import { drawInputs } from "../../src/verify/inputs.ts";
import { openSession } from "../../src/verify/ort.ts";
import { arrays, numbersOf, type Tensor, type Tensors } from "../../src/verify/tensor.ts";
import { compareDetections, type Detection } from "./detect-compare.ts";
import { detectorOf, livelyWeights, usual } from "./detector.ts";
import { weightsOf } from "./node-tests-data.ts";

const { values: options } = parseArgs({
  options: {
    model: { type: "string", default: "yolo.onnx" },
    inputs: { type: "string", default: "20" },
    precision: { type: "string", default: "fp32" },
    tie: { type: "string", default: "1e-4" },
    write: { type: "string" },
  },
});
const precisions: readonly Precision[] = ["model", "fp32", "tf32", "fp16", "bf16"];
const kernels = new URL("../cuda/", import.meta.url);

if (options.write === undefined) process.exitCode = await compared();
else writeFileSync(options.write, detectorOf(options.model, usual));

async function compared(): Promise<number> {
  const precision = precisions.find((name) => name === options.precision);
  if (precision === undefined)
    throw new Error(`--precision ${options.precision}: there are ${precisions.join(", ")}`);
  // Beside the weights that it names.
  const file = path.join(path.dirname(options.model), "detector.onnx");
  const weights = path.join(path.dirname(file), "detector.weights");
  writeFileSync(weights, livelyWeights(options.model, options.model.replace(/\.onnx$/, ".weights")));
  writeFileSync(file, detectorOf(options.model, { ...usual, threshold: 0 }));
  const threshold = await thresholdFor(file);
  writeFileSync(file, detectorOf(options.model, { ...usual, threshold }));
  using model = openModel(file);
  const host = await HarnessHost.open({ kernels });
  const program = programOf({ model, precision, weights: weightsOf(model), target: host.target });
  using session = new ProgramSession(host.context, host.store, program, { poison: true });
  await using reference = await openSession({ path: file }, { optimization: "all", threads: undefined });
  const rows = [];
  for (let seed = 1; seed <= Number(options.inputs); seed++) {
    const inputs = drawInputs(model, { kind: "normal", seed, sizes: new Map(), isNarrow: false });
    const expected = detectionsOf(await reference.run(inputs));
    const outputs = [...session.run(bytesOf(inputs))].map(
      ([name, { type, shape, bytes }]): [string, Tensor] => [
        name,
        { dtype: type, dims: shape, data: new arrays[type](bytes.slice().buffer) },
      ],
    );
    const found = detectionsOf(new Map(outputs));
    rows.push({ seed, ...compareDetections(expected, found, { threshold, tie: Number(options.tie) }) });
  }
  const times = timeProgram(session);
  const ofHost = timeHost(session).map(({ node, times: own }) => ({
    node: labelOf(node),
    median: own.median,
  }));
  const wrong = rows.reduce((total, row) => total + row.wrong, 0);
  const excused = rows.reduce((total, row) => total + row.excused, 0);
  const report = {
    precision,
    threshold,
    inputs: rows.length,
    wrong,
    excused,
    microseconds: times,
    ofHost,
    rows,
  };
  process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
  return wrong === 0 && rows.length > 0 ? 0 : 1;
}

/** Halfway between two scores of boxes that suppression keeps: about a third of them are better. */
async function thresholdFor(file: string): Promise<number> {
  using model = openModel(file);
  await using session = await openSession({ path: file }, { optimization: "all", threads: undefined });
  const inputs = drawInputs(model, { kind: "normal", seed: 1, sizes: new Map(), isNarrow: false });
  const scores = detectionsOf(await session.run(inputs)).map(({ score }) => score);
  const at = Math.floor(scores.length / 3);
  return Math.fround(((scores[at] ?? 0) + (scores[at + 1] ?? 0)) / 2);
}

function bytesOf(inputs: Tensors): Map<string, Uint8Array> {
  return new Map(
    [...inputs].map(([name, { data }]) => {
      if (!ArrayBuffer.isView(data)) throw new Error(`${name} is text`);
      return [name, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
    }),
  );
}

function detectionsOf(outputs: Tensors): Detection[] {
  const of = (name: string) => {
    const tensor = outputs.get(name);
    if (tensor === undefined) throw new Error(`there is no output ${name}`);
    return Array.from(numbersOf(tensor));
  };
  const [boxes, scores, classes] = [of("boxes"), of("scores"), of("classes")];
  return scores.map((score, index) => ({
    score,
    kind: classes[index] ?? -1,
    box: boxes.slice(4 * index, 4 * index + 4),
  }));
}
