/** --batch: another batch than the one that a file fixes, held to single runs of the original. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { openModel } from "../../src/onnx/open.ts";
import { portsOf } from "../passes/batching.ts";
import { weight } from "../passes/padding.ts";
import { fixJson } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const flags = ["--fix", "--fix-only", "--no-color"];

function write(build: (graph: GraphBuilder) => void): string {
  const file = path.join(bench.folder.path, "model.onnx");
  writeFileSync(file, model({ name: "batch", opset: 17 }, build));
  return file;
}

function writeNetwork(): string {
  return write((graph) => {
    const h = graph.node("Conv", [graph.input("x", [1, 3, 8, 8]), weight(graph, [8, 3, 3, 3])]);
    const flat = graph.node(
      "Reshape",
      [h, graph.weight([2], { dtype: "int64", values: [1, 288] })],
      {},
      { name: "flat" },
    );
    graph.node("MatMul", [flat, weight(graph, [288, 8])], {}, { outputs: ["y"] });
    graph.output("y", "float32", [1, 8]);
  });
}

function ports(file: string): string[] {
  using fixed = openModel(file);
  return portsOf(fixed);
}

it("--batch gives a model another batch, and proves it by runs of the original", async () => {
  const file = writeNetwork();
  const four = await bench.tcLint([...flags, "--batch", "4", "--fix-output", "four.onnx", "model.onnx"]);
  expect(four).toMatchObject({ exitCode: 0, stderr: "" });
  expect(four.stdout).toMatch(/batch {2}"x": 1 → 4; 1 node that held it changed/);
  expect(four.stdout).toMatch(/verified: .*\(runs of the original on 1 sample, stacked\)/);
  expect(ports(path.join(path.dirname(file), "four.onnx"))).toEqual(["x [4,3,8,8]", "y [4,8]"]);
  const open = await bench.tcLint([...flags, "--batch", "dynamic", "model.onnx"]);
  expect(open).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ports(file)).toEqual(["x [batch,3,8,8]", "y [batch,8]"]);
  const priced = await bench.tcLint(["model.onnx", "--dim", "batch=8"]);
  expect(priced.exitCode).toBe(0);
  const opened = await bench.tcLint([...flags, "--batch", "dynamic", "model.onnx"]);
  expect(opened).toMatchObject({ exitCode: 0, stderr: "" });
  expect(opened.stdout).toContain("nothing to fix");
  const again = await bench.tcLint([...flags, "--batch", "8", "model.onnx"]);
  expect(again.exitCode).toBe(2);
  expect(again.stderr).toMatch(/the batch of input "x" is open already \("batch"\): --dim batch=N/);
});

it("--diff --batch says what would change; JSON has it", async () => {
  writeNetwork();
  const { stdout, exitCode } = await bench.tcLint(["--diff", "--batch", "2", "--no-color", "model.onnx"]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain('"x": 1 → 2');
  const { report } = await fixJson(bench, "--diff", "--batch", "2", "model.onnx");
  const notes = report.fixes.flatMap((fix) => ("notes" in fix ? fix.notes : []));
  expect(notes.filter(({ pass }) => pass === "batch")).toMatchObject([
    { kind: "changed", message: '"x": 1 → 2; 1 node that held it changed' },
  ]);
});

/** Every kind of fix reads the file before it has that batch. */
it.each([
  ["safe fixes, compared", []],
  ["half precision by the values of runs", ["--precision", "fp16"]],
  ["channels last", ["--layout", "nhwc", "--no-verify"]],
  ["all unsafe fixes", ["--unsafe-fixes", "--no-verify"]],
])("a size of the batch that the model is given prices it, with %s", async (_, more) => {
  writeNetwork();
  const fix = (...args: string[]) =>
    fixJson(bench, "--fix", "--fix-only", "--fix-output", "open.onnx", ...more, ...args, "model.onnx");
  const entryOf = async (...args: string[]) => {
    const { exitCode, stderr, report } = await fix(...args);
    expect(exitCode).toBe(0);
    // So small a network is slower in half, which was asked for by name.
    expect(stderr).toMatch(/^(tc-lint: model\.onnx: predicted to be slower, [^\n]*\n)?$/);
    return report.fixes[0];
  };
  const eight = await entryOf("--batch", "8");
  const bound = await entryOf("--batch", "dynamic", "--dim", "batch=8");
  expect(bound).toMatchObject({ assumed: {}, ranges: eight?.ranges, microseconds: eight?.microseconds });
});

