/** A model's data files have names that the model chose. Written to another folder, they get names that it did not. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockModel } from "../../src/onnx/lock.ts";
import { openModel } from "../../src/onnx/open.ts";
import { sourceState } from "../../src/onnx/source-state.ts";
import { weightFiles } from "../../src/onnx/weights.ts";
import { stageModel } from "../../src/onnx/write.ts";
import { float, info, modelBytes, node, type types } from "./build.ts";
import { weightSize, weightsOf, writeTestModel } from "./write-fix.ts";

let folder: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-carry-"));
  target = path.join(folder, "out");
  mkdirSync(target);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const names = [
  ".git/hooks/post-commit",
  ".bashrc",
  "tc-lint.config.mjs",
  "fixed.onnx",
  "node_modules/x/index.js",
  "a b\u001b[31m.bin",
];

/** x + w0 + w1 + … → y, each weight in a file of its own, the last one in a Constant. */
function writeModel(): string {
  const tensorAt = (location: string, index: number): types.ITensorProto => ({
    name: `w${index}`,
    dims: [weightSize],
    dataType: float,
    dataLocation: 1,
    externalData: [{ key: "location", value: location }],
  });
  for (const [index, name] of names.entries()) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, new Uint8Array(new Float32Array(weightSize).fill(index + 1).buffer));
  }
  const tensors = names.map(tensorAt);
  const constant = tensors.pop();
  const sums = names.map((_, index) => {
    const isLast = index === names.length - 1;
    return node("Add", [index === 0 ? "x" : `s${index - 1}`, `w${index}`], [isLast ? "y" : `s${index}`]);
  });
  const value = { name: "value", type: 4, t: constant ?? {} };
  const bytes = modelBytes({
    node: [node("Constant", [], [`w${names.length - 1}`], { attribute: [value] }), ...sums],
    input: [info("x", [weightSize])],
    output: [info("y", [weightSize])],
    initializer: tensors,
  });
  const file = path.join(folder, "model.onnx");
  writeFileSync(file, bytes);
  chmodSync(file, 0o755);
  return file;
}

async function copyTo(destination: string, from = writeModel()): Promise<void> {
  using lock = lockModel(destination);
  using source = openModel(from);
  const whole = { kind: "copy", source: source.source, offset: 0, length: source.source.size } as const;
  const render = () => ({ model: [whole], data: undefined });
  using staged = await stageModel({ source, state: sourceState(source), lock, render });
  staged.commit();
}

