/** What a fix writes at a graph's inputs and outputs is valid in every opset, for every type. */
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model, type Sizes } from "../../fixtures/builder.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { bytesOfModel, type Feeds, run } from "./folding.ts";
import { fateOf, padEverything, weight } from "./padding.ts";
import { schemaProblems } from "./schemas.ts";

const opsets = Array.from({ length: 20 }, (_, index) => 7 + index);
const types: readonly DType[] = [
  ...(["float32", "float64", "float16", "bfloat16", "bool"] as const),
  ...(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] as const),
];

/** x of a type → FP32 → products → the type again, padded at both ends; the sizes of x are as told. */
function edgesModel(
  dtype: DType,
  opset: number,
  sizes: Sizes,
  build: (graph: GraphBuilder, x: string) => string,
) {
  return model({ name: "edges", opset }, (graph) => {
    const x = graph.input("x", sizes, dtype);
    const floats = dtype === "float32" ? x : graph.node("Cast", [x], { to: dtypes.float32.code });
    const y = build(graph, floats);
    graph.node("Cast", [y], { to: dtypes[dtype].code }, { outputs: ["y"] });
    graph.output("y", dtype);
  });
}

const arrays: Partial<Record<DType, (values: number[]) => Tensor["data"]>> = {
  float32: (values) => Float32Array.from(values),
  float64: (values) => Float64Array.from(values),
  bool: (values) => Uint8Array.from(values, (value) => value % 2),
  int8: (values) => Int8Array.from(values),
  int16: (values) => Int16Array.from(values),
  int32: (values) => Int32Array.from(values),
  int64: (values) => BigInt64Array.from(values, BigInt),
  uint8: (values) => Uint8Array.from(values),
  uint16: (values) => Uint16Array.from(values),
  uint32: (values) => Uint32Array.from(values),
  uint64: (values) => BigUint64Array.from(values, BigInt),
};

/** Small whole numbers; undefined where the type has no array here. */
function feedsOf(dtype: DType, dims: readonly number[]): Feeds | undefined {
  const array = arrays[dtype];
  if (array === undefined) return undefined;
  const size = dims.reduce((product, dim) => product * dim, 1);
  const data = array(Array.from({ length: size }, (_, index) => (5 * index) % 7));
  return { x: new Tensor(dtype as "float32", data as Float32Array, dims) };
}

const rows = (graph: GraphBuilder, x: string) => {
  const h = graph.node("MatMul", [x, weight(graph, [5, 6])]);
  return graph.node("Mul", [h, graph.scalar(4)]);
};

/** The last axis of x is two halves of products of their own: lanes between true ones. */
const halves = (graph: GraphBuilder, x: string) => {
  const [left = "", right = ""] = graph.nodes("Split", [x], { axis: 1 }, { outputs: 2 });
  const parts = [left, right].map((part, at) => graph.node("MatMul", [part, weight(graph, [5, 6], at)]));
  return graph.node("Concat", parts, { axis: 1 });
};

describe.each(opsets)("Opset %i", (opset) => {
  it.each(types)("pads an input of %s, and cuts an output, or says that it cannot", async (dtype) => {
    // No operator has the type before.
    if (dtype === "bfloat16" && opset < 13) return;
    const bytes = edgesModel(dtype, opset, ["N", 5], rows);
    const before = modelFromBytes(bytes);
    const padding = padEverything(before);
    expect(schemaProblems(before, padding.after)).toEqual([]);
    const fate = fateOf(padding, "x", 1);
    const isLate = opset < 8 && !dtype.includes("float");
    expect(fate).toBe(isLate ? `"x" is an input of type ${dtype}, which opset ${opset} cannot pad` : 6);
    const feeds = feedsOf(dtype, [3, 5]);
    if (feeds === undefined) return;
    const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(padding.after), feeds)];
    expect(actual.get("y")?.dims).toEqual([3, 6]);
    expect(actual.get("y")?.data).toEqual(expected.get("y")?.data);
  });

  it("spreads and gathers lanes of an axis that is padded in between", async () => {
    if (opset >= 18) return;
    const bytes = edgesModel("int32", opset, ["N", 10], halves);
    const before = modelFromBytes(bytes);
    const padding = padEverything(before);
    expect(schemaProblems(before, padding.after)).toEqual([]);
    const feeds = feedsOf("int32", [3, 10]) ?? {};
    const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(padding.after), feeds)];
    expect(actual.get("y")?.data).toEqual(expected.get("y")?.data);
  });
});
