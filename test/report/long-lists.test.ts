/** What a model may have any number of does not fill a terminal: texts name the head of a list, and count the rest. */
import { describe, expect, it } from "vitest";
import type { FixOutcome } from "../../src/fix/outcome.ts";
import type { PlanReport } from "../../src/gpu/plan-report.ts";
import { renderPlanText } from "../../src/report/bench-text.ts";
import { renderFixText } from "../../src/report/fix-text.ts";

const shown = 10_000;
const step = {
  kernel: "chain_0",
  detail: "",
  operator: "Concat",
  label: "concat",
  beside: [],
  shapes: "float32[4] -> float32[4]",
  bytes: 32,
  flops: 0,
  tensor: null,
  chosenBy: null,
  compute: "fp32",
  predictedMicroseconds: 1,
  lane: null,
  waits: [],
  runShare: null,
} as const;

function plan(count: number): PlanReport {
  const names = Array.from({ length: count }, (_, at) => `x${at} float32[4]`);
  return {
    model: "m.onnx",
    gpu: "h200",
    precision: "fp16",
    sizes: Object.fromEntries(names.map((_, at) => [`s${at}`, 1])),
    inputs: names,
    outputs: names,
    prepare: [],
    steps: new Array<typeof step>(count).fill(step),
    weightBytes: 0,
    graphs: 1,
    open: [],
    arenaBytes: 0,
    predictedMicroseconds: count,
    tensorCoreShare: 0,
  };
}

function outcome(count: number): FixOutcome {
  return {
    path: "m.onnx",
    destination: "m.fixed.onnx",
    changed: true,
    written: false,
    flags: ["--fix"],
    notes: [],
    diff: {
      nodes: Array.from({ length: count }, (_, at) => ({
        name: `n${at}`,
        op: "Relu",
        kind: "added",
        details: [],
      })),
      tensors: Array.from({ length: count }, (_, at) => ({
        name: `w${at}`,
        before: null,
        after: "float32[4]",
      })),
      addedInside: 0,
      addedElements: 0,
    },
    account: [],
    microseconds: { before: 1, after: 1 },
    assumed: {},
    proof: null,
    measurement: null,
    precision: "as-is",
    stored: { before: 2, after: 1 },
    bytes: 0,
    dataFiles: [],
    unreferenced: [],
  };
}

const fixText = (count: number) =>
  renderFixText(outcome(count), { color: 0, diff: true, verbose: true, ranges: undefined });

describe("Long lists in texts", () => {
  it("of a plan are cut at ten thousand inputs, steps and outputs each", () => {
    const text = renderPlanText(plan(25_000), { color: 0, verbose: true });
    const lines = text.split("\n");
    // A step is two lines and what it reads and writes.
    expect(lines.length).toBeLessThan(5 * shown + 40);
    expect(lines.filter((line) => line.endsWith("… and 15,000 more (--format json lists them all)"))).toEqual(
      [
        "input   … and 15,000 more (--format json lists them all)",
        "output  … and 15,000 more (--format json lists them all)",
        "… and 15,000 more (--format json lists them all)",
      ],
    );
    expect(text.replaceAll("\n ", "")).toContain("s99=1 … and 24,900 more");
  });

  it("of a plan are whole up to there", () => {
    const text = renderPlanText(plan(shown), { color: 0, verbose: true });
    expect(text.match(/ more /g)?.length).toBe(1);
    expect(text.split("\n").filter((line) => line.includes("chain_0")).length).toBe(shown);
  });

  it("of a difference are cut at ten thousand nodes and tensors each", () => {
    const text = fixText(25_000);
    expect(text.split("\n").length).toBeLessThan(2 * shown + 20);
    expect(text).toContain("\n  nodes: … and 15,000 more (--format json lists them all)\n");
    expect(text).toContain("\n  tensors: … and 15,000 more (--format json lists them all)\n");
    expect(fixText(shown)).not.toContain(" more ");
  });
});
