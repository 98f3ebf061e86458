/** Sizes that are bound for a fix price it, and nothing else: what is written computes the same at every other size. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { fixModel } from "../../src/fix/fix.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { type Feeds, floats, run } from "../passes/folding.ts";
import { expectClose, ints, weight } from "../passes/padding.ts";
import { requestFor, settingsFor } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-bindings-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Case {
  readonly bytes: Uint8Array;
  readonly dims: Readonly<Record<string, number>>;
  readonly feeds: (sizes: Readonly<Record<string, number>>) => Feeds;
  readonly others: readonly Readonly<Record<string, number>>[];
  /** Whether there is anything else to pad. */
  readonly changes: boolean;
}

/** Bytes of the model fixed with `dims` bound. */
async function fixedWith({ bytes, dims, changes }: Case, passes: readonly Pass[]): Promise<Uint8Array> {
  const file = path.join(folder, "model.onnx");
  writeFileSync(file, bytes);
  const settings = { ...settingsFor(passes), dims: new Map(Object.entries(dims)) };
  const outcome = await fixModel(requestFor(file, { settings }));
  expect(outcome.changed).toBe(changes);
  return readFileSync(file);
}

/** One element of Shape(x), as exporters read it. */
function sizeOf(graph: GraphBuilder, x: string, axis: number): string {
  const shape = graph.node("Shape", [x]);
  return graph.node("Gather", [shape, ints(graph, [axis])], { axis: 0 });
}

/** x [batch, seq, 60] → q, k of 4 heads × 30 → scores → softmax → values → 60, with targets that read batch and seq. */
function attention(): Case {
  const bytes = model({ name: "attention", opset: 17 }, (graph) => {
    const x = graph.input("x", ["batch", "seq", 60]);
    const [batch, seq] = [sizeOf(graph, x, 0), sizeOf(graph, x, 1)];
    const heads = graph.node("Concat", [batch, seq, ints(graph, [4]), ints(graph, [30])], { axis: 0 });
    const split = (seed: number, perm: readonly number[]) => {
      const product = graph.node("MatMul", [x, weight(graph, [60, 120], seed)]);
      const reshaped = graph.node("Reshape", [product, heads]);
      return graph.node("Transpose", [reshaped], { perm });
    };
    const scores = graph.node("MatMul", [split(1, [0, 2, 1, 3]), split(2, [0, 2, 3, 1])]);
    const mixed = graph.node("MatMul", [
      graph.node("Softmax", [scores], { axis: -1 }),
      split(3, [0, 2, 1, 3]),
    ]);
    const merged = graph.node("Concat", [batch, seq, ints(graph, [120])], { axis: 0 });
    const joined = graph.node("Reshape", [graph.node("Transpose", [mixed], { perm: [0, 2, 1, 3] }), merged]);
    const hidden = graph.node("Relu", [graph.node("MatMul", [joined, weight(graph, [120, 250], 4)])]);
    graph.node("MatMul", [hidden, weight(graph, [250, 60], 5)], {}, { outputs: ["y"] });
    graph.output("y");
  });
  const others = [
    { batch: 1, seq: 5 },
    { batch: 3, seq: 64 },
    { batch: 2, seq: 1 },
  ];
  return {
    bytes,
    dims: { batch: 8, seq: 64 },
    feeds: ({ batch = 1, seq = 1 }) => ({ x: floats([batch, seq, 60]) }),
    others,
    changes: true,
  };
}

/**
 * A symbolic last axis through products of weights on the left: bound to 127, it must not become 128. The odd rows of the result are padded
 * along with it where 127 is given, and cost a Slice without it.
 */
function lastSymbol(): Case {
  const bytes = model({ name: "last", opset: 17 }, (graph) => {
    let h = graph.input("x", [8, 64, "S"]);
    for (const [rows, columns] of [
      [512, 64],
      [512, 512],
      [512, 512],
      [256, 512],
    ] as const)
      h = graph.node("Relu", [graph.node("MatMul", [weight(graph, [rows, columns], rows), h])]);
    graph.node("MatMul", [weight(graph, [61, 256], 2), h], {}, { outputs: ["y"] });
    graph.output("y");
  });
  return {
    bytes,
    dims: { S: 127 },
    feeds: ({ S = 1 }) => ({ x: floats([8, 64, S]) }),
    others: [{ S: 40 }, { S: 1 }, { S: 128 }],
    changes: false,
  };
}

/** Convolutions around a Resize whose sizes are computed from those of its input. */
function resized(): Case {
  const bytes = model({ name: "resized", opset: 17 }, (graph) => {
    const x = graph.input("x", ["batch", 32, 28, 28]);
    const conv = (from: string, to: number, channels: number) =>
      graph.node("Conv", [from, weight(graph, [to, channels, 3, 3])], { pads: [1, 1, 1, 1] });
    const a = graph.node("Relu", [conv(x, 67, 32)]);
    const two = graph.node("Slice", [
      graph.node("Shape", [a]),
      ints(graph, [0]),
      ints(graph, [2]),
      ints(graph, [0]),
    ]);
    const sizes = graph.node("Concat", [two, ints(graph, [56, 56])], { axis: 0 });
    const larger = graph.node("Resize", [a, "", "", sizes], { mode: "nearest" });
    graph.node(
      "Conv",
      [larger, weight(graph, [32, 67, 3, 3], 3)],
      { pads: [1, 1, 1, 1] },
      { outputs: ["y"] },
    );
    graph.output("y");
  });
  return {
    bytes,
    dims: { batch: 4 },
    feeds: ({ batch = 1 }) => ({ x: floats([batch, 32, 28, 28]) }),
    others: [{ batch: 1 }, { batch: 3 }],
    changes: true,
  };
}

const cases = { attention, lastSymbol, resized };
const passes = { safe: [fold, align], nhwc: [fold, align, channelsLast] };

describe.each(Object.entries(cases))("%s, bound for the fix", (_, build) => {
  it.each(Object.entries(passes))("computes the same at other sizes: %s", async (_name, list) => {
    const each = build();
    const fixed = await fixedWith(each, list);
    for (const sizes of [each.dims, ...each.others]) {
      const feeds = each.feeds(sizes);
      expectClose(await run(each.bytes, feeds), await run(fixed, feeds), 1e-5);
    }
  });
});
