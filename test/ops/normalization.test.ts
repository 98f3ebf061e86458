import { describe, expect, test } from "vitest";
import { symbol } from "../../src/ir/dim.ts";
import { ShapeError } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, workOf } from "./context.ts";

const N = symbol("N");
const channels = (size: number) => tensor("float32", [size]);

function rowsOf(options: ContextOptions) {
  const [work] = workOf(options) ?? [];
  return work?.kind === "traffic" ? [work.pattern, String(work.rows), String(work.columns)] : undefined;
}

describe("BatchNormalization", () => {
  const x = tensor("float16", [N, 8, 4, 4]);
  const inputs = [x, channels(8), channels(8), channels(8), channels(8)];
  const all = (options: Partial<ContextOptions>) =>
    infer({ type: "BatchNormalization", inputs, ...options }).map(show);

  test("has four statistics before opset 14 and two since, of the type of the inputs they update", () => {
    const statistic = "float32[8]";
    expect(all({ opset: 9 })).toEqual(["float16[N,8,4,4]", statistic, statistic, statistic, statistic]);
    expect(all({ opset: 15 })).toEqual(["float16[N,8,4,4]", statistic, statistic]);
  });

  test("learns unknown channels from its parameters, and refuses others", () => {
    const unnamed = [tensor("float32", [N, symbol("C")]), ...inputs.slice(1)];
    expect(all({ inputs: unnamed })[0]).toBe("float32[N,8]");
    expect(() => all({ inputs: [x, channels(9)] })).toThrow(
      "channels of the input and of scale: 8 does not equal 9",
    );
  });

  test("has one parameter a position with spatial = 0", () => {
    const parameters = tensor("float32", [8, 4, 4]);
    const perPosition = [x, parameters, parameters, parameters, parameters];
    expect(all({ opset: 7, inputs: perPosition, attributes: { spatial: 0 } }).slice(0, 2)).toEqual([
      "float16[N,8,4,4]",
      "float32[8,4,4]",
    ]);
  });
});

describe("rows and columns", () => {
  const x = tensor("float16", [N, 8, 4, 4]);

  test("InstanceNormalization: a channel of a sample", () => {
    const options = { type: "InstanceNormalization", inputs: [x, channels(8), channels(8)] };
    expect(rowsOf(options)).toEqual(["normalization", "8*N", "16"]);
    expect(() => infer({ ...options, inputs: [x, channels(7), channels(8)] })).toThrow(
      "one for each of 8 channels",
    );
  });

  test("GroupNormalization: a group of channels", () => {
    const attributes = { num_groups: 2 };
    const options = {
      type: "GroupNormalization",
      attributes,
      inputs: [x, channels(8), channels(8)],
      opset: 21,
    };
    expect(rowsOf(options)).toEqual(["normalization", "2*N", "64"]);
    const perGroup = { ...options, opset: 18, inputs: [x, channels(2), channels(2)] };
    expect(show(inferTensor(perGroup))).toBe("float16[N,8,4,4]");
    expect(() => infer({ ...perGroup, opset: 21 })).toThrow(ShapeError);
    expect(() => infer({ ...options, attributes: { num_groups: 3 } })).toThrow("divisor of the 8 channels");
    expect(() => infer({ ...options, attributes: {} })).toThrow("the attribute num_groups is missing");
  });

  test("LayerNormalization: everything from the axis on; statistics keep the rank", () => {
    const options = { type: "LayerNormalization", attributes: { axis: -2 }, inputs: [x], outputCount: 3 };
    expect(rowsOf(options)).toEqual(["normalization", "8*N", "16"]);
    expect(infer(options).map(show)).toEqual(["float16[N,8,4,4]", "float32[N,8,1,1]", "float32[N,8,1,1]"]);
    const half = { ...options, attributes: { axis: -1, stash_type: 16 } };
    expect(infer(half).map(show).at(-1)).toBe("bfloat16[N,8,4,1]");
    expect(() => infer({ ...options, attributes: { axis: 4 } })).toThrow(ShapeError);
    expect(infer({ ...options, inputs: [tensor("float16", undefined)] }).map(show)[1]).toBe("float32[*]");
  });

  test("RMSNormalization: the result has the type of the scale", () => {
    const options = { type: "RMSNormalization", inputs: [x, tensor("float32", [4])] };
    expect(show(inferTensor(options))).toBe("float32[N,8,4,4]");
    expect(rowsOf(options)).toEqual(["normalization", "32*N", "4"]);
  });

  test("LpNormalization and MeanVarianceNormalization: the axes they name", () => {
    expect(rowsOf({ type: "LpNormalization", attributes: { axis: 1 }, inputs: [x] })).toEqual([
      "normalization",
      "16*N",
      "8",
    ]);
    expect(rowsOf({ type: "MeanVarianceNormalization", inputs: [x] })).toEqual([
      "normalization",
      "8",
      "16*N",
    ]);
    const attributes = { axes: [1] };
    expect(rowsOf({ type: "MeanVarianceNormalization", attributes, inputs: [x] })?.[2]).toBe("8");
  });

  test("every byte is counted once", () => {
    const [work] =
      workOf({
        type: "LayerNormalization",
        inputs: [tensor("float16", [3, 8]), tensor("float16", [8]), undefined],
      }) ?? [];
    expect(work).toMatchObject({ bytesRead: 2 * (24 + 8), bytesWritten: 2 * 24, dtype: "float16" });
  });
});

test("LRN keeps its shape", () => {
  expect(
    show(inferTensor({ type: "LRN", attributes: { size: 5 }, inputs: [tensor("float32", [N, 3, 2, 2])] })),
  ).toBe("float32[N,3,2,2]");
});
