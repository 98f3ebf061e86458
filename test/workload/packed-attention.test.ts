/** MultiHeadAttention of com.microsoft whose operands come as one: ONNX Runtime brings them apart in a kernel of its own. */
import { expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";

const [batch, length, heads, size] = [4, 512, 12, 64];
const cost = createCostModel();

function priced(operands: readonly (readonly number[])[]) {
  const options = { name: "packed", opset: 17, domains: { "com.microsoft": 1 } };
  const bytes = model(options, (graph: GraphBuilder) => {
    const inputs = operands.map((shape, at) => graph.input(`x${at}`, [...shape]));
    const domain = "com.microsoft";
    graph.output(graph.node("MultiHeadAttention", inputs, { num_heads: heads }, { domain }));
  });
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  using opened = modelFromBytes(bytes);
  const target = { gpu, stack: stacks["ort-cuda"], precision: "fp16" } as const;
  return priceModel(opened, { target, cost }).timeline;
}

const hidden = [batch, length, heads * size];
const apart = priced([hidden, hidden, hidden]);

it.each([
  ["queries, keys and values", [[batch, length, heads, 3, size]], 3],
  ["keys and values", [hidden, [batch, length, heads, 2, size]], 2],
] as const)("%s in one", (_, operands, parts) => {
  const { kernels, microseconds, steps } = priced(operands);
  expect(apart.kernels).toBe(1);
  expect(kernels).toBe(2);
  const [pass, attention] = steps;
  expect(attention?.microseconds).toBeCloseTo(apart.microseconds, 9);
  expect(microseconds).toBeGreaterThan(apart.microseconds);
  // Of FP32 values in the file.
  expect(pass?.work).toMatchObject({ bytesWritten: parts * batch * length * heads * size * 4 });
});
