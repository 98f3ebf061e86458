/** Every zoo model, its first axis made a symbol, fixed with a drawn size bound: no size of it is in what comes out. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Facts, inferFacts } from "../../src/facts/infer.ts";
import { runPasses } from "../../src/fix/pipeline.ts";
import type { Model } from "../../src/ir/model.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { Random } from "../../src/verify/random.ts";
import { zooModel, zooNames } from "../zoo.ts";
import { settingsFor } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-zoo-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The model with a symbol for the first axis of every input, and nothing declared that would contradict it. */
function freed(name: string): OpenModel {
  const proto = onnxProto.onnx.ModelProto.decode(readFileSync(zooModel(name)));
  const { graph } = proto;
  if (graph === null || graph === undefined) throw new Error("a zoo model has a graph");
  const stored = new Set((graph.initializer ?? []).map((tensor) => tensor.name));
  for (const input of graph.input ?? []) {
    const [first] = input.type?.tensorType?.shape?.dim ?? [];
    if (first === undefined || stored.has(input.name)) continue;
    first.dimParam = "batch";
    delete first.dimValue;
  }
  graph.valueInfo = [];
  for (const { type } of graph.output ?? []) delete type?.tensorType?.shape;
  const file = path.join(folder, `${name}.onnx`);
  writeFileSync(file, onnxProto.onnx.ModelProto.encode(proto).finish());
  for (const [location, bytes] of dataOf(graph)) writeZeros(path.join(folder, location), bytes);
  return openModel(file);
}

/** Files of external data, and where the last tensor in each ends. */
function dataOf({ initializer, node }: types.IGraphProto): Map<string, number> {
  const files = new Map<string, number>();
  const constants = (node ?? []).flatMap(({ attribute }) => (attribute ?? []).flatMap(({ t }) => t ?? []));
  for (const { externalData } of [...(initializer ?? []), ...constants]) {
    const entries = new Map((externalData ?? []).map(({ key, value }) => [key, value ?? ""]));
    const location = entries.get("location");
    if (location === undefined) continue;
    const end = Number(entries.get("offset") ?? 0) + Number(entries.get("length") ?? 0);
    files.set(location, Math.max(end, files.get(location) ?? 0));
  }
  return files;
}

/** A file with a hole: gigabytes that no disk holds. */
function writeZeros(file: string, bytes: number): void {
  writeFileSync(file, "");
  truncateSync(file, bytes);
}

/** Shapes of the outputs, and what inference had to skip. */
function accountOf({ model, skipped, root }: Facts): { shapes: string[]; skipped: number } {
  const shapes = model.graph.outputs.map((value) =>
    `${value.name} [${root.shape(value)?.join(",")}]`.replaceAll(/\?\d+/g, "?"),
  );
  return { shapes, skipped: skipped.length };
}

function at(model: Model, batch: number | undefined): ReturnType<typeof accountOf> {
  return accountOf(inferFacts(model, batch === undefined ? {} : { dims: new Map([["batch", batch]]) }));
}

const changedNames: string[] = [];

describe("the zoo with a symbolic first axis", () => {
  it.each(zooNames)("%s", (name) => {
    const random = new Random(`${name}.onnx`);
    using original = freed(name);
    const batch = random.integer(2, 40);
    const settings = { ...settingsFor([fold, align]), dims: new Map([["batch", batch]]) };
    const { model, changed } = runPasses(original, settings);
    if (changed) changedNames.push(name);
    for (const size of [undefined, random.integer(1, 40)]) {
      const expected = at(original, size);
      // Some exports have a size of theirs written into a Reshape: they do not run at this one.
      if (expected.skipped === 0) expect(at(model, size)).toEqual(expected);
    }
  });

  it("is changed by most of these fixes", () => {
    expect(changedNames.length).toBeGreaterThan(zooNames.length / 2);
  });
});
