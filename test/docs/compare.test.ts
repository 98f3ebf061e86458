/** docs/compare.md shows what the tool says: its examples are made here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { CompareReport } from "../../src/compare/result.ts";
import { compareReportOf } from "../../src/compare/summary.ts";
import { compare } from "../../src/index.ts";
import type { CompareFormat } from "../../src/report/compare-format-names.ts";
import { compareFormats } from "../../src/report/compare-formats.ts";
import { network } from "../compare/models.ts";

const page = readFileSync(new URL("../../docs/compare.md", import.meta.url), "utf8");

async function example(): Promise<CompareReport> {
  const model = await compare(network(), network({ widths: [256, 250, 512], detours: true }), {
    headName: "models/detector.onnx",
    baseName: "main:models/detector.onnx",
    gpu: "h200",
    stack: "cudnn",
    budgets: [
      { gpu: "h200", maxMicroseconds: 100, maxRegression: "5 %" },
      { gpu: "l4", maxMicroseconds: 500 },
    ],
  });
  // Where the options came from is not what the page is about; nor are weights that nobody ships.
  const side = model.base && { ...model.base, notices: [] };
  const head = model.head && { ...model.head, notices: [] };
  const base = { ref: "main", commit: "1a2b3c4d5e6f" };
  const unchanged = Array.from({ length: 4 }, (_, index) => `models/${index}.onnx`);
  return compareReportOf(
    { base, models: [{ ...model, configFiles: [], base: side, head }], unchanged },
    "0.1.0",
  );
}

test.each<CompareFormat>(["text", "markdown"])("the example as %s", async (format) => {
  const rendered = compareFormats[format](await example(), {
    color: 0,
    verbose: false,
    describeTarget: () => "NVIDIA H200 with cuBLAS and cuDNN",
  });
  expect(page).toContain(`\n${rendered}`);
});
