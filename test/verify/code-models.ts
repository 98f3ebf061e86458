/** @file Products of uint8 by int8, an operator each, whose sums saturate nowhere. */
import { attribute } from "../cuda-runtime/small-plan.ts";
import { float, floats, info, modelBytes, node, type types } from "../onnx/build.ts";

export const wire = { uint8: 2, int8: 3, int32: 6 } as const;
export type Codes = "uint8" | "int8";
export const arrays = { uint8: Uint8Array, int8: Int8Array, int32: Int32Array } as const;

export function stored(name: string, type: keyof typeof wire, dims: number[], values: readonly number[]) {
  return { name, dims, dataType: wire[type], rawData: Buffer.from(arrays[type].from(values).buffer) };
}

/** Whole numbers without a pattern, from `low` to `high`. */
export function drawn(count: number, low: number, high: number, seed = 1): number[] {
  return Array.from({ length: count }, (_, i) => {
    const unit = (Math.sin(12.9898 * (i + 1) + 78.233 * seed) + 1) / 2;
    return Math.round(low + unit * (high - low));
  });
}

export const levels = ["disabled", "basic", "all"] as const;
export const [m, k, n] = [3, 40, 8];
export const x = (type: Codes) => [info("x", [m, k], wire[type])];
export const y = (type: keyof typeof wire) => [info("y", [], wire[type])];
export const image = (type: Codes) => [info("x", [1, k, 3, 3], wire[type])];
export const microsoft = { domain: "com.microsoft" };

export interface Case {
  readonly graph: types.IGraphProto;
  /** Of x, undefined where it is in FP32. */
  readonly type: Codes | undefined;
  readonly dims: readonly number[];
}

/** int8 codes that no two products of saturate, so that the original is exact too on a CPU that does. */
export const small = (count: number, seed?: number) => drawn(count, -60, 60, seed);
export const scales = [floats("s", [], [0.05]), floats("ys", [], [0.9])];
export const zeros = [
  stored("xz", "uint8", [], [7]),
  stored("wz", "int8", [], [-3]),
  stored("yz", "uint8", [], [90]),
];
export const quantized = [...scales, ...zeros, stored("w", "int8", [k, n], small(k * n))];
export const filters = [...scales, ...zeros, stored("w", "int8", [n, k, 2, 2], small(4 * k * n))];
export const dequantized = [
  node("DequantizeLinear", ["x", "s", "xz"], ["xf"]),
  node("DequantizeLinear", ["w", "s", "wz"], ["wf"]),
];
export const matrix = { type: "uint8", dims: [m, k] } as const;
export const pixels = { type: "uint8", dims: [1, k, 3, 3] } as const;

export const cases: Readonly<Record<string, Case>> = {
  MatMulInteger: {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: y("int32"), initializer: quantized },
      node: [node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])],
    },
  },
  "MatMulInteger without zero points": {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: y("int32"), initializer: quantized },
      node: [node("MatMulInteger", ["x", "w"], ["y"])],
    },
  },
  QLinearMatMul: {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: y("uint8"), initializer: quantized },
      node: [node("QLinearMatMul", ["x", "s", "xz", "w", "s", "wz", "ys", "yz"], ["y"])],
    },
  },
  ConvInteger: {
    type: "int8",
    dims: [1, k, 3, 3],
    graph: {
      ...{ input: image("int8"), output: y("int32") },
      initializer: [stored("w", "uint8", [n, k, 2, 2], drawn(4 * k * n, 0, 255))],
      node: [node("ConvInteger", ["x", "w"], ["y"])],
    },
  },
  QLinearConv: {
    ...pixels,
    graph: {
      ...{ input: image("uint8"), output: y("uint8") },
      initializer: [...scales, ...zeros, stored("w", "int8", [n, k, 2, 2], small(4 * k * n))],
      node: [node("QLinearConv", ["x", "s", "xz", "w", "s", "wz", "ys", "yz"], ["y"])],
    },
  },
  MatMulIntegerToFloat: {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: [info("y", [], float)], initializer: quantized },
      node: [node("MatMulIntegerToFloat", ["x", "w", "s", "s", "xz", "wz"], ["y"], microsoft)],
    },
  },
  "DynamicQuantizeMatMul without a zero point": {
    type: undefined,
    dims: [m, k],
    graph: {
      ...{ input: [info("x", [m, k], float)], output: [info("y", [], float)] },
      initializer: [
        ...quantized,
        floats(
          "ws",
          [n],
          drawn(n, 1, 9).map((each) => each / 100),
        ),
      ],
      node: [node("DynamicQuantizeMatMul", ["x", "w", "ws"], ["y"], microsoft)],
    },
  },
  QGemm: {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: y("uint8"), initializer: quantized },
      node: [node("QGemm", ["x", "s", "xz", "w", "s", "wz", "", "ys", "yz"], ["y"], microsoft)],
    },
  },
  QAttention: {
    type: "uint8",
    dims: [1, 4, k],
    graph: {
      input: [info("x", [1, 4, k], wire.uint8)],
      output: [info("y", [], float)],
      initializer: [
        ...scales,
        ...zeros,
        stored("w", "int8", [k, 3 * n], small(3 * k * n)),
        floats("b", [3 * n], drawn(3 * n, -3, 3)),
      ],
      node: [
        node("QAttention", ["x", "w", "b", "s", "s", "", "xz", "wz"], ["y"], {
          ...microsoft,
          attribute: [attribute("num_heads", 2)],
        }),
      ],
    },
  },
  DynamicQuantizeLSTM: {
    type: undefined,
    dims: [2, 1, k],
    graph: {
      input: [info("x", [2, 1, k], float)],
      output: [info("y", [], float)],
      initializer: [
        ...[stored("w", "int8", [1, k, 4 * n], small(4 * k * n)), floats("ws", [1], [0.002])],
        ...[stored("r", "int8", [1, n, 4 * n], small(4 * n * n, 2)), stored("wz", "int8", [1], [0])],
      ],
      node: [
        node("DynamicQuantizeLSTM", ["x", "w", "r", "", "", "", "", "", "ws", "wz", "ws", "wz"], ["y"], {
          ...microsoft,
          attribute: [attribute("hidden_size", n)],
        }),
      ],
    },
  },
  "MatMul between DequantizeLinear and QuantizeLinear": {
    ...matrix,
    graph: {
      ...{ input: x("uint8"), output: y("uint8"), initializer: quantized },
      node: [
        ...dequantized,
        node("MatMul", ["xf", "wf"], ["c"]),
        node("QuantizeLinear", ["c", "ys", "yz"], ["y"]),
      ],
    },
  },
  "Conv between DequantizeLinear and QuantizeLinear": {
    ...pixels,
    graph: {
      ...{ input: image("uint8"), output: y("uint8"), initializer: filters },
      node: [
        ...dequantized,
        node("Conv", ["xf", "wf"], ["c"]),
        node("QuantizeLinear", ["c", "ys", "yz"], ["y"]),
      ],
    },
  },
};

export function bytesOf(graph: types.IGraphProto): Uint8Array {
  return modelBytes(graph, {
    irVersion: 9,
    opsetImport: [
      { domain: "", version: 19 },
      { domain: "com.microsoft", version: 1 },
    ],
  });
}
