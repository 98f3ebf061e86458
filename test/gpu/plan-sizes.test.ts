/** @file Plans without a GPU: from shapes alone, and refused by their own size. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { h200 } from "../../cuda-runtime/ir/step.ts";
import { memoryUseOf, peakBytesOf } from "../../cuda-runtime/session/memory.ts";
import { model as build, type GraphBuilder } from "../../fixtures/builder.ts";
import { type PlannedSizes, planSizes } from "../../src/gpu/plan.ts";
import { largestThatFits } from "../../src/gpu/plan-limits.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";

const request = { precision: "fp32", target: h200 } as const;

function planned(
  graph: (builder: GraphBuilder) => void,
  given: Record<string, readonly number[]> = {},
  memoryBytes?: number,
): PlannedSizes {
  using model = modelFromBytes(build({ name: "m" }, graph));
  return planSizes(model, given, request, { memoryBytes });
}

describe("A plan without a GPU", () => {
  it("draws no inputs: declared sizes are no reason for memory", () => {
    const { plan } = planned((graph) => {
      const inputs = Array.from({ length: 8 }, (_, index) => graph.input(`x${index}`, [2 ** 31 - 1], "bool"));
      inputs.forEach((input, index) => {
        graph.node("Not", [input], {}, { outputs: [`y${index}`] });
        graph.output(`y${index}`, "bool");
      });
    });
    expect(plan.inputs.map(({ view }) => view.shape)).toEqual(Array.from({ length: 8 }, () => [2 ** 31 - 1]));
  });

  it("draws small whole numbers where values decide shapes, whatever else is beside them", () => {
    const { plan, known } = planned((graph) => {
      graph.input("large", [2 ** 30]);
      graph.input("ids", [2 ** 28], "int64");
      graph.input("shape", [2], "int64");
      graph.node("ConstantOfShape", ["shape"], {}, { outputs: ["filled"] });
      graph.node("Relu", ["large"], {}, { outputs: ["y"] });
      graph.node("Neg", ["ids"], {}, { outputs: ["z"] });
      graph.output("filled");
      graph.output("y");
      graph.output("z", "int64");
    });
    expect(known).toEqual(["shape"]);
    expect(plan.outputs[0]?.view.shape).toHaveLength(2);
  });

  it("says which input would have to be smaller where its values decide shapes", () => {
    const tooLarge = () =>
      planned((graph) => {
        graph.input("data", [5000]);
        graph.input("keep", [5000], "bool");
        graph.node("Compress", ["data", "keep"], { axis: 0 }, { outputs: ["y"] });
        graph.output("y");
      });
    expect(tooLarge).toThrow(
      /"keep".* of \[5000\] is not drawn for a plan: only whole-number inputs of up to 4,096/,
    );
  });

  it("has stages where what the GPU computes decides", () => {
    const { staged } = planned((graph) => {
      graph.input("x", [5]);
      graph.node("NonZero", ["x"], {}, { outputs: ["y"] });
      graph.output("y", "int64");
    });
    expect(staged?.parts.map(({ kind }) => kind)).toEqual(["host"]);
  });
});

const images = (graph: GraphBuilder) => {
  graph.input("x", ["batch", 3, 224, 224]);
  graph.node("Relu", ["x"], {}, { outputs: ["y"] });
  graph.output("y");
};

describe("A plan that is too large", () => {
  const sampleBytes = 4 * 3 * 224 * 224;

  it("is refused with the largest batch that one array holds", () => {
    const largest = Math.floor(2 ** 32 / sampleBytes);
    for (const batch of [200_000, 20_000, largest + 1]) {
      const text = `batch=${largest} fits, batch=${largest + 1} does not`;
      expect(() => planned(images, { batch: [batch] })).toThrow(
        expect.objectContaining({ code: "plan-too-large", message: expect.stringContaining(text) }),
      );
    }
    expect(planned(images, { batch: [largest] }).plan.inputs[0]?.view.shape[0]).toBe(largest);
  });

  it("is refused with the largest batch that the GPU's memory holds, which is true", () => {
    const layers = (graph: GraphBuilder) => {
      graph.input("x", ["batch", 64]);
      const weight = graph.weight([64, 512], { values: Array.from({ length: 64 * 512 }, () => 0.5) });
      const wide = graph.node("MatMul", ["x", weight]);
      graph.node("Softmax", [graph.node("Relu", [wide])], {}, { outputs: ["y"] });
      graph.output("y");
    };
    const memory = 2 ** 26;
    let message = "";
    try {
      planned(layers, { batch: [1_000_000] }, memory);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/the plan takes .* GiB \(weights .*\); the GPU has 64 MiB free; batch=\d+ fits/);
    const batch = Number(/batch=(\d+) fits/.exec(message)?.[1]);
    const bytesAt = (size: number) => peakBytesOf(memoryUseOf(planned(layers, { batch: [size] }).plan));
    expect(bytesAt(batch)).toBeLessThanOrEqual(memory);
    expect(bytesAt(batch + 1)).toBeGreaterThan(memory);
  });

  it("says that nothing fits where one sample does not", () => {
    expect(() => planned(images, { batch: [2] }, 1000)).toThrow(
      /the GPU has 1000 B free; nor does batch=1 fit/,
    );
  });

  it("finds the largest size of any plan that grows, in few trials", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 ** 7 }),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        fc.integer({ min: 1, max: 10 ** 7 }),
        fc.constantFrom(1, 2, 3),
        fc.boolean(),
        (largest, constant, above, power, isCut) => {
          const limit = (largest + 0.5) ** power;
          let trials = 0;
          const shareOf = (size: number) => {
            trials += 1;
            const share = constant + ((1 - constant) * size ** power) / limit;
            return isCut && share > 1 ? Number.POSITIVE_INFINITY : share;
          };
          expect(largestThatFits(largest + above, shareOf)).toEqual({ size: largest, isLargest: true });
          expect(trials).toBeLessThanOrEqual(power === 1 && !isCut ? 7 : 35);
        },
      ),
    );
  });
});
