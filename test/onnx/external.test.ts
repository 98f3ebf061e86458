import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { patched } from "../../src/fix/edits.ts";
import { Patch } from "../../src/ir/patch.ts";
import { resolveExternal } from "../../src/onnx/external-file.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { weightFiles } from "../../src/onnx/weights.ts";
import { FileSource } from "../../src/wire/file-source.ts";
import { readRange } from "../../src/wire/source.ts";
import { int64, modelBytes, node } from "./build.ts";

describe("External data", () => {
  let folder = "";
  const at = (...parts: string[]) => path.join(folder, ...parts);
  const refused = (code: string) => expect.objectContaining({ code });

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-external-"));
    mkdirSync(at("model"));
    mkdirSync(at("secret"));
    writeFileSync(at("model", "data.bin"), Buffer.from(BigInt64Array.of(1n, 2n).buffer));
    writeFileSync(at("secret", "data.bin"), Buffer.from(BigInt64Array.of(6n, 6n).buffer));
    const entries = [
      { key: "location", value: "data.bin" },
      { key: "length", value: "16" },
    ];
    const tensor = { name: "k", dims: [2], dataType: int64, dataLocation: 1, externalData: entries };
    const graph = { node: [node("Identity", ["k"], ["y"])], output: [{ name: "y" }], initializer: [tensor] };
    writeFileSync(at("model", "model.onnx"), modelBytes(graph));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is read where it belongs", () => {
    using model = openModel(at("model", "model.onnx"));
    const k = model.graph.values.get("k")?.initializer;
    expect(k && model.reader.elements(k, 10)).toEqual([1, 2]);
    expect(weightFiles(model)).toEqual([{ location: "data.bin", present: true, neededBytes: 16 }]);
  });

  it("may be absent: its elements are then unknown, and the file is stated", () => {
    rmSync(at("model", "data.bin"));
    using model = openModel(at("model", "model.onnx"));
    const k = model.graph.values.get("k")?.initializer;
    expect(k && model.reader.elements(k, 10)).toBeUndefined();
    expect(weightFiles(model)).toEqual([{ location: "data.bin", present: false, neededBytes: 16 }]);
  });

  it("is not looked for where a model of bytes has only a name, not even once a pass has changed it", () => {
    const file = at("model", "model.onnx");
    using model = modelFromBytes(readFileSync(file), file);
    const patch = new Patch();
    patch.metadata.set("changed", "yes");
    using changed = patched(model, patch, "unused.data");
    for (const each of [model, changed]) {
      const k = each.graph.values.get("k")?.initializer;
      expect(k && each.reader.elements(k, 10)).toBeUndefined();
      expect(weightFiles(each)).toEqual([{ location: "data.bin", present: false, neededBytes: 16 }]);
    }
  });

  it("37: swapped for another file between check and open is refused", () => {
    const found = resolveExternal(at("model", "model.onnx"), "data.bin");
    if (found === undefined) throw new Error("the data file was not found");
    const opened = FileSource.openExactly(found);
    expect(readRange(opened, 0, 1)[0]).toBe(1);
    opened.close();
    renameSync(at("model", "data.bin"), at("model", "kept.bin"));
    for (const swap of [
      () => symlinkSync("../secret/data.bin", at("model", "data.bin")),
      () => writeFileSync(at("model", "data.bin"), "another"),
      () => mkdirSync(at("model", "data.bin")),
    ]) {
      swap();
      expect(() => FileSource.openExactly(found)).toThrow(/symbolic link|replaced/);
      rmSync(at("model", "data.bin"), { recursive: true });
    }
  });

  it("37: in a folder swapped for a link between check and open is refused", () => {
    const found = resolveExternal(at("model", "model.onnx"), "data.bin");
    if (found === undefined) throw new Error("the data file was not found");
    renameSync(at("model"), at("moved"));
    symlinkSync("secret", at("model"));
    expect(() => FileSource.openExactly(found)).toThrow(refused("file-changed"));
  });

  it("is looked for beside the model as named, and beside the file that name leads to", () => {
    mkdirSync(at("links"));
    symlinkSync("../model/model.onnx", at("links", "model.onnx"));
    expect(resolveExternal(at("links", "model.onnx"), "data.bin")).toBeUndefined();
    symlinkSync("../model/data.bin", at("links", "data.bin"));
    expect(resolveExternal(at("links", "model.onnx"), "data.bin")?.bytes).toBe(16);
    symlinkSync("../secret/data.bin", at("links", "other.bin"));
    expect(() => resolveExternal(at("links", "model.onnx"), "other.bin")).toThrow(refused("external-path"));
  });
});
