/** What a recurrent layer moves: each operand once, biases as well as weights, in every direction; with sizes that nobody bound, too. */
import { describe, expect, it } from "vitest";
import { model as modelOf } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { targetOf } from "./targets.ts";

const [inputSize, hidden] = [24, 40];

const gatesOf = { LSTM: 4, GRU: 3, RNN: 1 } as const;

interface Layer {
  readonly type: keyof typeof gatesOf;
  readonly direction: string;
  readonly steps: number | string;
}

function layer({ type, direction, steps }: Layer, biased: boolean): Uint8Array {
  const directions = direction === "bidirectional" ? 2 : 1;
  const rows = gatesOf[type] * hidden;
  return modelOf({ name: "recurrent", opset: 17 }, (graph) => {
    const operands = [
      graph.input("x", [steps, 2, inputSize]),
      graph.weight([directions, rows, inputSize]),
      graph.weight([directions, rows, hidden]),
      ...(biased ? [graph.weight([directions, 2 * rows])] : []),
    ];
    graph.output(graph.node(type, operands, { hidden_size: hidden, direction }));
  });
}

describe.each([5, "steps"])("of %s steps", (steps) => {
  it.each([
    ["LSTM", "forward"],
    ["LSTM", "bidirectional"],
    ["GRU", "reverse"],
    ["RNN", "bidirectional"],
  ] as const)("%s (%s) reads its biases", (type, direction) => {
    const [plain, biased] = [false, true].map((isBiased) => {
      const bytes = layer({ type, direction, steps }, isBiased);
      using opened = modelFromBytes(bytes);
      const { timeline } = priceModel(opened, { target: targetOf(), cost: createCostModel() });
      expect(timeline.steps.map(({ family }) => family)).toEqual(["recurrent"]);
      return timeline.steps[0]?.estimate;
    });
    const width = 4;
    const directions = direction === "bidirectional" ? 2 : 1;
    const more = (biased?.bytes ?? 0) - (plain?.bytes ?? 0);
    expect(more).toBe(directions * 2 * gatesOf[type] * hidden * width);
    expect(biased?.microseconds).toBeGreaterThanOrEqual(plain?.microseconds ?? Number.NaN);
  });
});
