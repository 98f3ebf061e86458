/** @file A transformer's layer between codes: halves are attended to, and rows are normalized straight to codes. */
import { describe, expect, test } from "vitest";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { drawn, stored } from "../../verify/code-models.ts";
import { attributes, launchesOf } from "../small-plan.ts";

const [batch, heads, size] = [2, 2, 16];
const width = heads * size;
const parts = ["q", "k", "v"] as const;

interface Layer {
  /** Of each of queries, keys and values: codes of their own, or floats that a product leaves. */
  readonly of: "codes" | "sums";
  readonly scale?: number;
  readonly isMasked?: boolean;
  /** Floats that somebody reads as well. */
  readonly seen?: string;
  readonly bias?: number;
  readonly tokens?: number;
  /** Queries are scaled before their heads are apart. */
  readonly isScaledFirst?: boolean;
  /** The result is quantized by other numbers as well. */
  readonly isTwice?: boolean;
}

/** Codes and floats of `name`: `name`_codes and `name`_real. */
function rounded(name: string, scale = "s"): types.INodeProto[] {
  return [
    node("QuantizeLinear", [name, scale, "z"], [`${name}_codes`]),
    node("DequantizeLinear", [`${name}_codes`, scale, "z"], [`${name}_real`]),
  ];
}

const twice = [
  node("QuantizeLinear", ["attended", "ws", "z"], ["other_codes"]),
  node("DequantizeLinear", ["other_codes", "ws", "z"], ["other_real"]),
  node("Softmax", ["other_real"], ["twice"]),
];

function projection(part: string, { of, isScaledFirst = false }: Layer): types.INodeProto[] {
  const real = of === "codes" ? `${part}_sum_real` : `${part}_sum`;
  const made = isScaledFirst && part === "q" ? "q_scaled" : real;
  return [
    node("DequantizeLinear", [`w${part}`, "ws"], [`w${part}_real`]),
    node("MatMul", ["n_real", `w${part}_real`], [`${part}_product`]),
    node("Add", [`${part}_product`, "bias"], [`${part}_sum`]),
    ...(of === "codes" ? rounded(`${part}_sum`, "own") : []),
    ...(made === real ? [] : [node("Mul", ["root", real], [made])]),
    node("Reshape", [made, "apart"], [`${part}_apart`]),
    node("Transpose", [`${part}_apart`], [part], {
      attribute: [attributes("perm", part === "k" ? [0, 2, 3, 1] : [0, 2, 1, 3])],
    }),
  ];
}

function layer(given: Layer): types.IGraphProto {
  const { scale = 0.04, isMasked = false, seen, bias = 0.5, tokens = 8, isTwice = false } = given;
  const outputs = [...(seen === undefined ? [] : [seen]), ...(isTwice ? ["twice"] : [])];
  const weights = [...parts, "o"].map((part, seed) =>
    stored(`w${part}`, "int8", [width, width], drawn(width * width, -100, 100, seed + 1)),
  );
  return {
    input: [info("x", [batch, tokens, width]), info("mask", [batch, 1, 1, tokens])],
    output: [info("y", [batch, tokens, width]), ...outputs.map((name) => info(name))],
    initializer: [
      ...[...weights, floats("s", [], [0.04]), floats("own", [], [scale]), floats("ws", [], [0.004])],
      ...[stored("z", "int8", [], [3]), floats("root", [], [0.25])],
      floats("gain", [width], new Array<number>(width).fill(1)),
      floats("bias", [width], new Array<number>(width).fill(bias)),
      ...[integers("apart", [4], [batch, tokens, heads, size]), integers("whole", [3], [0, 0, width])],
    ],
    node: [
      node("LayerNormalization", ["x", "gain", "bias"], ["n"]),
      ...rounded("n"),
      ...parts.flatMap((part) => projection(part, given)),
      node("MatMul", ["q", "k"], ["products"]),
      node("Mul", ["products", "root"], ["scaled"]),
      ...(isMasked ? [node("Add", ["scaled", "mask"], ["scores"])] : []),
      node("Softmax", [isMasked ? "scores" : "scaled"], ["shares"]),
      node("MatMul", ["shares", "v"], ["sums"]),
      node("Transpose", ["sums"], ["turned"], { attribute: [attributes("perm", [0, 2, 1, 3])] }),
      node("Reshape", ["turned", "whole"], ["attended"]),
      ...rounded("attended"),
      ...(isTwice ? twice : []),
      node("DequantizeLinear", ["wo", "ws"], ["wo_real"]),
      node("MatMul", ["attended_real", "wo_real"], ["projected"]),
      node("Add", ["projected", "bias"], ["out"]),
      node("Add", ["n", "out"], ["y"]),
    ],
  };
}

