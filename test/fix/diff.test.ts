import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { diffModels } from "../../src/fix/diff.ts";
import { runFix } from "../../src/fix/make.ts";
import { outcomeOf } from "../../src/fix/outcome.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { renderFixText } from "../../src/report/fix-text.ts";
import textWidth from "../../src/report/text-width.ts";
import { zooModel } from "../zoo.ts";

const options = { name: "diff", opset: 17 };

function modelOf(build: (graph: GraphBuilder) => void) {
  return modelFromBytes(model(options, build));
}

function splitInto(parts: number, prefix: string) {
  return modelOf((graph) => {
    const outputs = Array.from({ length: parts }, (_, at) => `${prefix}${at}`);
    graph.node("Split", [graph.input("x", [parts])], { axis: 0 }, { outputs, name: "split" });
    graph.output(`${prefix}0`);
  });
}

describe("a diff", () => {
  it("names inputs, outputs and attributes that changed, and no others", () => {
    const build = (alpha: number, input: string) =>
      modelOf((graph) => {
        graph.input("x", [2]);
        graph.input("z", [2]);
        graph.node("LeakyRelu", [input], { alpha: { float: alpha } }, { outputs: ["y"], name: "leaky" });
        graph.output("y");
      });
    const { nodes } = diffModels(build(0.5, "x"), build(0.25, "z"));
    expect(nodes).toEqual([
      { name: "leaky", op: "LeakyRelu", kind: "changed", details: ['input 0 "x" → "z"', "alpha 0.5 → 0.25"] },
    ]);
    expect(diffModels(build(0.5, "x"), build(0.5, "x")).nodes).toEqual([]);
  });

  it("has room for more changes of one node than a call has arguments, and is printed", () => {
    const parts = 150_000;
    const diff = diffModels(splitInto(parts, "a"), splitInto(parts, "b"));
    expect(diff.nodes[0]?.details.length).toBe(parts);
    const many = Array.from({ length: parts }, (_, at) => ({
      name: `w${at}`,
      before: null,
      after: "float32[1]",
    }));
    const text = renderFixText(
      {
        path: "model.onnx",
        destination: "model.onnx",
        changed: true,
        written: false,
        flags: ["--fix"],
        notes: [],
        diff: { ...diff, tensors: many },
        account: [],
        microseconds: { before: 2, after: 1 },
        proof: null,
        measurement: null,
        precision: "as-is",
        stored: { before: 2, after: 1 },
        bytes: 0,
        assumed: {},
        dataFiles: [],
        unreferenced: [],
      },
      { color: 0, diff: true, verbose: true, ranges: undefined },
    );
    expect(text.split("\n").filter((line) => line.startsWith("  + w")).length).toBe(10_000);
    expect(text).toContain("tensors: … and 140,000 more");
  });
});

it("is folded to a terminal as lint's report is, commands whole", async () => {
  const outcome = await repairOutcome("swin_tiny");
  const options = {
    color: 0,
    diff: true,
    verbose: true,
    ranges: "constants alone (its weights are not there)",
  } as const;
  const whole = renderFixText(outcome, options);
  expect(whole.split("\n").some((line) => textWidth(line) > 80)).toBe(true);
  const folded = renderFixText(outcome, { ...options, columns: 80 });
  // A name that is longer than that is left whole.
  for (const line of folded.split("\n"))
    if (textWidth(line) > 80) expect(line.trim().split(/ +/).length).toBeLessThanOrEqual(3);
  const words = (text: string) => text.split(/\s+/).toSorted();
  expect(words(folded)).toEqual(words(whole));
  expect(folded).toContain("--diff --precision fp16");
});

async function repairOutcome(name: string) {
  return withTimelines(() => {
    using model = openModel(zooModel(name));
    const fix = runFix(model, fixSettings(planOf(model.path, { stack: "ort-cuda" }), safeFix));
    const judged = { ...fix, left: [], reverted: [], measurement: null };
    const outcome = outcomeOf({ path: model.path, destination: model.path }, model, judged);
    return { ...outcome, written: false, proof: null, bytes: 0, dataFiles: [], unreferenced: [] };
  });
}

it("names the first of the nodes that are removed, and all with --verbose", async () => {
  const outcome = await repairOutcome("swin_tiny");
  const removed = outcome.diff.nodes.filter(({ kind }) => kind === "removed");
  expect(removed.length).toBeGreaterThan(100);
  const linesOf = (verbose: boolean) =>
    renderFixText(outcome, { color: 0, diff: true, verbose, ranges: undefined }).split("\n");
  const named = ({ name, op }: { readonly name: string; readonly op: string }) => `  − ${name} (${op})`;
  const [some, all] = [linesOf(false), linesOf(true)];
  expect(removed.filter((node) => all.includes(named(node)))).toHaveLength(removed.length);
  expect(removed.filter((node) => some.includes(named(node)))).toHaveLength(20);
  const left = (removed.length - 20).toLocaleString("en-US");
  expect(some).toContain(`  nodes: … and ${left} more (--verbose lists them)`);
});
