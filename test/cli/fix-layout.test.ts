import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { openModel } from "../../src/onnx/open.ts";
import { weight } from "../passes/padding.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const flags = ["--fix", "--fix-only", "--no-color", "--layout", "nhwc"];

function writeConvolutions(): string {
  const file = path.join(bench.folder.path, "model.onnx");
  const bytes = model({ name: "layout", opset: 17 }, (graph) => {
    const h = graph.node("Conv", [graph.input("x", ["N", 8, 9, 9]), weight(graph, [16, 8, 3, 3])]);
    graph.node("Conv", [graph.node("Relu", [h]), weight(graph, [8, 16, 3, 3])], {}, { outputs: ["y"] });
    graph.output("y", "float32", ["N", 8, 5, 5]);
  });
  writeFileSync(file, bytes);
  return file;
}

function operatorsOf(file: string): string[] {
  using fixed = openModel(file);
  return fixed.graph.nodes.map(({ domain, opType }) => `${domain}::${opType}`);
}

it("--layout nhwc turns at inputs and outputs; --nhwc-io moves them, and is verified so", async () => {
  const file = writeConvolutions();
  const turned = await bench.tcLint([...flags, "--fix-output", "turned.onnx", "model.onnx"]);
  expect(turned).toMatchObject({ exitCode: 0, stderr: "" });
  expect(turned.stdout).toMatch(/verified/);
  const inside = ["tc_lint.nhwc::Conv", "::Relu", "tc_lint.nhwc::Conv"];
  expect(operatorsOf(path.join(path.dirname(file), "turned.onnx"))).toEqual([
    "::Transpose",
    ...inside,
    "::Transpose",
  ]);
  const moved = await bench.tcLint([...flags, "--nhwc-io", "model.onnx"]);
  // The Transposes at its ends stay, by the account as by ONNX Runtime.
  expect(moved.exitCode).toBe(0);
  expect(moved.stderr).toMatch(/^tc-lint: model\.onnx: predicted to be slower, [^\n]*\n$/);
  expect(moved.stdout).toMatch(/"x", "y" in NHWC as well(.|\n)*verified/);
  expect(operatorsOf(file)).toEqual(inside);
  const again = await bench.tcLint(["--diff", "--layout", "nhwc", "--nhwc-io", "model.onnx"]);
  expect(again).toMatchObject({ exitCode: 0 });
});

it("--target ort-cuda writes what only ONNX Runtime with CUDA runs, and cannot be verified here", async () => {
  const file = writeConvolutions();
  const refused = await bench.tcLint([...flags, "--target", "ort-cuda", "model.onnx"]);
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toContain("add --no-verify");
  const stray = await bench.tcLint(["--target", "ort-cuda", "model.onnx"]);
  expect(stray.stderr).toContain("--target: says nothing without --fix or --diff");
  const written = await bench.tcLint([...flags, "--target", "ort-cuda", "--no-verify", "model.onnx"]);
  expect(written).toMatchObject({ exitCode: 0, stderr: "" });
  expect(operatorsOf(file).filter((operator) => operator === "com.microsoft::NhwcConv")).toHaveLength(2);
});

it("the nodes that a fix counts come to what lint counts of the result, functions included", async () => {
  writeConvolutions();
  const countOf = async (file: string) => (await bench.jsonOf([file])).models[0]?.nodes ?? Number.NaN;
  const args = ["--fix", "--no-color", "--layout", "nhwc", "--no-verify", "--fix-output", "turned.onnx"];
  const { stdout } = await bench.tcLint([...args, "model.onnx"]);
  const line = /nodes: (\d+) added, (\d+) removed, \d+ changed, (\d+) in \d+ new functions?/;
  const [added = 0, removed = 0, inside = 0] = (line.exec(stdout) ?? []).slice(1).map(Number);
  const after = await countOf("turned.onnx");
  expect(after - (await countOf("model.onnx"))).toBe(added - removed + inside);
  expect(inside).toBeGreaterThan(0);
  // It had no functions, and has no subgraphs.
  expect(stdout).not.toContain("inside functions and subgraphs");
  expect(stdout).toContain(`${after} nodes`);
});
