/** What a stack has kernels of for some operators alone is not told as if it ran. */
import { expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { type StackId, stackIds } from "../../src/hardware/stacks.ts";
import type { Precision } from "../../src/hardware/target.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint as lintOpen } from "../rules/lint.ts";
import { zooModel } from "../zoo.ts";

const codesOf = async (stack: StackId, precision: Precision) =>
  (await lint(zooModel("misaligned_mlp"), { stack, precision })).notices.map(({ code }) => code);

/** x → MaxPool → Relu → y, in a type. */
const pooled = (type: "bfloat16" | "float16") =>
  model({ name: "pooled", opset: 22, irVersion: 10 }, (graph) => {
    const window = { kernel_shape: [2, 2], strides: [2, 2] };
    const x = graph.input("x", [1, 64, 32, 32], type);
    graph.output(graph.node("Relu", [graph.node("MaxPool", [x], window, { name: "pool" })]), type);
  });

test.each(stackIds)("what is stored without a kernel is named, whatever is asked for: %s", (stack) => {
  const told = (type: "bfloat16" | "float16") =>
    (["fp16", "bf16", "as-is"] as const).flatMap((precision) =>
      lintOpen(modelFromBytes(pooled(type)), { stack, precision }).notices.filter(
        ({ message }) => message.includes("BF16 kernel of MaxPool") && message.includes('"pool"'),
      ),
    ).length;
  expect(told("bfloat16")).toBe(stack.startsWith("ort-cuda") ? 3 : 0);
  expect(told("float16")).toBe(0);
});

test.each(stackIds)("BF16 on %s", async (stack) => {
  expect((await codesOf(stack, "bf16")).includes("type-in-part")).toBe(stack.startsWith("ort-cuda"));
  expect(await codesOf(stack, "fp16")).not.toContain("type-in-part");
});
