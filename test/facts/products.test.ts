import { describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { extractProducts, type Product } from "../../src/facts/products.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { buildModel, type ModelSpec, type NodeSpec } from "./build.ts";

function extract(spec: ModelSpec) {
  const facts = inferFacts(buildModel(spec));
  return { facts, ...extractProducts(facts) };
}

function only(spec: ModelSpec): Product {
  const { products } = extract(spec);
  const [product, ...more] = products;
  if (product === undefined || more.length > 0) throw new Error(`${products.length} products, expected one`);
  return product;
}

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: NodeSpec["attributes"] = {},
): NodeSpec => ({
  op,
  inputs,
  outputs: [output],
  attributes,
});

describe("operands", () => {
  it("are told apart behind views and conversions", () => {
    const product = only({
      inputs: { x: ["float16", [4, 32]] },
      initializers: { w: { dtype: "float32", dims: [64, 32] } },
      nodes: [
        node("Cast", ["w"], "half", { to: 10 }),
        node("Transpose", ["half"], "wt", { perm: [1, 0] }),
        node("MatMul", ["x", "wt"], "y"),
      ],
      outputs: ["y"],
    });
    expect([product.input?.name, product.weight?.name, product.codes]).toEqual(["x", "w", undefined]);
  });

  it("may come in either order, and may both be computed", () => {
    const spec: ModelSpec = {
      inputs: { x: ["float32", [32, 4]], z: ["float32", [64, 32]] },
      initializers: { w: { dtype: "float32", dims: [64, 32] } },
      nodes: [node("MatMul", ["w", "x"], "y")],
      outputs: ["y"],
    };
    expect([only(spec).input?.name, only(spec).weight?.name]).toEqual(["x", "w"]);
    const both = only({ ...spec, nodes: [node("MatMul", ["z", "x"], "y")] });
    expect([both.input?.name, both.weight]).toEqual(["z", undefined]);
  });

  it("are found where the operator says they are", () => {
    const scalar = { dtype: "float32", dims: [] } as const;
    const zero = { dtype: "uint8", dims: [] } as const;
    const product = only({
      inputs: { x: ["uint8", [1, 16, 8, 8]] },
      initializers: {
        xs: scalar,
        xz: zero,
        w: { dtype: "int8", dims: [32, 16, 3, 3] },
        ws: scalar,
        wz: { dtype: "int8", dims: [] },
        ys: scalar,
        yz: zero,
      },
      nodes: [node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], "y")],
      outputs: ["y"],
    });
    expect([product.input?.name, product.weight?.name, product.work.dtype]).toEqual(["x", "w", "int8"]);
  });

  it("reach out of a function body to what the caller gave", () => {
    const product = only({
      inputs: { x: ["float32", [4, 32]] },
      initializers: { w: { dtype: "float32", dims: [32, 64] } },
      nodes: [{ op: "Linear", domain: "my", name: "call", inputs: ["x", "w"], outputs: ["y"] }],
      outputs: ["y"],
      functions: [
        {
          domain: "my",
          name: "Linear",
          inputs: { a: undefined, b: undefined },
          nodes: [node("MatMul", ["a", "b"], "c")],
          outputs: ["c"],
        },
      ],
    });
    expect([product.scope.path, product.weight?.name]).toEqual(["graph/call:Linear", "w"]);
  });
});

describe("quantization by QuantizeLinear and DequantizeLinear", () => {
  const spec = (activation: "uint8" | "float32"): ModelSpec => ({
    inputs: { x: [activation, [1, 16, 8, 8]] },
    initializers: { w: { dtype: "int8", dims: [32, 16, 3, 3] }, s: { dtype: "float32", dims: [] } },
    nodes: [
      ...(activation === "uint8" ? [node("DequantizeLinear", ["x", "s"], "a")] : [node("Relu", ["x"], "a")]),
      node("DequantizeLinear", ["w", "s"], "b"),
      node("Conv", ["a", "b"], "y"),
    ],
    outputs: ["y"],
  });

  it("makes a product of 8-bit integers of one whose operands are both dequantized", () => {
    const product = only(spec("uint8"));
    expect([product.work.dtype, product.codes, product.weight?.name]).toEqual(["int8", "int8", "w"]);
  });

  it("but not of one whose weights alone are", () => {
    const product = only(spec("float32"));
    expect([product.work.dtype, product.codes, product.weight?.name]).toEqual(["float32", undefined, "w"]);
  });
});

