/** Messages of ONNX Runtime 1.30, as models got them. */
import { expect, it } from "vitest";
import { runtimeReason } from "../../src/verify/runtime-reason.ts";

it.each([
  [
    "Load model from /a b/m.onnx failed:Node (matmul_3) Op (MatMul) [ShapeInferenceError] Incompatible dimensions for matrix multiplication",
    "Node (matmul_3) Op (MatMul) [ShapeInferenceError] Incompatible dimensions for matrix multiplication",
  ],
  [
    "Non-zero status code returned while running Reshape node. Name:'reshape_3' Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:91 onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, onnxruntime::TensorShapeVector&, bool) input_shape_size == requested_shape_size was false. The input tensor cannot be reshaped to the requested shape. Input shape:{1,8}, requested shape:{3,5}",
    'Reshape "reshape_3": The input tensor cannot be reshaped to the requested shape. Input shape:{1,8}, requested shape:{3,5}',
  ],
  [
    "Non-zero status code returned while running Concat node. Name:'concat_2' Status Message: concatbase.h:133 PrepareForComputeImpl Non concat axis dimensions must match: Axis 0 has mismatched dimensions of 4 and 3",
    'Concat "concat_2": Non concat axis dimensions must match: Axis 0 has mismatched dimensions of 4 and 3',
  ],
  ["At least one output should be requested.", "At least one output should be requested"],
  ["Could not find an implementation for Conv(22) node with name 'conv_2'", undefined],
  [
    "Got invalid dimensions for input: x for the following indices\n index: 1 Got: 3 Expected: 8\n index: 2 Got: 4 Expected: 16\n Please fix either the inputs/outputs or the model.",
    "Got invalid dimensions for input: x: axis 1 is 3, expected 8; axis 2 is 4, expected 16",
  ],
  ["Got invalid dimensions for input: x for the following indices", undefined],
])("%s", (message, reason) => {
  expect(runtimeReason(new Error(message))).toBe(reason ?? message.split("\n")[0]);
});

it("is a line that fits, whatever comes", () => {
  const name = "/layers/".repeat(500);
  for (const text of [
    `Non-zero status code returned while running MatMul node. Name:'${name}' Status Message: matmul_helper.h:142 Compute MatMul dimension mismatch`,
    `Load model from m.onnx failed:${name}`,
    "(".repeat(100_000),
    `x.cc:1 a::${"b::".repeat(50_000)}`,
  ]) {
    const reason = runtimeReason(text);
    expect(reason.length).toBeLessThanOrEqual(240);
    expect(reason).not.toContain("\n");
  }
  expect(
    runtimeReason(
      `Non-zero status code returned while running MatMul node. Name:'${name}' Status Message: matmul_helper.h:142 Compute MatMul dimension mismatch`,
    ),
  ).toMatch(/^MatMul "\/layers\/.*": MatMul dimension mismatch$/);
});
