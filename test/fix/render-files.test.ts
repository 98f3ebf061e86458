/** @file A repair as files in memory: the very bytes that a repair on the disk writes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { render } from "../../src/fix/edits.ts";
import { fixModel } from "../../src/fix/fix.ts";
import { renderFix } from "../../src/fix/render-files.ts";
import type { TensorRef } from "../../src/ir/model.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { joinSegments, segmentsLength } from "../../src/wire/splice.ts";
import { requestFor, settingsFor, writeExternal, writeInline } from "./models.ts";

describe("A repair in memory", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-render-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ["inside the file", writeInline],
    ["in a file of their own", writeExternal],
  ])("of a model whose weights are %s is what is written", async (_, write) => {
    const file = write(folder);
    const before = readdirSync(folder);
    using model = openModel(file);
    const { outcome, files } = renderFix(model, settingsFor(), "fixed.onnx", "nobody ran them");
    expect(readdirSync(folder)).toEqual(before);
    expect(outcome.proof).toEqual({ kind: "unverified", summary: "nobody ran them" });
    const made = new Map(files.map(({ name, segments }) => [name, joinSegments(segments)]));
    const destination = path.join(folder, "fixed.onnx");
    const verify = async () => ({ kind: "unverified", summary: "nobody ran them" }) as const;
    const written = await fixModel(requestFor(file, { destination, promise: "unverified", verify }));
    const others = readdirSync(folder).filter((name) => !before.includes(name));
    expect([...made.keys()].sort()).toEqual(others.sort());
    for (const name of others) {
      const content = readFileSync(path.join(folder, name));
      expect(Buffer.compare(made.get(name) ?? Buffer.alloc(0), content)).toBe(0);
    }
    expect(outcome.microseconds).toEqual(written.microseconds);
    expect(outcome.bytes).toBe(written.bytes);
    expect(outcome.notes.map(({ message }) => message)).toEqual(written.notes.map(({ message }) => message));
  });

  it("of a model with nothing to repair has no files", () => {
    const file = writeInline(folder);
    using model = openModel(file);
    const { outcome, files } = renderFix(model, settingsFor([]), "fixed.onnx", "nobody ran them");
    expect(files).toEqual([]);
    expect(outcome).toMatchObject({ changed: false, written: false, proof: null });
  });

  it("needs the weights", () => {
    const file = writeExternal(folder);
    for (const name of readdirSync(folder)) if (!name.endsWith(".onnx")) rmSync(path.join(folder, name));
    using model = openModel(file);
    expect(() => renderFix(model, settingsFor(), "fixed.onnx", "")).toThrow(
      expect.objectContaining({ code: "weights-missing" }),
    );
  });

  it("of what would be larger than a runtime loads puts its weights beside it", () => {
    const file = writeInline(folder);
    using model = openModel(file);
    const metadata = new Map([["fixed", "yes"]]);
    expect(render(model, "fixed.data", metadata).data).toBeUndefined();
    const { model: whole, data = [] } = render(model, "fixed.data", metadata, model.bytes);
    expect(segmentsLength(whole)).toBeLessThan(model.bytes / 2);
    const result = path.join(folder, "fixed.onnx");
    writeFileSync(result, joinSegments(whole));
    writeFileSync(path.join(folder, "fixed.data"), joinSegments(data));
    using fixed = openModel(result);
    expect([...fixed.graph.values.keys()]).toEqual([...model.graph.values.keys()]);
    let moved = 0;
    for (const [name, { initializer }] of model.graph.values) {
      const after = fixed.graph.values.get(name)?.initializer;
      if (initializer === undefined || after === undefined) continue;
      moved += after.data.kind === "external" ? 1 : 0;
      expect(contentOf(fixed, after)).toEqual(contentOf(model, initializer));
    }
    expect(moved).toBeGreaterThan(0);
  });
});

function contentOf({ source, files }: OpenModel, tensor: TensorRef): Uint8Array {
  const bytes = tensorBytes(source, files, tensor, encodeNumbers);
  const content = new Uint8Array(bytes.size);
  bytes.readInto(0, content);
  return content;
}
