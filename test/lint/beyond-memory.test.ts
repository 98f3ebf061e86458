/** A prediction at sizes that the GPU has no memory for says so. */
import { expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";

function linted(batch: number, rows = 64, gpu = "h200") {
  const bytes = model({ name: "deep", opset: 17 }, (graph) => {
    const x = graph.input("x", ["batch", rows]);
    graph.output(graph.node("Relu", [graph.node("MatMul", [x, graph.weight([rows, 64], { name: "w" })])]));
  });
  using opened = modelFromBytes(bytes);
  const { notices } = lint(opened, { gpu, dims: new Map([["batch", batch]]) });
  return notices.find(({ code }) => code === "beyond-memory")?.message;
}

it("names the kernel that holds more than the GPU has, beside what that has", () => {
  expect(linted(32)).toBeUndefined();
  expect(linted(99_999_999_999)).toMatch(/holds 25\.6 TB .* H200 has 141 GiB: .* does not run/);
  // 20 GB: one GPU has them, another has not.
  expect(linted(80_000_000)).toBeUndefined();
  expect(linted(80_000_000, 64, "t4")).toMatch(/T4/);
});

it("counts weights, whatever the batch is", () => {
  expect(linted(1, 2_000_000_000)).toMatch(/weights/);
});