function launched(graph: types.IGraphProto, precision: Precision = "model"): Launch[] {
  const bytes = modelBytes(graph, { irVersion: 9, opsetImport: [{ domain: "", version: 19 }] });
  using model = modelFromBytes(bytes);
  return launchesOf(planModel({ model, precision, weights: weightsOf(model) }).steps);
}

function attentionOf(launches: readonly Launch[]): Launch | undefined {
  return launches.find(({ kernel }) => kernel.entry.startsWith("attention"));
}

const typesOf = (views: Launch["reads"] | undefined) => views?.map(({ type }) => type);

describe("attention between codes", () => {
  test("reads halves that one product of codes stores, and writes codes", () => {
    const launches = launched(layer({ of: "sums" }));
    const attention = attentionOf(launches);
    expect(attention?.kernel.entry).toMatch(/^attention_f16_/);
    expect(typesOf(attention?.reads)).toEqual(["float16", "float16", "float16"]);
    expect(typesOf(attention?.writes)).toEqual(["int8"]);
    const products = launches.filter(({ kernel }) => kernel.entry.startsWith("codes_"));
    expect(products.map(({ writes }) => typesOf(writes))).toEqual([["float16"], ["float32"]]);
    expect(launches.map(({ kernel }) => kernel.entry.replace(/_.*/, ""))).toEqual([
      "rownorm",
      "codes",
      "attention",
      "codes",
    ]);
  });

  test("reads what codes of a byte stand for as halves", () => {
    const attention = attentionOf(launched(layer({ of: "codes" })));
    expect(attention?.kernel.entry).toMatch(/^attention_f16_/);
  });

  test.each([
    ["is quantized in two ways", layer({ of: "sums", isTwice: true })],
    ["has many keys and no mask", layer({ of: "sums", tokens: 300 })],
  ])("writes halves where it %s", (_, graph) => {
    const attention = attentionOf(launched(graph));
    expect(attention?.kernel.entry).toMatch(/^attention_f16_/);
    expect(typesOf(attention?.writes)).toEqual(["float16"]);
  });

  test.each(["codes", "sums"] as const)("reads queries of %s that are scaled on their own", (of) => {
    const attention = attentionOf(launched(layer({ of, isScaledFirst: true })));
    expect(attention?.kernel.entry).toMatch(/^attention_f16_/);
    expect(typesOf(attention?.reads)).toEqual(["float16", "float16", "float16"]);
  });

  test("is no launch, and its result no codes, where its products are of codes themselves", () => {
    const graph = layer({ of: "sums" });
    const ofCodes = (graph.node ?? []).flatMap((each) => {
      const isProduct = each.output?.[0] === "products";
      if (!isProduct) return [each];
      return [...rounded("q"), ...rounded("k"), { ...each, input: ["q_real", "k_real"] }];
    });
    const zeroed = (graph.initializer ?? []).map((each) =>
      each.name === "z" ? stored("z", "int8", [], [0]) : each,
    );
    const launches = launched({ ...graph, node: ofCodes, initializer: zeroed });
    expect(attentionOf(launches)).toBeUndefined();
    expect(launches.some(({ writes }) => typesOf(writes)?.includes("float16"))).toBe(false);
  });

  test("adds a mask of float32", () => {
    const attention = attentionOf(launched(layer({ of: "sums", isMasked: true })));
    expect(attention?.kernel.entry).toMatch(/^attention_f16_.*_masked$/);
    expect(typesOf(attention?.reads)).toEqual(["float16", "float16", "float16", "float32"]);
  });

  test.each([
    ["the result is read as floats", layer({ of: "sums", seen: "attended" })],
    ["queries are read elsewhere", layer({ of: "sums", seen: "q_sum" })],
    ["numbers may leave the range of halves", layer({ of: "codes", scale: 600 })],
    ["sums may leave the range of halves", layer({ of: "sums", bias: 70_000 })],
    ["a step is lost among the smallest halves", layer({ of: "codes", scale: 1e-6 })],
  ])("stays in FP32 where %s", (_, graph) => {
    expect(attentionOf(launched(graph))?.kernel.entry).toMatch(/^attention_plain/);
  });

  test("stays in FP32 where that is asked for, and is of the half that is", () => {
    const graph = layer({ of: "sums" });
    expect(attentionOf(launched(graph, "fp32"))?.kernel.entry).toMatch(/^attention_plain/);
    const attention = attentionOf(launched(graph, "bf16"));
    expect(attention?.kernel.entry).toMatch(/^attention_bf16/);
    expect([...(typesOf(attention?.reads) ?? []), ...(typesOf(attention?.writes) ?? [])]).toEqual([
      ...["bfloat16", "bfloat16", "bfloat16", "int8"],
    ]);
  });
});

