/** @file Small models that fixes change, as files with their weights inside or beside them. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createCostModel } from "../../src/cost/model.ts";
import type { FixRequest, Proof } from "../../src/fix/fix.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { align } from "../../src/passes/align/align.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { floats, info, modelBytes, node, type types } from "../onnx/build.ts";
import { noise } from "../passes/folding.ts";

/** Filters of the first convolution: a width that padding pays for. */
export const oddWidth = 67;

/** x [1,32,side,side] → Conv to 67 channels → BatchNormalization → Relu → Conv to 32 → y. */
export function convolutions(side = 28): types.IGraphProto {
  const scale = Array.from({ length: oddWidth }, (_, index) => 1 + index / oddWidth);
  const per = (name: string, values: readonly number[]) => floats(name, [oddWidth], values);
  const pads = { name: "pads", type: 7, ints: [1, 1, 1, 1] };
  return {
    node: [
      node("Conv", ["x", "w1"], ["a"], { name: "first", attribute: [pads] }),
      node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["b"], { name: "norm" }),
      node("Relu", ["b"], ["c"], { name: "relu" }),
      node("Conv", ["c", "w2"], ["y"], { name: "second", attribute: [pads] }),
    ],
    input: [info("x", [1, 32, side, side])],
    output: [info("y", [1, 32, side, side])],
    initializer: [
      floats("w1", [oddWidth, 32, 3, 3], noise(oddWidth * 32 * 9, 1)),
      floats("w2", [32, oddWidth, 3, 3], noise(oddWidth * 32 * 9, 2)),
      per("scale", scale),
      per("shift", noise(oddWidth, 3)),
      per("mean", noise(oddWidth, 4)),
      per("variance", scale),
    ],
  };
}

/** Writes `model.onnx` with everything inside. Returns its path. */
export function writeInline(folder: string, graph = convolutions(), rest: types.IModelProto = {}): string {
  const file = path.join(folder, "model.onnx");
  writeFileSync(file, modelBytes(graph, rest));
  return file;
}

/** The same with all initializers in `model.weights`. */
export function writeExternal(folder: string, graph = convolutions()): string {
  let offset = 0;
  const data: Uint8Array[] = [];
  const initializer = (graph.initializer ?? []).map(({ rawData, ...tensor }) => {
    const bytes = rawData ?? new Uint8Array(0);
    const entries = { location: "model.weights", offset: String(offset), length: String(bytes.length) };
    offset += bytes.length;
    data.push(bytes);
    const externalData = Object.entries(entries).map(([key, value]) => ({ key, value }));
    return { ...tensor, dataLocation: 1, externalData };
  });
  writeFileSync(path.join(folder, "model.weights"), Buffer.concat(data));
  return writeInline(folder, { ...graph, initializer });
}

export function settingsFor(passes: readonly Pass[] = [fold, align]): FixSettings {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("there is an H200 among the GPUs");
  return {
    target: { gpu, stack: stacks.cudnn, precision: "fp16" },
    cost: createCostModel(),
    passes,
    minSaving: 0,
    options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
  };
}

/** In place and unverified, unless `parts` say otherwise. */
export function requestFor(file: string, parts: Partial<FixRequest> = {}): FixRequest {
  return {
    path: file,
    destination: file,
    settings: settingsFor(),
    verify: unverified,
    promise: "unverified",
    dryRun: false,
    ...parts,
  };
}

function unverified(): Promise<Proof> {
  return Promise.resolve({ kind: "unverified", summary: "in a test" });
}

/** Contents by name. */
export function contentsOf(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder).map(
    (name) => [name, readFileSync(path.join(folder, name)).toString("latin1")] as const,
  );
  return new Map(files);
}