describe("a model written to another folder", () => {
  it("plants nothing: its data is named after the model, readable, and no program", async () => {
    const destination = path.join(target, "fixed.onnx");
    await copyTo(destination);
    const written = readdirSync(target, { recursive: true }).map(String).sort();
    expect(written).toHaveLength(names.length + 1);
    for (const name of written.filter((each) => each !== "fixed.onnx")) {
      expect(name).toMatch(/^fixed\.[0-9a-f]{16}\.data$/);
      expect(statSync(path.join(target, name)).mode & 0o777).toBe(0o644);
    }
    expect(statSync(destination).mode & 0o111).toBe(0);
    expect(readFileSync(path.join(folder, "fixed.onnx"))).toHaveLength(4 * weightSize);
  });

  it("reads the same from there", async () => {
    const destination = path.join(target, "fixed.onnx");
    await copyTo(destination);
    using model = openModel(destination);
    expect(weightFiles(model).every(({ present }) => present)).toBe(true);
    const tensors = names.map((_, index) => {
      const value = model.graph.values.get(`w${index}`);
      const attribute = value?.producer?.attributes[0]?.value;
      return value?.initializer ?? (attribute?.type === "tensor" ? attribute.tensor : undefined);
    });
    const first = tensors.map((tensor) => tensor && model.reader.elements(tensor, weightSize)?.[0]);
    expect(first).toEqual(names.map((_, index) => index + 1));
  });

  it("keeps the names where it stays in its folder", async () => {
    await copyTo(path.join(folder, "other.onnx"));
    using model = openModel(path.join(folder, "other.onnx"));
    expect(weightFiles(model).map(({ location }) => location)).toEqual(names);
  });

  it("takes along what only the old one's links lead to", async () => {
    const blobs = path.join(folder, "blobs");
    const snapshot = path.join(folder, "snapshot");
    for (const each of [blobs, snapshot]) mkdirSync(each);
    writeTestModel(blobs);
    for (const name of ["model.onnx", "model.weights"])
      symlinkSync(`../blobs/${name}`, path.join(snapshot, name));
    const destination = path.join(snapshot, "fixed.onnx");
    await copyTo(destination, path.join(snapshot, "model.onnx"));
    expect(weightsOf(destination)).toEqual({ inner: 1, outer: 1 });
    expect(readdirSync(snapshot)).toContainEqual(expect.stringMatching(/^fixed\.[0-9a-f]{16}\.data$/));
  });

  describe("takes what it refers to of a larger file", () => {
    const page = 65536;
    const bytes = 4 * weightSize;
    /** By name, the place in `big.weights`. */
    const places = {
      w0: 3 * page + 128,
      w1: 3 * page + 128 + bytes,
      w2: 7 * page + 4096,
      w3: 7 * page + 4096,
    };
    const fileBytes = 9 * page;

    function writeShared(extra: readonly { key: string; value: string }[] = []): string {
      const data = Buffer.alloc(fileBytes, 0xff);
      for (const [index, at] of Object.values(places).entries())
        data.set(new Uint8Array(new Float32Array(weightSize).fill(index + 1).buffer), at);
      writeFileSync(path.join(folder, "big.weights"), data);
      const initializer = Object.entries(places).map(([name, at]) => ({
        name,
        dims: [weightSize],
        dataType: float,
        dataLocation: 1,
        externalData: [
          { key: "location", value: "big.weights" },
          { key: "offset", value: String(at) },
          ...(name === "w0" ? extra : []),
        ],
      }));
      const sums = initializer.map(({ name }, index) =>
        node("Add", [index === 0 ? "x" : `s${index - 1}`, name], [index === 3 ? "y" : `s${index}`]),
      );
      const graph = {
        node: sums,
        input: [info("x", [weightSize])],
        output: [info("y", [weightSize])],
        initializer,
      };
      writeFileSync(path.join(folder, "model.onnx"), modelBytes(graph));
      return path.join(folder, "model.onnx");
    }

    function carried() {
      const [data = ""] = readdirSync(target).filter((name) => name.endsWith(".data"));
      using model = openModel(path.join(target, "fixed.onnx"));
      const tensors = Object.keys(places).map((name) => model.graph.values.get(name)?.initializer);
      const first = tensors.map((tensor) => tensor && model.reader.elements(tensor, weightSize)?.[0]);
      const offsets = tensors.map((tensor) => (tensor?.data.kind === "external" ? tensor.data.offset : -1));
      return { first, offsets, bytes: statSync(path.join(target, data)).size };
    }

    it("page by page, so that nothing is aligned otherwise", async () => {
      await copyTo(path.join(target, "fixed.onnx"), writeShared());
      const { first, offsets, bytes: size } = carried();
      expect(first).toEqual([1, 2, 4, 4]);
      expect(offsets.map((offset) => offset % page)).toEqual(Object.values(places).map((at) => at % page));
      expect(size).toBeLessThan(3 * page);
    });

    it.each(["checksum", "prepacked_0"])("all of it where %s is of the whole file", async (key) => {
      await copyTo(path.join(target, "fixed.onnx"), writeShared([{ key, value: "1" }]));
      const { first, offsets, bytes: size } = carried();
      expect([first, offsets, size]).toEqual([[1, 2, 4, 4], Object.values(places), fileBytes]);
    });
  });
});
