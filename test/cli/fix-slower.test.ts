/** Half that is asked for by name is stored whatever it takes: where the file is predicted to be slower, both figures are said in a line. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { weight } from "../passes/padding.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

it("is said on stderr and in reports, and of no repair that gains", async () => {
  // Casts of so large an input and output take what the product saves.
  const wide = model({ name: "wide" }, (graph) => {
    const y = graph.node("MatMul", [graph.input("x", [1_000_000, 16]), weight(graph, [16, 16])]);
    graph.output(y);
  });
  writeFileSync(path.join(bench.folder.path, "wide.onnx"), wide);
  const asked = (...flags: string[]) =>
    bench.tcLint(["wide.onnx", "--diff", "--no-color", "--stack", "cudnn", ...flags]);
  const line = /predicted to be slower, .+ → .+: what is asked for by name is done whatever it takes/;
  const half = await asked("--precision", "fp16");
  expect(half.stderr).toMatch(line);
  expect(half.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(half.stdout).toMatch(line);
  const markdown = await asked("--precision", "fp16", "--format", "markdown");
  expect(markdown.stdout).toMatch(line);
  expect((await asked()).stderr).toBe("");
});
