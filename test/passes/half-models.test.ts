import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, describe, expect } from "vitest";
import { render } from "../../src/fix/edits.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import type { Segment } from "../../src/wire/splice.ts";
import { eachModel, zoo } from "../zoo.ts";
import { type Feeds, floats, volume } from "./folding.ts";
import { countOf, halveModel, runEmulation } from "./halving.ts";

/** Small ones of every family; HALF_MODELS=all runs every model with weights, HALF_MODELS=a,b those named. */
const small =
  `c3d crnn dlrm espcn misaligned_cnn misaligned_mlp_dynamo mobilenetv3_small mobilevit_xs seg_unet siamese
  shufflenet_v2 squeezenet tcn vit_tiny yolo_w0375`.split(/\s+/);

/** Half keeps 11 bits; errors of layers add up, and nothing in these models magnifies them much. */
const tolerance = 0.02;

interface ManifestInput {
  readonly name: string;
  readonly dtype: number;
  readonly example: number[];
}

const manifest: Record<string, { inputs: ManifestInput[] }> = JSON.parse(
  readFileSync(path.join(zoo, "manifest.json"), "utf8"),
);
const asked = process.env["HALF_MODELS"];
const names = asked === "all" ? Object.keys(manifest) : (asked?.split(",") ?? small);
const rows: string[] = [];

describe("the zoo with weights, in FP16", () => {
  eachModel(names)(
    "%s",
    async (name) => {
      const folder = mkdtempSync(path.join(tmpdir(), "half-"));
      try {
        execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder, name]);
        const original = path.join(folder, `${name}.onnx`);
        using model = openModel(original);
        const { before, after, notes } = halveModel(model);
        const changed = path.join(folder, "half.onnx");
        write(after, changed);
        const emulated = path.join(folder, "emulated.onnx");
        write(runEmulation(model), emulated);
        const wide = path.join(folder, "bfloat16.onnx");
        write(runEmulation(model, { halfType: "bfloat16" }), wide);
        const feeds = feedsOf(name);
        const error = await differenceOf(original, changed, feeds);
        const rounded = await differenceOf(original, emulated, feeds);
        const bfloat = await differenceOf(original, wide, feeds);
        const casts = countOf(after.graph, "Cast") - countOf(before.graph, "Cast");
        const kept = notes.filter(({ kind }) => kind === "kept").length;
        rows.push(
          `${name}: ${casts} Casts, ${kept} nodes kept FP32, error ${error.toExponential(2)} of the largest output, ${rounded.toExponential(2)} with every value rounded, ${bfloat.toExponential(2)} in BF16`,
        );
        expect(error).toBeLessThan(tolerance);
        expect(rounded).toBeLessThan(tolerance);
        expect(bfloat).toBeLessThan(8 * tolerance);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    300_000,
  );

  afterAll(() => console.log(rows.join("\n")));
});

function feedsOf(name: string): Feeds {
  return Object.fromEntries(
    (manifest[name]?.inputs ?? []).map(({ name: input, dtype, example }, seed) => {
      if (dtype === 1) return [input, floats(example, seed + 3)];
      // Token ids: the smallest table in the zoo has two rows.
      const ids = BigInt64Array.from({ length: volume(example) }, (_, index) =>
        BigInt((index * 7 + seed) % 2),
      );
      return [input, new Tensor("int64", ids, example)];
    }),
  );
}

/** Largest difference of all outputs, as a share of the largest magnitude of its output. */
async function differenceOf(original: string, changed: string, feeds: Feeds): Promise<number> {
  const expected = await outputsOf(original, feeds);
  const actual = await outputsOf(changed, feeds);
  return Math.max(...expected.map((want, index) => worst(want, actual[index])));
}

async function outputsOf(file: string, feeds: Feeds): Promise<Tensor[]> {
  const session = await InferenceSession.create(file, { logSeverityLevel: 3 });
  try {
    const outputs = await session.run(feeds);
    return session.outputNames.map((output) => outputs[output] as Tensor);
  } finally {
    await session.release();
  }
}

function worst(want: Tensor, got: Tensor | undefined): number {
  expect(got?.dims).toEqual(want.dims);
  const [a, b] = [want.data as Float32Array, got?.data as Float32Array];
  let [largest, difference] = [0, 0];
  for (const [index, value] of a.entries()) {
    largest = Math.max(largest, Math.abs(value));
    const distance = Math.abs(value - (b[index] ?? Number.NaN));
    if (!(distance <= difference)) difference = distance;
  }
  return difference / largest;
}

function write(halved: OpenModel, target: string): void {
  const { model, data } = render(halved, `${path.basename(target)}.data`);
  writeSegments(target, model);
  if (data !== undefined) writeSegments(`${target}.data`, data);
}

function writeSegments(target: string, segments: readonly Segment[]): void {
  const file = openSync(target, "w");
  const window = Buffer.alloc(1 << 22);
  for (const segment of segments) {
    if (segment.kind === "bytes") writeSync(file, segment.bytes);
    else {
      for (let done = 0; done < segment.length; done += window.length) {
        const part = window.subarray(0, Math.min(window.length, segment.length - done));
        segment.source.readInto(segment.offset + done, part);
        writeSync(file, part);
      }
    }
  }
  closeSync(file);
}
