import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { attention, conv, linear } from "../../fixtures/layers.ts";
import type { Finding } from "../../src/lint/result.ts";
import { findingsIn, type LintOptions } from "./lint.ts";

function find(build: (graph: GraphBuilder) => void, options?: LintOptions): Finding[] {
  const bytes = model({ name: "test", opset: 23, irVersion: 10 }, build);
  return findingsIn(bytes, options).filter(({ code }) => code === "TC402");
}

const nodes = (found: readonly Finding[]) => found.map(({ data }) => data["nodes"]);

/** [1, 256, 768] to [1, 12, 256, 64]. */
function heads(graph: GraphBuilder, x: string): string {
  const shape = graph.weight([4], { dtype: "int64", values: [1, 256, 12, 64] });
  return graph.node("Transpose", [graph.node("Reshape", [x, shape])], { perm: [0, 2, 1, 3] });
}

const input = (graph: GraphBuilder, name = "x") => graph.input(name, [1, 256, 768]);
const project = (graph: GraphBuilder, x: string, name: string) => linear(graph, x, 768, 768, { name });

describe("TC402", () => {
  it("finds queries, keys and values of an attention that is written out, biases between", () => {
    const found = find((graph) => {
      const x = input(graph);
      const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) =>
        heads(graph, graph.node("Add", [project(graph, x, name), graph.weight([768])])),
      );
      graph.output(attention(graph, q, k, v, 64));
    });
    expect(nodes(found)).toEqual([["q", "k", "v"]]);
    expect(found[0]?.data).toMatchObject({ role: "attention", total: 2304 });
  });

  it("takes keys and values of each layer that reads one context by themselves", () => {
    const found = find((graph) => {
      const [x, context] = [input(graph), input(graph, "context")];
      for (const layer of ["a", "b"]) {
        const q = heads(graph, project(graph, x, `${layer}.q`));
        const [k = "", v = ""] = ["k", "v"].map((name) =>
          heads(graph, project(graph, context, `${layer}.${name}`)),
        );
        graph.output(attention(graph, q, k, v, 64));
      }
    });
    expect(nodes(found)).toEqual([
      ["a.k", "a.v"],
      ["b.k", "b.v"],
    ]);
  });

  it("finds gate and up, whatever activation the gate has", () => {
    const mlp = (activate: (graph: GraphBuilder, gate: string) => string) =>
      find((graph) => {
        const x = input(graph);
        const [gate, up] = [
          linear(graph, x, 768, 2048, { name: "gate" }),
          linear(graph, x, 768, 2048, { name: "up" }),
        ];
        graph.output(linear(graph, graph.node("Mul", [activate(graph, gate), up]), 2048, 768));
      });
    const silu = mlp((graph, gate) => graph.node("Mul", [gate, graph.node("Sigmoid", [gate])]));
    const gelu = mlp((graph, gate) => graph.node("Gelu", [gate]));
    expect([...nodes(silu), ...nodes(gelu)]).toEqual([
      ["gate", "up"],
      ["gate", "up"],
    ]);
    expect(silu[0]?.data["role"]).toBe("gate");
  });

  it("leaves alone branches of a residual block, and projections of a time embedding", () => {
    const residual = (graph: GraphBuilder) => {
      const x = graph.input("x", [1, 256, 56, 56]);
      const main = conv(graph, x, { channels: 256, filters: 64, kernel: 1, name: "main" });
      const inner = conv(graph, graph.node("Relu", [main]), { channels: 64, filters: 256, name: "inner" });
      const down = conv(graph, x, { channels: 256, filters: 256, kernel: 1, name: "down" });
      graph.output(graph.node("Add", [inner, down]));
    };
    const embedding = (graph: GraphBuilder) => {
      const time = graph.input("time", [1, 768]);
      for (const name of ["a", "b", "c"]) {
        const shift = graph.node("Unsqueeze", [
          project(graph, time, name),
          graph.weight([2], { dtype: "int64", values: [2, 3] }),
        ]);
        const x = graph.input(`x_${name}`, [1, 768, 16, 16]);
        graph.output(conv(graph, graph.node("Add", [x, shift]), { channels: 768, filters: 768 }));
      }
    };
    const added = (graph: GraphBuilder) => {
      const x = input(graph);
      graph.output(graph.node("Add", [project(graph, x, "a"), project(graph, x, "b")]));
    };
    expect([...find(residual), ...find(embedding), ...find(added)]).toEqual([]);
  });

  it("one weight used twice is nothing to merge", () => {
    const found = find((graph) => {
      const [x, w] = [input(graph), graph.weight([768, 768])];
      const [q = "", k = ""] = [0, 1].map(() => heads(graph, graph.node("MatMul", [x, w])));
      graph.output(attention(graph, q, k, heads(graph, input(graph, "values")), 64));
    });
    expect(found).toEqual([]);
  });

  it("is silent where the stack merges them, and where the products are large", () => {
    const qkv = (rows: number, width: number) => (graph: GraphBuilder) => {
      const x = graph.input("x", [1, rows, width]);
      const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) =>
        linear(graph, x, width, width, { name }),
      );
      const count = width / 64;
      graph.output(graph.node("Attention", [q, k, v], { q_num_heads: count, kv_num_heads: count }));
    };
    expect(find(qkv(256, 768), { stack: "tensorrt" })).toEqual([]);
    expect(find(qkv(256, 768), { stack: "tc-runtime" })).toEqual([]);
    expect(find(qkv(256, 768), { stack: "ort-cuda" })).toHaveLength(1);
    expect(find(qkv(16384, 4096)).filter(({ saves }) => (saves?.low ?? 0) > 0)).toEqual([]);
  });
});
