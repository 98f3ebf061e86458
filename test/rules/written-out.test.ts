import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenGroupNorm } from "../../fixtures/layers.ts";
import type { Finding } from "../../src/lint/result.ts";
import { findingsIn, type LintOptions } from "./lint.ts";

function find(code: string, build: (graph: GraphBuilder) => void, options?: LintOptions): Finding[] {
  return findingsIn(model({ name: "test" }, build), options).filter((finding) => finding.code === code);
}

describe("TC407", () => {
  const sizes = [8, 320, 64, 64];
  const norm =
    (then: (graph: GraphBuilder, y: string) => string = (_, y) => y, groups = 32) =>
    (graph: GraphBuilder) =>
      graph.output(then(graph, writtenGroupNorm(graph, graph.input("x", sizes), sizes, groups)));
  const silu = (graph: GraphBuilder, y: string) => graph.node("Mul", [graph.node("Sigmoid", [y]), y]);

  it("saves the passes behind the normalization, not the normalization", () => {
    const [finding, ...others] = find("TC407", norm());
    expect(others).toEqual([]);
    expect(finding?.data).toEqual({ groups: 32, nodes: 5, kernels: 3 });
    expect(finding?.saves?.low).toBeGreaterThan(0);
    expect(finding?.saves?.share).toBeLessThan(0.75);
  });

  it("is silent where the stack makes one kernel of it, or needs the pass anyway", () => {
    expect(find("TC407", norm(), { stack: "tensorrt" })).toEqual([]);
    expect(find("TC407", norm(), { stack: "tc-runtime" })).toEqual([]);
    expect(find("TC407", norm(), { stack: "ort-cuda" })).toHaveLength(1);
    expect(find("TC407", norm(silu), { stack: "ort-cuda" })).toEqual([]);
    expect(find("TC407", norm(silu))).toHaveLength(1);
  });

  it("leaves an InstanceNormalization alone that stands for itself", () => {
    const read = (graph: GraphBuilder) => {
      const [x, ones] = [graph.input("x", [8, 32, 4096]), graph.weight([32])];
      const plain = graph.node("InstanceNormalization", [x, ones, graph.weight([32])]);
      graph.output(graph.node("Mul", [plain, graph.weight([32, 1])]));
    };
    expect(find("TC407", read)).toEqual([]);
  });
});