it("a shape with the new batch prices it too, and a batch that nobody gave is priced at what it was", async () => {
  writeNetwork();
  const diff = async (...args: string[]) => {
    const { report } = await fixJson(bench, "--diff", ...args, "model.onnx");
    return report.fixes[0];
  };
  const [eight, one] = [await diff("--batch", "8"), await diff("--batch", "1")];
  const shaped = await diff("--batch", "dynamic", "--shape", "x=8,3,8,8");
  expect(shaped).toMatchObject({ assumed: {}, microseconds: eight?.microseconds });
  const open = await diff("--batch", "dynamic");
  expect(open).toMatchObject({ assumed: {}, microseconds: one?.microseconds });
  await bench.tcLint([...flags, "--no-verify", "--batch", "8", "model.onnx"]);
  const again = await diff("--batch", "dynamic");
  expect(again).toMatchObject({ assumed: {}, microseconds: eight?.microseconds });
});

it("a batch that nobody bound is said to be what it was, and a symbol that no state of the model has is refused", async () => {
  writeNetwork();
  const open = ["--diff", "--no-color", "--batch", "dynamic"];
  expect((await bench.tcLint([...open, "model.onnx"])).stdout).toContain(
    "priced at batch=1, as it was (--dim batch=N: at another size)",
  );
  const { exitCode, stderr } = await bench.tcLint([...open, "--dim", "samples=8", "model.onnx"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('the model has no dimension named "samples"; it has batch');
});

it("half precision and NHWC go with it", async () => {
  const file = writeNetwork();
  const half = await bench.tcLint([
    ...flags,
    "--batch",
    "dynamic",
    "--precision",
    "fp16",
    "--layout",
    "nhwc",
    "model.onnx",
  ]);
  expect(half.exitCode).toBe(0);
  expect(half.stderr).toMatch(/^tc-lint: model\.onnx: predicted to be slower, [^\n]*\n$/);
  expect(half.stdout).toMatch(/verified/);
  expect(ports(file)).toEqual(["x [batch,3,8,8]", "y [batch,8]"]);
});

it("what mixes samples is refused by name, and nothing is written", async () => {
  write((graph) => {
    graph.node("Softmax", [graph.input("x", [1, 4])], { axis: 0 }, { outputs: ["y"], name: "mixes" });
    graph.output("y", "float32", [1, 4]);
  });
  const { exitCode, stderr } = await bench.tcLint([...flags, "--batch", "4", "model.onnx"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    'its batch of 1 cannot be changed: node "mixes" (Softmax) normalizes over samples',
  );
});

it("what only numbers show is seen by the comparison", async () => {
  const file = write((graph) => {
    const x = graph.input("x", [1, 4]);
    const count = graph.node("Gather", [graph.node("Shape", [x]), graph.scalar(0, "int64")]);
    graph.node("Div", [x, graph.node("Cast", [count], { to: 1 })], {}, { outputs: ["y"] });
    graph.output("y", "float32", [1, 4]);
  });
  const { exitCode, stderr, stdout } = await bench.tcLint([...flags, "--batch", "dynamic", "model.onnx"]);
  expect(exitCode).toBe(2);
  expect(`${stderr}${stdout}`).toMatch(/not the same function .*output "y" differs/);
  expect(ports(file)).toEqual(["x [1,4]", "y [1,4]"]);
});

it.each([
  [["--batch", "2"], "--batch: says nothing without --fix or --diff"],
  [["--fix", "--batch", "none"], '--batch: found "none", expected dynamic, or a whole number, 1 to'],
  [["--fix", "--batch", "0"], '--batch: found "0", expected dynamic, or a whole number, 1 to'],
  [["--fix", "--batch", "2", "--half-io", "--precision", "fp16"], "--batch: not together with --half-io"],
])("%j is wrong usage", async (args, text) => {
  writeNetwork();
  const { exitCode, stderr } = await bench.tcLint([...args, "model.onnx"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(text);
});

it("--batch leaves nothing that nobody reads", async () => {
  const file = write((graph) => {
    const h = graph.node("Conv", [graph.input("x", [1, 3, 8, 8]), weight(graph, [8, 3, 3, 3])]);
    const one = graph.node("Constant", [], { value_ints: [1] });
    const sizes = graph.node("Concat", [one, graph.weight([1], { dtype: "int64", values: [288] })], {
      axis: 0,
    });
    graph.node("Reshape", [h, sizes], {}, { outputs: ["y"] });
    graph.output("y", "float32", [1, 288]);
  });
  for (const batch of ["4", "dynamic"]) {
    await bench.tcLint([...flags, "--batch", batch, "--fix-output", "out.onnx", "model.onnx"]);
    using fixed = openModel(path.join(path.dirname(file), "out.onnx"));
    const unread = [...fixed.graph.values.values()].filter(
      ({ consumers, isOutput }) => consumers.length === 0 && !isOutput,
    );
    expect(unread.map(({ name }) => name)).toEqual([]);
    expect(fixed.graph.nodes.map(({ opType }) => opType)).not.toContain("Constant");
  }
});
