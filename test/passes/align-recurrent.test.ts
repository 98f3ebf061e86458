/** Padding of hidden units of recurrences, against ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { floats } from "./folding.ts";
import { expectSamePadded, fateOf, ints, rowsFeed, weight } from "./padding.ts";

const options = { name: "recurrent", opset: 17 };

describe("recurrences", () => {
  it.each([
    ["LSTM", 4, "forward"],
    ["LSTM", 4, "bidirectional"],
    ["GRU", 3, "reverse"],
    ["RNN", 1, "bidirectional"],
  ] as const)("%s", async (type, gates, direction) => {
    const directions = direction === "bidirectional" ? 2 : 1;
    const hidden = 5;
    const rows = gates * hidden;
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [4, 7]);
      const h = graph.node("Gemm", [graph.node("Tanh", [x]), weight(graph, [7, 6])], {}, { outputs: ["h"] });
      const w = [
        [directions, rows, 6],
        [directions, rows, hidden],
        [directions, 2 * rows],
      ];
      const operands = w.map((dims) => weight(graph, dims));
      const sequence = graph.node("Unsqueeze", [h, ints(graph, [1])]);
      const attributes = { hidden_size: hidden, direction };
      const [all = ""] = graph.nodes(type, [sequence, ...operands], attributes, { outputs: ["states"] });
      const last = graph.node("Reshape", [
        graph.node("Transpose", [all], { perm: [0, 2, 1, 3] }),
        ints(graph, [4, -1]),
      ]);
      graph.node("MatMul", [last, weight(graph, [directions * hidden, 3])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = await expectSamePadded(bytes, rowsFeed);
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
    expect(fateOf(padding, "states", 3)).toBeGreaterThan(hidden);
  });

  it("LSTM that starts from a stored and from a given state", async () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [4, 1, 7]);
      const cell = graph.input("cell", [1, 1, 5]);
      const operands = [weight(graph, [1, 20, 7]), weight(graph, [1, 20, 5]), weight(graph, [1, 40])];
      const within = graph.node("Clip", [x, graph.scalar(-1), graph.scalar(1)]);
      const inputs = [within, ...operands, "", weight(graph, [1, 1, 5]), cell, weight(graph, [1, 15])];
      const outputs = ["states", "last", "kept"];
      graph.nodes("LSTM", inputs, { hidden_size: 5 }, { outputs });
      for (const name of outputs) graph.output(name);
    });
    const padding = await expectSamePadded(bytes, { x: floats([4, 1, 7]), cell: floats([1, 1, 5]) });
    expect(fateOf(padding, "states", 3)).toBeGreaterThan(5);
    expect(fateOf(padding, "x", 2)).toBeGreaterThan(7);
  });
});
