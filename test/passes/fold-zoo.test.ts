/** @file Real exports, folded: shapes on all of them, results on some that are given weights. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Tensor } from "onnxruntime-node";
import { afterAll, describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { labelOf } from "../../src/ir/model.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { numbersOf } from "../../src/ops/shape.ts";
import type { ByteSource } from "../../src/wire/source.ts";
import { eachModel, zooNames as names, zoo, zooModel } from "../zoo.ts";
import { difference, type Feeds, foldModel, noise, run, volume } from "./folding.ts";

const table: string[] = [];

/** Outputs with their shapes, and whatever of a model contradicts itself. */
function shapesOf(model: OpenModel) {
  const { root, skipped, contradictions } = inferFacts(model);
  return {
    outputs: model.graph.outputs.map((value) => `${value.name}: ${root.shape(value)?.join(",")}`),
    wrong: [...skipped.map(({ reason }) => reason), ...contradictions.map(({ value }) => value.name)],
  };
}

/** Shape nodes whose result is known. */
function staticShapes({ graph, ...model }: OpenModel): string[] {
  const { root } = inferFacts({ graph, ...model });
  return graph.nodes.flatMap((node) => {
    const [output] = node.outputs;
    const fact = output && root.fact(output);
    const isKnown = fact?.kind === "tensor" && numbersOf(fact.elements) !== undefined;
    return node.opType === "Shape" && isKnown ? [labelOf(node)] : [];
  });
}

function countOf({ graph }: OpenModel): string {
  const constants = graph.nodes.filter(({ opType }) => opType === "Constant").length;
  const shapes = graph.nodes.filter(({ opType }) => opType === "Shape").length;
  return `${graph.nodes.length - constants} nodes, ${constants} Constants, ${shapes} Shapes`;
}

describe("the zoo, folded", () => {
  it.each(names)("%s: the same outputs, no static Shape left, nothing to fold again", (name) => {
    using model = openModel(zooModel(name));
    const { after } = foldModel(model);
    expect(shapesOf(after)).toEqual({ outputs: shapesOf(model).outputs, wrong: [] });
    expect(staticShapes(after)).toEqual([]);
    table.push(`${name}: ${countOf(model)} → ${countOf(after)}`);
  });

  it("says what it did", () => {
    console.info(table.join("\n"));
    expect(table).toHaveLength(names.length);
  });
});

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-fold-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(source: ByteSource, file: string): void {
  const descriptor = openSync(path.join(folder, file), "w");
  const windowBytes = 1 << 22;
  for (let offset = 0; offset < source.size; offset += windowBytes) {
    const window = new Uint8Array(Math.min(windowBytes, source.size - offset));
    source.readInto(offset, window);
    writeSync(descriptor, window);
  }
  closeSync(descriptor);
}

function feedsOf({ graph }: OpenModel): Feeds {
  return Object.fromEntries(
    graph.inputs.map(({ name, declared }, index) => {
      const shape = declared?.kind === "tensor" ? (declared.shape ?? []) : [];
      const dims = shape.map((size) => (typeof size === "number" ? size : 2));
      const values = noise(volume(dims), index + 1);
      const isIndex = declared?.kind === "tensor" && declared.dtype === "int64";
      const data = isIndex ? BigInt64Array.from(values, () => 1n) : Float32Array.from(values);
      return [
        name,
        data instanceof Float32Array ? new Tensor("float32", data, dims) : new Tensor("int64", data, dims),
      ];
    }),
  );
}

describe("with weights", () => {
  eachModel(["mobilenetv3_small", "shufflenet_v2", "crnn", "bert_dynamo", "densenet121", "vit_tiny"])(
    "%s computes the same",
    async (name) => {
      execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder, name]);
      using model = openModel(path.join(folder, `${name}.onnx`));
      const { after } = foldModel(model);
      expect(after).not.toBe(model);
      write(after.source, "folded.onnx");
      for (const [location, source] of after.files.made) write(source, location);
      const feeds = feedsOf(model);
      const expected = await run(model.path, feeds);
      const actual = await run(path.join(folder, "folded.onnx"), feeds);
      expect(difference(expected, actual)).toBeLessThanOrEqual(5e-5);
      rmSync(path.join(folder, `${name}.weights`));
    },
    300_000,
  );
});