describe("normalized rows that are quantized", () => {
  const norm = (nodes: types.INodeProto[], outputs: string[]): types.IGraphProto => ({
    input: [info("x", [4, 64])],
    output: outputs.map((name) => info(name, [4, 64], name.endsWith("_codes") ? 3 : 1)),
    initializer: [
      floats("gain", [64], new Array<number>(64).fill(1)),
      ...[floats("s", [], [0.04]), floats("t", [], [0.05]), stored("z", "int8", [], [3])],
    ],
    node: [node("LayerNormalization", ["x", "gain"], ["n"]), ...nodes],
  });
  const written = (graph: types.IGraphProto, precision?: Precision) =>
    launched(graph, precision).map(({ kernel, writes }) => [
      kernel.entry.replace(/_.*/, ""),
      ...(typesOf(writes) ?? []),
    ]);
  const back = (from: string, to: string) => node("DequantizeLinear", [from, "s", "z"], [to]);

  test("are codes alone where nobody reads floats", () => {
    const graph = norm([...rounded("n"), node("Softmax", ["n_real"], ["y"])], ["y"]);
    expect(written(graph)[0]).toEqual(["rownorm", "int8"]);
    expect(written(graph, "fp32")[0]).toEqual(["rownorm", "float32"]);
  });

  test("are floats and codes where both are read, once for equal numbers", () => {
    const nodes = [
      ...rounded("n"),
      node("QuantizeLinear", ["n", "s", "z"], ["again"]),
      ...[back("again", "m"), node("Softmax", ["n_real"], ["a"]), node("Softmax", ["m"], ["b"])],
      node("Softmax", ["n"], ["c"]),
    ];
    const launches = written(norm(nodes, ["a", "b", "c"]));
    expect(launches[0]).toEqual(["rownorm", "float32", "int8"]);
    expect(launches.filter(([, type]) => type === "int8")).toEqual([]);
  });

  test("are quantized by other numbers from floats", () => {
    const nodes = [
      ...[...rounded("n"), node("Softmax", ["n_real"], ["a"])],
      ...[node("QuantizeLinear", ["n", "t", "z"], ["other"]), back("other", "m")],
      node("Softmax", ["m"], ["b"]),
    ];
    const launches = written(norm(nodes, ["a", "b"]));
    expect(launches[0]).toEqual(["rownorm", "float32", "int8"]);
    expect(launches.filter(([, type]) => type === "int8")).toHaveLength(1);
  });

  test("leave codes that are an output to the caller's memory", () => {
    expect(written(norm(rounded("n").slice(0, 1), ["n_codes"]))).toHaveLength(2);
  });

  test("are written out, and codes none the less", () => {
    const graph: types.IGraphProto = {
      ...norm([], ["y"]),
      node: [
        node("ReduceMean", ["x", "last"], ["mean"]),
        node("Sub", ["x", "mean"], ["centred"]),
        node("Mul", ["centred", "centred"], ["squares"]),
        node("ReduceMean", ["squares", "last"], ["variance"]),
        node("Add", ["variance", "least"], ["raised"]),
        node("Sqrt", ["raised"], ["root"]),
        node("Div", ["centred", "root"], ["quotient"]),
        node("Mul", ["quotient", "gain"], ["n"]),
        ...[...rounded("n"), node("Softmax", ["n_real"], ["y"])],
      ],
    };
    const more = [integers("last", [1], [-1]), floats("least", [], [1e-5])];
    expect(written({ ...graph, initializer: [...(graph.initializer ?? []), ...more] })[0]).toEqual([
      "rownorm",
      "int8",
    ]);
  });
});
