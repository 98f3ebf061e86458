import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InputError, lint, rules } from "../../src/index.ts";
import { bytesOf, type Folder, headModel, temporaryFolder } from "./models.ts";

let folder: Folder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

describe("lint as a function", () => {
  test("takes a path, bytes, or a ModelProto, with one result", async () => {
    const model = headModel();
    const path = folder.write("head.onnx", bytesOf(model));
    const [fromFile, fromBytes, fromProto] = await Promise.all([
      lint(path, { name: "head.onnx" }),
      lint(bytesOf(model), { name: "head.onnx" }),
      lint(model, { name: "head.onnx" }),
    ]);
    expect(fromFile.findings.map(({ code }) => code)).toContain("TC102");
    expect(fromFile.notices.map(({ code }) => code)).toEqual(["weights-missing"]);
    expect(fromBytes).toEqual({ ...fromFile, notices: [] });
    expect(fromProto).toEqual(fromBytes);
  });

  test("takes what a configuration takes", async () => {
    const model = headModel({ rows: "rows" });
    const report = await lint(model, { gpu: "l4", dims: { rows: 64 }, rules: { TC: "off" }, layers: true });
    expect(report).toMatchObject({ target: { gpu: "l4" }, symbols: { rows: 64 }, findings: [] });
    expect(report.layers).toHaveLength(1);
  });

  test("names what is wrong with an option", async () => {
    await expect(lint(headModel(), { minSaving: 7 })).rejects.toThrow(
      /^options: minSaving: found 7, expected/,
    );
    await expect(lint(headModel(), { dims: { batch: 1 } })).rejects.toBeInstanceOf(InputError);
    await expect(lint(`${folder.path}/gone.onnx`)).rejects.toThrow(/gone\.onnx: no such file/);
    await expect(lint(new Uint8Array(3))).rejects.toBeInstanceOf(InputError);
  });

  test("the rules are there to be listed", () => {
    const codes = rules.map(({ code }) => code);
    expect(codes).toContain("TC101");
    expect(new Set(codes).size).toBe(codes.length);
  });
});
