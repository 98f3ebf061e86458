/** Padding of the depth of heads through attention, in one operator and written out, against ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { type Attributes, type GraphBuilder, model } from "../../fixtures/builder.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { paddedWork } from "../../src/passes/align/padded.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { settingsFor } from "../fix/models.ts";
import { type Feeds, floats } from "./folding.ts";
import { expectSamePadded, fateOf, ints, type Padding, padEverything, weight } from "./padding.ts";

const options = { name: "heads", opset: 23, irVersion: 10, domains: { "com.microsoft": 1 } };
const microsoft = { domain: "com.microsoft" };

const [batch, length, hidden, heads, depth] = [2, 5, 9, 2, 3] as const;
const feed: Feeds = { x: floats([batch, length, hidden]) };

/** x through a projection to `width` columns, named. */
function project(graph: GraphBuilder, x: string, width: number, name: string): string {
  const product = graph.node("MatMul", [x, weight(graph, [hidden, width], width)]);
  return graph.node("Add", [product, weight(graph, [width])], {}, { outputs: [name] });
}

/** x to queries, keys and values, through `attend`, and back by an output projection. */
function attentionModel(
  attend: (graph: GraphBuilder, q: string, k: string, v: string) => string,
  [queries, keys, values]: readonly [number, number, number],
  rows = queries,
): Uint8Array {
  return model(options, (graph) => {
    const x = graph.input("x", [batch, length, hidden]);
    const [q, k, v] = [
      project(graph, x, queries, "q"),
      project(graph, x, keys, "k"),
      project(graph, x, values, "v"),
    ];
    graph.node("MatMul", [attend(graph, q, k, v), weight(graph, [rows, 4])], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

/** The padded scale is the one of the true depth. */
function scaleOf({ after }: Padding, type: string): number | undefined {
  const node = after.graph.nodes.find(({ opType }) => opType === type);
  const value = node?.attributes.find(({ name }) => name === "scale")?.value;
  return value?.type === "float" ? value.value : undefined;
}

function expectPadded(padding: Padding, names: readonly string[]): void {
  for (const name of names) expect(fateOf(padding, name, -1), name).toBeTypeOf("number");
}

/** What the cost model is told of the products of `type`, padded. */
function worksOf(bytes: Uint8Array, { relations, sizes }: Padding, type: string) {
  const { products } = priceModel(modelFromBytes(bytes), settingsFor());
  const named = products.filter(({ node }) => node.opType === type);
  return named.map((product) => {
    const node = relations.scope.graph.nodes.find(({ name }) => name === product.node.name);
    if (node === undefined) throw new Error(`no ${type} of that name`);
    return paddedWork({ ...product, node }, relations, sizes, new Map());
  });
}

const implicit = Math.fround(1 / Math.sqrt(depth));

describe("MultiHeadAttention", () => {
  const width = heads * depth;

  it.each([
    ["an implicit scale", {}, implicit],
    ["a scale of its own", { scale: { float: 0.37 } }, Math.fround(0.37)],
    ["a mask of later keys", { unidirectional: 1 }, implicit],
  ] as const)("%s", async (_, attributes: Attributes, scale) => {
    const bytes = attentionModel(
      (graph, q, k, v) =>
        graph.node("MultiHeadAttention", [q, k, v], { num_heads: heads, ...attributes }, microsoft),
      [width, width, width],
    );
    const padding = await expectSamePadded(bytes, feed);
    expectPadded(padding, ["q", "k", "v"]);
    expect(scaleOf(padding, "MultiHeadAttention")).toBeCloseTo(scale, 7);
  });

  it("values of another depth, a bias of all three", async () => {
    const values = heads * 4;
    const bytes = attentionModel(
      (graph, q, k, v) => {
        const bias = weight(graph, [2 * width + values]);
        return graph.node("MultiHeadAttention", [q, k, v, bias], { num_heads: heads }, microsoft);
      },
      [width, width, values],
      values,
    );
    const padding = await expectSamePadded(bytes, feed);
    expectPadded(padding, ["q", "k", "v"]);
    expect(fateOf(padding, "v", -1)).not.toBe(fateOf(padding, "q", -1));
  });

  it("a cache goes in and out", async () => {
    const bytes = attentionModel(
      (graph, q, k, v) => {
        const past = ["past_k", "past_v"].map((name) => graph.input(name, [batch, heads, 3, depth]));
        const outputs = ["h", "present_k", "present_v"];
        const inputs = [q, k, v, "", "", "", ...past];
        graph.nodes("MultiHeadAttention", inputs, { num_heads: heads }, { ...microsoft, outputs });
        for (const name of outputs.slice(1)) graph.output(name);
        return "h";
      },
      [width, width, width],
    );
    const caches = {
      past_k: floats([batch, heads, 3, depth], 5),
      past_v: floats([batch, heads, 3, depth], 6),
    };
    const padding = await expectSamePadded(bytes, { ...feed, ...caches });
    expectPadded(padding, ["q", "past_k", "present_v"]);
  });

  it("is priced at the padded depth", async () => {
    const bytes = attentionModel(
      (graph, q, k, v) => graph.node("MultiHeadAttention", [q, k, v], { num_heads: heads }, microsoft),
      [width, width, width],
    );
    const padding = await expectSamePadded(bytes, feed);
    const padded = Number(fateOf(padding, "q", -1));
    expect(worksOf(bytes, padding, "MultiHeadAttention")).toMatchObject([
      { kind: "attention", heads, headDim: padded / heads, valueHeadDim: padded / heads },
    ]);
  });
});

describe("GroupQueryAttention", () => {
  const [queryHeads, keyHeads] = [4, 2];
  const attributes = { num_heads: queryHeads, kv_num_heads: keyHeads };
  // ONNX Runtime takes depths that are multiples of 8 and no others, so that these tests pad by multiples of 8.
  const lengths = (graph: GraphBuilder) => [
    graph.weight([batch], { dtype: "int32", values: [length - 1, length - 1] }),
    graph.weight([1], { dtype: "int32", values: [length] }),
  ];

  it("queries share keys", async () => {
    const bytes = attentionModel(
      (graph, q, k, v) =>
        graph.node("GroupQueryAttention", [q, k, v, "", "", ...lengths(graph)], attributes, {
          ...microsoft,
          outputs: ["h", "present_k", "present_v"],
        }),
      [queryHeads * 8, keyHeads * 8, keyHeads * 8],
    );
    const padding = await expectSamePadded(bytes, feed, 1e-5, 8);
    expectPadded(padding, ["q", "k", "v", "h", "present_k"]);
    expect(scaleOf(padding, "GroupQueryAttention")).toBeCloseTo(1 / Math.sqrt(8), 7);
  });

  it("queries, keys and values in one", async () => {
    const width = (queryHeads + 2 * keyHeads) * 8;
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [batch, length, hidden]);
      const q = project(graph, x, width, "qkv");
      const inputs = [q, "", "", "", "", ...lengths(graph)];
      const outputs = ["h", "present_k", "present_v"];
      graph.nodes("GroupQueryAttention", inputs, attributes, { ...microsoft, outputs });
      graph.node("MatMul", ["h", weight(graph, [queryHeads * 8, 4])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expectPadded(await expectSamePadded(bytes, feed, 1e-5, 8), ["qkv", "h"]);
  });

  it("a rotation inside keeps the depth", async () => {
    const bytes = attentionModel(
      (graph, q, k, v) => {
        const tables = [weight(graph, [length, 8]), weight(graph, [length, 8], 2)];
        const inputs = [q, k, v, "", "", ...lengths(graph), ...tables];
        const outputs = ["h", "present_k", "present_v"];
        return graph.node(
          "GroupQueryAttention",
          inputs,
          { ...attributes, do_rotary: 1 },
          { ...microsoft, outputs },
        );
      },
      [queryHeads * 16, keyHeads * 16, keyHeads * 16],
    );
    const padding = await expectSamePadded(bytes, feed, 1e-5, 8);
    for (const name of ["q", "k", "v"]) expect(fateOf(padding, name, -1)).toContain("rotates pairs");
  });
});

describe("Attention of ai.onnx", () => {
  const width = heads * depth;
  const attributes = { q_num_heads: heads, kv_num_heads: heads };

  it.each([
    ["an implicit scale", {}, implicit],
    ["a scale of its own", { scale: { float: 0.21 } }, Math.fround(0.21)],
    ["later keys masked", { is_causal: 1 }, implicit],
  ] as const)("heads merged, %s", async (_, own: Attributes, scale) => {
    const bytes = attentionModel(
      (graph, q, k, v) => graph.node("Attention", [q, k, v], { ...attributes, ...own }),
      [width, width, width],
    );
    const padding = await expectSamePadded(bytes, feed);
    expectPadded(padding, ["q", "k", "v"]);
    expect(scaleOf(padding, "Attention")).toBeCloseTo(scale, 7);
  });

  it("heads apart, keys shared, a mask", async () => {
    const bytes = attentionModel(
      (graph, q, k, v) => {
        const [queries, keys, values] = [q, k, v].map((each, at) => {
          const shape = ints(graph, [batch, length, at === 0 ? 2 * heads : heads, -1]);
          return graph.node("Transpose", [graph.node("Reshape", [each, shape])], { perm: [0, 2, 1, 3] });
        });
        const mask = weight(graph, [length, length]);
        const h = graph.node("Attention", [queries ?? "", keys ?? "", values ?? "", mask]);
        const back = graph.node("Transpose", [h], { perm: [0, 2, 1, 3] });
        return graph.node("Reshape", [back, ints(graph, [batch, length, -1])]);
      },
      [2 * width, width, width],
    );
    const padding = await expectSamePadded(bytes, feed);
    expectPadded(padding, ["q", "k", "v"]);
    expect(scaleOf(padding, "Attention")).toBeCloseTo(implicit, 7);
  });
});

describe("Attention with its projection inside", () => {
  const width = heads * depth;

  function projected(
    own: Attributes,
    widths: readonly [number, number, number],
    more: (graph: GraphBuilder) => { inputs: string[]; outputs: string[] },
  ) {
    const [q, k, v] = widths;
    return model(options, (graph) => {
      const x = graph.input("x", [batch, length, hidden]);
      const e = graph.node("MatMul", [x, weight(graph, [hidden, 7])], {}, { outputs: ["e"] });
      const columns = q + k + v;
      const { inputs, outputs } = more(graph);
      const operands = [
        e,
        weight(graph, [7, columns], 2),
        graph.weight([columns], {
          name: "bias",
          values: Array.from({ length: columns }, (_, at) => at / 50),
        }),
        ...inputs,
      ];
      const attributes = { num_heads: heads, ...own };
      graph.nodes("Attention", operands, attributes, { ...microsoft, outputs: ["h", ...outputs] });
      graph.node("MatMul", ["h", weight(graph, [v, 4])], {}, { outputs: ["y"] });
      graph.output("y");
      for (const name of outputs) graph.output(name);
    });
  }

  it("equal widths", async () => {
    const bytes = projected({}, [width, width, width], () => ({ inputs: [], outputs: [] }));
    const padding = await expectSamePadded(bytes, feed);
    expectPadded(padding, ["e", "bias", "h"]);
    expect(scaleOf(padding, "Attention")).toBeCloseTo(implicit, 7);
    const padded = Number(fateOf(padding, "h", -1));
    expect(worksOf(bytes, padding, "Attention")).toMatchObject([
      { kind: "gemm", n: 3 * padded, k: fateOf(padding, "e", -1) },
      { kind: "attention", headDim: padded / heads },
    ]);
  });

  it("widths of their own", async () => {
    const values = heads * 5;
    const own = { qkv_hidden_sizes: [width, width, values] };
    const bytes = projected(own, [width, width, values], () => ({ inputs: [], outputs: [] }));
    expectPadded(await expectSamePadded(bytes, feed), ["e", "bias", "h"]);
  });

  it("a cache of keys and values in one", async () => {
    const shape = [2, batch, heads, 3, depth];
    const bytes = projected({ unidirectional: 1 }, [width, width, width], (graph) => ({
      inputs: ["", graph.input("past", shape)],
      outputs: ["present"],
    }));
    const padding = await expectSamePadded(bytes, { ...feed, past: floats(shape, 3) });
    expectPadded(padding, ["past", "bias", "h", "present"]);
  });
});

describe("what stays as it is", () => {
  it("an operand that holds queries, keys and values", () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [batch, length, heads, 3, depth]);
      graph.node("MultiHeadAttention", [x], { num_heads: heads }, { ...microsoft, outputs: ["y"] });
      graph.output("y");
    });
    const padding = padEverything(modelFromBytes(bytes));
    for (const axis of [0, 1, 2, 3, 4]) expect(fateOf(padding, "x", axis)).toContain("from one operand");
    expect(padding.sizes.size).toBe(0);
  });

  it("a scale where nothing is padded", () => {
    const width = heads * depth;
    const bytes = model(options, (graph) => {
      const operands = ["q", "k", "v"].map((name) => graph.input(name, [batch, length, "width"]));
      graph.node("MultiHeadAttention", operands, { num_heads: heads }, { ...microsoft, outputs: ["h"] });
      graph.node("MatMul", ["h", weight(graph, [width, 4])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = padEverything(modelFromBytes(bytes));
    expect(scaleOf(padding, "MultiHeadAttention")).toBeUndefined();
    expect(fateOf(padding, "h", -1)).toBeTypeOf("string");
  });
});

describe("attention written out", () => {
  it("keeps a scale that is a constant of its own", async () => {
    const width = heads * depth;
    const bytes = attentionModel(
      (graph, q, k, v) => {
        const split = ints(graph, [batch, length, heads, -1]);
        const apart = (each: string, perm: readonly number[]) =>
          graph.node("Transpose", [graph.node("Reshape", [each, split])], { perm });
        const scores = graph.node("MatMul", [apart(q, [0, 2, 1, 3]), apart(k, [0, 2, 3, 1])]);
        const scaled = graph.node("Mul", [scores, graph.scalar(1 / Math.sqrt(depth))]);
        const h = graph.node("MatMul", [graph.node("Softmax", [scaled]), apart(v, [0, 2, 1, 3])]);
        const back = graph.node("Transpose", [h], { perm: [0, 2, 1, 3] });
        return graph.node("Reshape", [back, ints(graph, [batch, length, -1])]);
      },
      [width, width, width],
    );
    expectPadded(await expectSamePadded(bytes, feed), ["q", "k", "v"]);
  });
});
