import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { committedModels } from "../../fixtures/models.ts";
import { generateRuleFiles } from "../../scripts/rule-pages.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { lint } from "./lint.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

describe("generated files", () => {
  const files = generateRuleFiles(root);

  it.each([...files])("%s is what `npm run docs` writes", (file, text) => {
    expect(readFileSync(path.join(root, file), "utf8")).toBe(text);
  });

  it("docs/rules holds no page of a rule that is gone", () => {
    for (const file of readdirSync(path.join(root, "docs/rules"))) {
      expect([...files.keys()]).toContain(`docs/rules/${file}`);
    }
  });
});

describe("committed models", () => {
  const folder = path.join(root, "fixtures/models");

  it("are all that lies in fixtures/models", () => {
    const names = Object.keys(committedModels).map((name) => `${name}.onnx`);
    expect(readdirSync(folder).sort()).toEqual(names.sort());
  });

  it.each(Object.entries(committedModels))("%s is what `npm run fixtures` writes", (name, build) => {
    expect(Buffer.from(build()).equals(readFileSync(path.join(folder, `${name}.onnx`)))).toBe(true);
  });

  it.each(Object.entries(committedModels))("%s is lint's to read: nothing skipped", (_name, build) => {
    using model = modelFromBytes(build());
    expect(lint(model).skipped).toEqual([]);
  });

  it.each(Object.keys(committedModels))("%s runs in ONNX Runtime", async (name) => {
    const { InferenceSession } = await import("onnxruntime-node");
    const session = await InferenceSession.create(path.join(folder, `${name}.onnx`), { logSeverityLevel: 3 });
    using model = openModel(path.join(folder, `${name}.onnx`));
    expect(session.inputNames).toEqual(model.graph.inputs.map((input) => input.name));
    expect(session.outputNames).toEqual(model.graph.outputs.map((output) => output.name));
  });

  it("the aligned one has nothing to say, the others have", () => {
    const codes = Object.entries(committedModels).map(([name, build]) => {
      using model = modelFromBytes(build());
      return [name, lint(model, { minSaving: 0.005 }).findings.length > 0];
    });
    expect(codes).toEqual([
      ["misaligned-cnn", true],
      ["misaligned-transformer", true],
      ["aligned-mlp", false],
    ]);
  });
});
