import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openModel } from "../../src/onnx/open.ts";
import { weightFiles } from "../../src/onnx/weights.ts";
import { Cursor } from "../../src/wire/cursor.ts";
import { FileSource } from "../../src/wire/file-source.ts";
import { segmentsLength, splice } from "../../src/wire/splice.ts";
import { CountingSource } from "../wire/sources.ts";
import { field, info, int64, modelBytes, node } from "./build.ts";
import { writeLargeModel } from "./large-model.ts";

const gibibyte = 2 ** 30;

describe("A large model", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-large-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([3, 5])("of %i GiB is read by its metadata alone", (size) => {
    const file = path.join(folder, `inline-${size}.onnx`);
    writeLargeModel(file, size * gibibyte);
    const before = process.cpuUsage();
    using model = openModel(file);
    const { user, system } = process.cpuUsage(before);
    expect(model.bytes).toBeGreaterThan(size * gibibyte);
    expect(model.graph.name).toBe("behind");
    expect(model.graph.nodes.map(({ opType }) => opType)).toEqual(["Add"]);
    expect(model.graph.values.get("w")?.initializer?.dims).toEqual([(size * gibibyte) / 4]);
    const k = model.graph.values.get("k")?.initializer;
    expect(k && model.reader.elements(k, 10)).toEqual([42]);
    // Reading the weights would take seconds.
    expect((user + system) / 1000).toBeLessThan(200);
  });

  it("is walked and spliced in kilobytes", () => {
    const file = path.join(folder, "counted.onnx");
    writeLargeModel(file, 5 * gibibyte);
    const source = new CountingSource(FileSource.open(file));
    const cursor = new Cursor(source);
    let graph = { offset: 0, length: 0 };
    while (cursor.next()) if (cursor.field === 7) graph = { offset: cursor.start, length: cursor.length };
    const end = graph.offset + graph.length;
    const replacement = [{ kind: "bytes" as const, bytes: field(10, "a description") }];
    const result = splice(source, [{ parent: graph, offset: end, length: 0, replacement }]);
    expect(segmentsLength(result)).toBe(source.size + 15);
    expect(source.bytesRead).toBeLessThan(64 << 10);
  });

  it("that is cut off inside its weights is refused", () => {
    const file = path.join(folder, "cut.onnx");
    writeLargeModel(file, 3 * gibibyte);
    const descriptor = openSync(file, "r+");
    ftruncateSync(descriptor, 2 * gibibyte + 17);
    closeSync(descriptor);
    expect(() => openModel(file)).toThrow(expect.objectContaining({ code: "truncated" }));
  });

  it("may have external data beyond 4 GiB", () => {
    const offset = 5 * gibibyte;
    const data = path.join(folder, "data.bin");
    const descriptor = openSync(data, "w");
    ftruncateSync(descriptor, offset);
    writeSync(descriptor, BigInt64Array.of(2n, -7n), 0, 16, offset);
    closeSync(descriptor);
    const entries = { location: "data.bin", offset: String(offset), length: "16" };
    const externalData = Object.entries(entries).map(([key, value]) => ({ key, value }));
    const tensor = { name: "k", dims: [2], dataType: int64, dataLocation: 1, externalData };
    const file = path.join(folder, "external.onnx");
    writeFileSync(
      file,
      modelBytes({ initializer: [tensor], node: [node("Identity", ["k"], ["y"])], output: [info("y")] }),
    );
    using model = openModel(file);
    const k = model.graph.values.get("k")?.initializer;
    expect(k && model.reader.elements(k, 10)).toEqual([2, -7]);
    expect(weightFiles(model)).toEqual([{ location: "data.bin", present: true, neededBytes: offset + 16 }]);
    expect(statSync(data).size).toBe(offset + 16);
  });
});