describe("8-bit floats by QuantizeLinear and DequantizeLinear", () => {
  const spec = (x: DType, w: DType, blockSize = 0): ModelSpec => ({
    inputs: { x: [x, [32, 64]] },
    initializers: {
      w: { dtype: w, dims: [64, 48] },
      s: { dtype: "float32", dims: [] },
      t: { dtype: "float32", dims: blockSize === 0 ? [] : [64 / blockSize, 48] },
    },
    nodes: [
      node("DequantizeLinear", ["x", "s"], "a"),
      node("DequantizeLinear", ["w", "t"], "b", blockSize === 0 ? {} : { axis: 0, block_size: blockSize }),
      node("MatMul", ["a", "b"], "y"),
    ],
    outputs: ["y"],
  });

  it.each([
    ["float8e4m3fn", "float8e4m3fn", "float8e4m3fn"],
    ["float8e5m2", "float8e4m3fn", "float8e5m2"],
    ["float8e4m3fn", "float8e5m2", "float8e5m2"],
    ["float8e4m3fn", "int8", undefined],
    ["float8e4m3fnuz", "float8e4m3fn", undefined],
  ] as const)("%s by %s are codes of %s", (x, w, codes) => {
    const product = only(spec(x, w));
    expect([product.codes, product.work.dtype]).toEqual([codes, codes ?? "float32"]);
  });

  it("are no codes of a product where each block has a scale of its own", () => {
    expect(only(spec("float8e4m3fn", "float8e4m3fn", 16)).codes).toBeUndefined();
  });

  it("are multiplied as what they stand for where the target says so", () => {
    const { facts } = extract(spec("float8e4m3fn", "float8e4m3fn"));
    const { products } = extractProducts(facts, { multipliesCodes: () => false });
    expect(products.map(({ codes, work }) => [codes, work.dtype])).toEqual([["float8e4m3fn", "float32"]]);
  });
});

describe("what cannot be said of a product", () => {
  it("is reported with the sizes that are missing", () => {
    const { products, unresolved } = extract({
      inputs: { x: ["float32", [4, 32]], w: ["float32", [32, 64]] },
      nodes: [
        node("NonZero", ["x"], "i"),
        node("Cast", ["i"], "f", { to: 1 }),
        node("Transpose", ["f"], "t", { perm: [1, 0] }),
        node("MatMul", ["t", "f"], "y"),
      ],
      outputs: ["y"],
    });
    expect(products).toEqual([]);
    expect(unresolved.map(({ reason }) => reason)).toEqual(["not known before the model runs: m, n"]);
  });

  it("is reported once where the node is skipped already", () => {
    const { facts, products, unresolved } = extract({
      inputs: { x: ["float32", [4, 32]], w: ["float32", [31, 64]] },
      nodes: [node("MatMul", ["x", "w"], "y")],
      outputs: ["y"],
    });
    expect([facts.skipped.length, products.length, unresolved.length]).toEqual([1, 0, 0]);
  });
});

it("runs as often as the loop around it", () => {
  const product = only({
    inputs: { x: ["float32", [4, 32]] },
    initializers: {
      w: { dtype: "float32", dims: [32, 32] },
      n: { dtype: "int64", dims: [], elements: [12] },
      go: { dtype: "bool", dims: [], elements: [1] },
    },
    nodes: [
      {
        op: "Loop",
        name: "loop",
        inputs: ["n", "go", "x"],
        outputs: ["y"],
        attributes: {
          body: {
            graph: {
              inputs: { i: ["int64", []], c: ["bool", []], h: undefined },
              nodes: [node("MatMul", ["h", "w"], "next"), node("Identity", ["c"], "on")],
              outputs: ["on", "next"],
            },
          },
        },
      },
    ],
    outputs: ["y"],
  });
  expect([product.scope.totalRepeat, product.weight?.name, product.input?.name]).toEqual([12, "w", "h"]);
});

it("is found in time linear in the graph, softmaxes included", () => {
  const seconds = (layers: number) => {
    const nodes = Array.from({ length: layers }, (_, index) => [
      node("MatMul", [`v${index}`, "x"], `s${index}`),
      node("Add", [`s${index}`, `s${Math.max(0, index - 1)}`], `a${index}`),
      node("Softmax", [`a${index}`], `v${index + 1}`),
    ]).flat();
    const spec: ModelSpec = {
      inputs: { v0: ["float32", [64, 64]], x: ["float32", [64, 64]] },
      nodes,
      outputs: [`v${layers}`],
    };
    const facts = inferFacts(buildModel(spec));
    const start = performance.now();
    extractProducts(facts);
    return (performance.now() - start) / 1000;
  };
  seconds(2_000);
  const [small, large] = [seconds(5_000), seconds(40_000)];
  console.log(`products of 15,000 nodes in ${small.toFixed(2)} s, of 120,000 in ${large.toFixed(2)} s`);
  expect(large).toBeLessThan(Math.max(8 * small * 3, 2));
});
