import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Graph, Span } from "../../src/ir/model.ts";
import { Patch } from "../../src/ir/patch.ts";
import { applyPatch } from "../../src/onnx/apply.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { Cursor } from "../../src/wire/cursor.ts";
import { BufferSource } from "../../src/wire/source.ts";
import { type Edit, joinSegments, splice } from "../../src/wire/splice.ts";
import { isWholeZoo, zooModel, zooNames } from "../zoo.ts";
import { type NodeTests, nodeTestArchive, unpackNodeTests } from "./node-tests.ts";
import { type Comparison, compareWithOnnxProto } from "./oracle.ts";

const zooModels = zooNames.map(zooModel);

/** Compares every model with what onnx-proto decodes, and says how much there was to compare. */
function compareAll(models: readonly string[]): Comparison & { readonly models: number } {
  const total = { models: 0, nodes: 0, attributes: 0, tensors: 0, readTensors: 0, types: 0 };
  const differences: string[] = [];
  for (const file of models) {
    using model = openModel(file);
    const found = compareWithOnnxProto(model, readFileSync(file));
    differences.push(
      ...found.differences.map(
        (text) => `${path.basename(path.dirname(file))}/${path.basename(file)}: ${text}`,
      ),
    );
    total.models += 1;
    total.nodes += found.nodes;
    total.attributes += found.attributes;
    total.tensors += found.tensors;
    total.readTensors += found.readTensors;
    total.types += found.types;
  }
  console.log(
    `${total.models} models: ${total.nodes} nodes, ${total.attributes} attributes, ${total.tensors} tensors ` +
      `(${total.readTensors} with their elements) and ${total.types} types compared with onnx-proto`,
  );
  return { ...total, differences };
}

/** Every node of every graph replaced by its own bytes, so that all lengths around are written anew. */
function selfEdits(graphs: readonly Graph[], bytes: Uint8Array): Edit[] {
  const source = new BufferSource("model", bytes);
  return graphs.flatMap(({ span }) =>
    fieldsOf(source, span).map(({ offset, length }) => ({
      parent: span,
      offset,
      length,
      replacement: [{ kind: "copy" as const, source, offset, length }],
    })),
  );
}

function fieldsOf(source: BufferSource, span: Span): Span[] {
  const fields: Span[] = [];
  const cursor = new Cursor(source, span.offset, span.length);
  while (cursor.next())
    fields.push({ offset: cursor.tagStart, length: cursor.start + cursor.length - cursor.tagStart });
  return fields;
}

function unchangedBySplicing(file: string): boolean {
  const bytes = readFileSync(file);
  const source = new BufferSource(file, bytes);
  using model = modelFromBytes(bytes);
  const graphs = [model.graph, ...[...model.functions.values()].map(({ graph }) => graph)];
  const unedited = splice(source, []);
  const patched = applyPatch(model, source, new Patch(), "data");
  const rewritten = splice(source, selfEdits(graphs, bytes));
  return [unedited, patched.model, rewritten].every((segments) => joinSegments(segments).equals(bytes));
}

describe("The zoo", () => {
  it("reads as onnx-proto reads it", () => {
    const { differences, models, readTensors } = compareAll(zooModels);
    expect(differences).toEqual([]);
    expect(models).toBe(zooNames.length);
    expect(readTensors).toBeGreaterThan(isWholeZoo ? 1000 : 500);
  });

  it("keeps its bytes when spliced without an edit", () => {
    expect(zooModels.filter((file) => !unchangedBySplicing(file))).toEqual([]);
  });
});

describe.skipIf(nodeTestArchive === undefined)("ONNX's own operator tests", () => {
  let tests: NodeTests | undefined;
  beforeAll(() => {
    tests = unpackNodeTests(nodeTestArchive ?? "");
  });
  afterAll(() => tests?.[Symbol.dispose]());

  it("read as onnx-proto reads them", () => {
    const { differences, models } = compareAll(tests?.models ?? []);
    expect(differences).toEqual([]);
    expect(models).toBeGreaterThan(1300);
  });

  it("keep their bytes when spliced without an edit", () => {
    expect(tests?.models.filter((file) => !unchangedBySplicing(file))).toEqual([]);
  });
});
