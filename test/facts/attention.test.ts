import { describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { extractProducts } from "../../src/facts/products.ts";
import { buildModel, type ModelSpec, type NodeSpec, type TensorSpec, type TypeSpec } from "./build.ts";

interface Pattern {
  readonly inputs: Readonly<Record<string, TypeSpec>>;
  readonly initializers?: Readonly<Record<string, TensorSpec>>;
  readonly nodes: readonly NodeSpec[];
  readonly opset?: number;
}

/** Products of a graph that ends in `y`, in a few words each. */
function products({ nodes, ...rest }: Pattern): string[] {
  const spec: ModelSpec = { ...rest, nodes, outputs: ["y"] };
  const facts = inferFacts(buildModel(spec));
  expect(facts.skipped.map(({ reason }) => reason)).toEqual([]);
  const { products: found, unresolved } = extractProducts(facts);
  expect(unresolved).toEqual([]);
  return found.map(({ work }) => {
    if (work.kind !== "attention") return work.kind;
    const { batch, heads, kvHeads, queryLength, keyLength, headDim, valueHeadDim } = work;
    const flags = `${work.causal ? " causal" : ""}${work.masked ? " masked" : ""}`;
    return `${batch}×${heads}/${kvHeads} ${queryLength}×${keyLength} ${headDim}/${valueHeadDim}${flags}`;
  });
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

const qkv: Pattern["inputs"] = {
  q: ["float32", ["n", 4, 5, 8]],
  k: ["float32", ["n", 4, 7, 8]],
  v: ["float32", ["n", 4, 7, 16]],
};
const keysUp = node("Transpose", ["k"], "kt", { perm: [0, 1, 3, 2] });
const keysFolded = node("Transpose", ["k"], "kt", { perm: [0, 2, 1] });
const scores = node("MatMul", ["q", "kt"], "s");
const softmax = node("Softmax", ["m"], "p", { axis: -1 });
const result = node("MatMul", ["p", "v"], "y");

describe("attention written out", () => {
  it("is one product, with a batch that stays symbolic", () => {
    const nodes = [keysUp, scores, node("Identity", ["s"], "m"), softmax, result];
    expect(products({ inputs: qkv, nodes })).toEqual(["n×4/4 5×7 8/16"]);
  });

  it("may be scaled before, behind, and masked by a sum", () => {
    const initializers: Pattern["initializers"] = { scale: { dtype: "float32", dims: [], elements: [0.35] } };
    const nodes = [
      node("Mul", ["q", "scale"], "qs"),
      keysUp,
      node("Mul", ["scale", "kt"], "ks"),
      node("MatMul", ["qs", "ks"], "s"),
      node("Div", ["s", "scale"], "d"),
      node("Add", ["bias", "d"], "m"),
      softmax,
      result,
    ];
    const inputs: Pattern["inputs"] = { ...qkv, bias: ["float32", ["n", 1, 5, 7]] };
    expect(products({ inputs, initializers, nodes })).toEqual(["n×4/4 5×7 8/16 masked"]);
  });

  it("covers its nodes, scaling included", () => {
    const initializers: Pattern["initializers"] = { scale: { dtype: "float32", dims: [], elements: [0.35] } };
    const nodes = [
      keysUp,
      node("Mul", ["q", "scale"], "qs"),
      node("MatMul", ["qs", "kt"], "m"),
      softmax,
      result,
    ];
    const { products: found } = extractProducts(
      inferFacts(buildModel({ inputs: qkv, initializers, nodes, outputs: ["y"] })),
    );
    expect(found.map((product) => product.nodes.map(({ opType }) => opType))).toEqual([
      ["Mul", "MatMul", "Softmax", "MatMul"],
    ]);
    expect(found[0]?.decomposed?.around.map(({ opType }) => opType)).toEqual(["Transpose"]);
  });

  it("may convert, drop, and guard against rows without keys", () => {
    const nodes = [
      keysUp,
      scores,
      node("Where", ["keep", "s", "low"], "w"),
      node("Cast", ["w"], "m", { to: 1 }),
      softmax,
      node("IsNaN", ["p"], "nan"),
      node("Where", ["nan", "zero", "p"], "safe"),
      node("Dropout", ["safe"], "dropped"),
      node("MatMul", ["dropped", "v"], "y"),
    ];
    const inputs: Pattern["inputs"] = { ...qkv, keep: ["bool", [1, 1, 5, 7]] };
    const initializers: Pattern["initializers"] = {
      low: { dtype: "float32", dims: [], elements: [-1e9] },
      zero: { dtype: "float32", dims: [], elements: [0] },
    };
    expect(products({ inputs, initializers, nodes })).toEqual(["n×4/4 5×7 8/16 masked"]);
  });

  it("may be written with Einsum", () => {
    const nodes = [
      node("Einsum", ["q", "k"], "m", { equation: "bqhd,bkhd->bhqk" }),
      softmax,
      node("Einsum", ["p", "v"], "y", { equation: "bhqk,bkhd->bqhd" }),
    ];
    const inputs: Pattern["inputs"] = {
      q: ["float32", [2, 5, 4, 8]],
      k: ["float32", [2, 7, 4, 8]],
      v: ["float32", [2, 7, 4, 16]],
    };
    expect(products({ inputs, nodes })).toEqual(["2×4/4 5×7 8/16"]);
  });

  it("may have batch and heads in one axis, told apart by a Reshape", () => {
    const initializers: Pattern["initializers"] = {
      folded: { dtype: "int64", dims: [3], elements: [-1, 5, 8] },
    };
    const nodes = [
      node("Reshape", ["x", "folded"], "q"),
      keysFolded,
      node("MatMul", ["q", "kt"], "m"),
      softmax,
      result,
    ];
    const inputs: Pattern["inputs"] = {
      x: ["float32", [2, 4, 5, 8]],
      k: ["float32", [8, 7, 8]],
      v: ["float32", [8, 7, 16]],
    };
    expect(products({ inputs, initializers, nodes })).toEqual(["2×4/4 5×7 8/16"]);
    const plain: Pattern["inputs"] = { ...inputs, q: ["float32", [8, 5, 8]] };
    expect(products({ inputs: plain, nodes: nodes.slice(1) })).toEqual(["8×1/1 5×7 8/16"]);
  });

  it("may run over positions of an image, values first", () => {
    const nodes = [
      node("Transpose", ["q"], "qt", { perm: [0, 2, 1] }),
      node("MatMul", ["qt", "k"], "m"),
      softmax,
      node("Transpose", ["p"], "pt", { perm: [0, 2, 1] }),
      node("MatMul", ["v", "pt"], "y"),
    ];
    const inputs: Pattern["inputs"] = {
      q: ["float32", [2, 8, 25]],
      k: ["float32", [2, 8, 25]],
      v: ["float32", [2, 64, 25]],
    };
    expect(products({ inputs, nodes })).toEqual(["2×1/1 25×25 8/64"]);
  });

  it("may share keys among heads by broadcasting", () => {
    const nodes = [node("MatMul", ["q", "kt"], "m"), softmax, result];
    const inputs: Pattern["inputs"] = {
      q: ["float32", [2, 3, 4, 5, 8]],
      kt: ["float32", [2, 3, 1, 8, 7]],
      v: ["float32", [2, 3, 1, 7, 8]],
    };
    expect(products({ inputs, nodes })).toEqual(["2×12/3 5×7 8/8"]);
  });
});

describe("a causal mask", () => {
  const self: Pattern["inputs"] = {
    q: ["float32", [2, 4, 3, 8]],
    k: ["float32", [2, 4, 3, 8]],
    v: ["float32", [2, 4, 3, 8]],
  };
  const added = (elements: readonly number[]): Pattern => ({
    inputs: self,
    initializers: { mask: { dtype: "float32", dims: [3, 3], elements } },
    nodes: [keysUp, scores, node("Add", ["s", "mask"], "m"), softmax, result],
  });

  it("is proven by its elements", () => {
    const low = Number.NEGATIVE_INFINITY;
    expect(products(added([0, low, low, 0, 0, low, 0, 0, 0]))).toEqual(["2×4/4 3×3 8/8 causal masked"]);
    expect(products(added([0, low, low, 0, 0, low, 0, low, 0]))).toEqual(["2×4/4 3×3 8/8 masked"]);
    expect(products(added([0, -1, -1, 0, 0, -1, 0, 0, 0]))).toEqual(["2×4/4 3×3 8/8 masked"]);
  });

  it("is proven by a triangle that makes it, but not through an Or", () => {
    const made = (last: readonly NodeSpec[]): Pattern => ({
      inputs: { ...self, ones: ["bool", ["s", "s"]], other: ["bool", [3, 3]] },
      initializers: { low: { dtype: "float32", dims: [], elements: [-1e9] } },
      nodes: [
        keysUp,
        scores,
        node("Trilu", ["ones"], "triangle", { upper: 0 }),
        ...last,
        node("Where", ["keep", "s", "low"], "m"),
        softmax,
        result,
      ],
    });
    expect(products(made([node("Identity", ["triangle"], "keep")]))).toEqual(["2×4/4 3×3 8/8 causal masked"]);
    expect(products(made([node("Or", ["triangle", "other"], "keep")]))).toEqual(["2×4/4 3×3 8/8 masked"]);
  });
});

describe("what only looks like attention", () => {
  it("is a classifier: keys that are weights", () => {
    const pattern: Pattern = {
      inputs: { x: ["float32", [2, 5, 8]], v: ["float32", [2, 7, 16]] },
      initializers: { w: { dtype: "float32", dims: [8, 7] } },
      nodes: [node("MatMul", ["x", "w"], "m"), softmax, result],
    };
    expect(products(pattern)).toEqual(["gemm", "gemm"]);
  });

  it("is an expectation over stored values", () => {
    const pattern: Pattern = {
      inputs: { q: ["float32", [2, 5, 8]], kt: ["float32", [2, 8, 7]] },
      initializers: { v: { dtype: "float32", dims: [7, 16] } },
      nodes: [node("MatMul", ["q", "kt"], "m"), softmax, result],
    };
    expect(products(pattern)).toEqual(["gemm", "gemm"]);
  });

  it("is a softmax over queries, or over everything at once as before opset 13", () => {
    const nodes = (axis: number) => [
      keysUp,
      scores,
      node("Identity", ["s"], "m"),
      { ...softmax, attributes: { axis } },
      result,
    ];
    expect(products({ inputs: qkv, nodes: nodes(2) })).toEqual(["gemm", "gemm"]);
    expect(products({ inputs: qkv, nodes: nodes(2), opset: 11 })).toEqual(["gemm", "gemm"]);
    expect(products({ inputs: qkv, nodes: nodes(3), opset: 11 })).toEqual(["n×4/4 5×7 8/16"]);
  });
});
