import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { findingsIn, type LintOptions } from "./lint.ts";

const find = (build: (graph: GraphBuilder) => void, options?: LintOptions) =>
  findingsIn(model({ name: "test" }, build), options).filter(({ code }) => code === "TC405");

/** Layers of equal width, `passes` elementwise nodes behind each. */
const mlp =
  (batch: number | string, width: number, passes = 1) =>
  (graph: GraphBuilder) => {
    let x = graph.input("x", [batch, width]);
    for (const name of ["a", "b", "c"]) {
      x = linear(graph, x, width, width, { name });
      for (let count = 0; count < passes; count++) x = graph.node("Relu", [x]);
    }
    graph.output(x);
  };

describe("TC405", () => {
  it("says what the products wait for", () => {
    const [finding, ...others] = find(mlp(1, 512));
    expect(others).toEqual([]);
    expect(finding?.data).toMatchObject({ count: 3, products: 3, batch: 1 });
    expect(finding?.message).toContain("bound by the latency of few tiles");
    expect(find(mlp(1, 128))[0]?.message).toContain("bound by launches");
    expect(finding?.saves).toBeNull();
  });

  it("is about batches that can change: 1, or left open", () => {
    expect(find(mlp("batch", 512))[0]?.data["batch"]).toBe("open");
    expect(find(mlp(4, 512))).toEqual([]);
  });

  it("prices the whole model at twice the batch where the graph carries it", () => {
    for (const batch of [1, "batch"])
      expect(find(mlp(batch, 512))[0]?.message).toMatch(
        /; twice the batch takes ([\d.]+ µs instead of [\d.]+ µs, [\d.]+ % less a sample|no longer than this one, [\d.]+ µs) \(6 kernels,/,
      );
  });

  it("never says that more work takes less time", () => {
    const said = new Set<string>();
    for (const stack of stackIds)
      for (const width of [96, 130, 256, 257, 384, 511, 512, 700, 1000]) {
        const [{ message = "", data } = {}] = find(mlp(1, width), { stack });
        const [, twice, once] = /takes ([\d.]+) µs instead of ([\d.]+) µs/.exec(message) ?? [];
        if (twice !== undefined) expect(Number(twice), `${stack} ${width}`).toBeGreaterThan(Number(once));
        if (Number(data?.["less"] ?? 0) > 0) expect(Number(data?.["less"])).toBeLessThanOrEqual(50);
        for (const form of ["instead of", "no longer than"]) if (message.includes(form)) said.add(form);
      }
    expect([...said].sort()).toEqual(["instead of", "no longer than"]);
  });

  it("gives no price where the graph holds on to its batch", () => {
    const [finding] = find((graph) => {
      const x = linear(graph, graph.input("x", [1, 512]), 512, 512, { name: "a" });
      const flat = graph.node("Reshape", [x, graph.weight([2], { dtype: "int64", values: [1, 512] })]);
      graph.output(linear(graph, flat, 512, 512, { name: "b" }));
    });
    expect(finding?.message).toContain("; twice the batch is nearly free for them (");
  });

  it("leaves alone products that wait for their weights", () => {
    expect(find(mlp(1, 8192))).toEqual([]);
  });

  it("leaves alone products that an odd size slows, with tiles for every SM", () => {
    const head = (graph: GraphBuilder) =>
      graph.output(linear(graph, graph.input("x", [1, 64, 768]), 768, 50257, { name: "head" }));
    expect(find(head)).toEqual([]);
  });

  it("leaves alone models whose time is elsewhere", () => {
    expect(find(mlp(1, 512, 6))).toEqual([]);
  });
});
