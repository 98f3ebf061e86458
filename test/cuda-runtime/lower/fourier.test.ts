import { onnx } from "onnx-proto";
import { InferenceSession, type Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { melWeights, windowCoefficients, windowValues } from "../../../cuda-runtime/lower/fourier.ts";

const { INT } = onnx.AttributeProto.AttributeType;
const float = onnx.TensorProto.DataType.FLOAT;
const int64 = onnx.TensorProto.DataType.INT64;

/** What ONNX Runtime gives for one node whose inputs are constants. */
async function run(
  opType: string,
  integers: readonly number[],
  floats: readonly number[] = [],
  attributes: Readonly<Record<string, number>> = {},
): Promise<Tensor> {
  const initializer = [
    ...integers.map((value, at) => ({ name: `i${at}`, dims: [], dataType: int64, int64Data: [value] })),
    ...floats.map((value, at) => ({ name: `f${at}`, dims: [], dataType: float, floatData: [value] })),
  ];
  const attribute = Object.entries(attributes).map(([name, i]) => ({ name, i, type: INT }));
  const node = [{ opType, input: initializer.map(({ name }) => name), output: ["y"], attribute }];
  const output = [{ name: "y", type: { tensorType: { elemType: float } } }];
  const graph = { name: "graph", node, initializer, output };
  const model = { irVersion: 8, opsetImport: [{ domain: "", version: 17 }], graph };
  const session = await InferenceSession.create(onnx.ModelProto.encode(model).finish(), {
    logSeverityLevel: 4,
  });
  const { y } = await session.run({});
  if (y === undefined) throw new Error("no output");
  return y;
}

function expectClose(actual: readonly number[], expected: ArrayLike<unknown>): void {
  expect(actual).toHaveLength(expected.length);
  for (const [at, value] of actual.entries()) expect(value).toBeCloseTo(Number(expected[at]), 5);
}

describe("values made while planning", () => {
  it("windows are those of ONNX Runtime", async () => {
    for (const name of ["HannWindow", "HammingWindow", "BlackmanWindow"] as const) {
      for (const size of [8, 9, 33]) {
        for (const periodic of [0, 1]) {
          const expected = await run(name, [size], [], { periodic });
          expectClose(windowValues(windowCoefficients[name], size, periodic === 1), expected.data);
        }
      }
    }
  });

  it("mel weights are those of ONNX Runtime", async () => {
    for (const [bands, length, rate, low, high] of [
      [8, 16, 8192, 0, 4096],
      [40, 512, 16_000, 20, 7600],
      [3, 33, 1000, 10, 400],
    ] as const) {
      const expected = await run("MelWeightMatrix", [bands, length, rate], [low, high]);
      expectClose(melWeights(bands, length, rate, low, high), expected.data);
    }
  });
});
