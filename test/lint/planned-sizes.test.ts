/** What a report of the bundled runtime says of sizes and of who predicted, where data decides or the runtime has no plan. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "../report/sample.ts";

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-planned-sizes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const write = (name: string, bytes: Uint8Array) => {
  const file = path.join(folder, `${name}.onnx`);
  writeFileSync(file, bytes);
  return file;
};
const textOf = (report: Awaited<ReturnType<typeof lint>>) => renderText(reportOf([report], "1"), options);

/** Boxes and their scores, which a product makes, and what suppression selects of them. */
const detector = write(
  "detector",
  model({ name: "m", opset: 17 }, (graph) => {
    const boxes = graph.input("boxes", [1, 200, 4]);
    const features = graph.input("features", ["batch", 200, 64]);
    const scores = graph.node("Transpose", [linear(graph, features, 64, 80)], { perm: [0, 2, 1] });
    const most = graph.scalar(10, "int64");
    graph.node("NonMaxSuppression", [boxes, scores, most], {}, { outputs: ["kept"] });
    graph.output("kept", "int64", ["selected", 3]);
  }),
);

describe("sizes that data decides", () => {
  test("are told where they are priced", async () => {
    const report = await lint(detector, { stack: "ort-cuda" });
    expect(report.symbols).toHaveProperty("selected");
    expect(report.assumed).toContain("selected");
  });

  test("have none on the bundled runtime, which plans them at their largest", async () => {
    const report = await lint(detector, { stack: "tc-runtime" });
    expect(report.predicted.basis).toBe("planned");
    expect(report.symbols).toEqual({ batch: 1 });
    expect(report.assumed).toEqual(["batch"]);
    expect(report.notices.map(({ code }) => code)).toContain("planned-at-largest");
    const text = textOf(report);
    expect(text).not.toMatch(/selected=|--dim selected/);
    expect(text).toMatch(/selected is of no input, so that data decides: planned at the largest/);
    const bound = await lint(detector, { stack: "tc-runtime", dims: { selected: 3 } });
    expect(bound.predicted.microseconds).toBe(report.predicted.microseconds);
    expect((await fix(detector, { stack: "tc-runtime", dryRun: true })).assumed).toEqual({ batch: 1 });
  });
});

test("what the runtime has no plan for is predicted by the cost model, and says so", async () => {
  const random = write(
    "random",
    model({ name: "m", opset: 17 }, (graph) => {
      const x = linear(graph, graph.input("x", [64, 64]), 64, 64);
      const noise = graph.node("RandomNormalLike", [x]);
      graph.node("Add", [x, noise], {}, { outputs: ["y"] });
      graph.output("y", "float32", [64, 64]);
    }),
  );
  const report = await lint(random, { stack: "tc-runtime" });
  expect(report.predicted.basis).not.toBe("planned");
  expect(textOf(report)).not.toContain("by its own planner");
});
