/** What looks as if it could be padded, and must not be. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { expectSamePadded, fateOf, padEverything, rowsFeed, rowsModel, weight } from "./padding.ts";

const options = { name: "safety", opset: 17 };

describe("what only looks safe", () => {
  it("is blocked: weights that callers may override", () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [4, 7]);
      const w = graph.weight([7, 6], { name: "w", values: Array.from({ length: 42 }, (_, at) => at) });
      graph.input("w", [7, 6]);
      graph.node(
        "MatMul",
        [graph.node("MatMul", [x, w], {}, { outputs: ["h"] }), weight(graph, [6, 3])],
        {},
        { outputs: ["y"] },
      );
      graph.output("y");
    });
    expect(fateOf(padEverything(modelFromBytes(bytes)), "h", 1)).toMatch(/callers may override/);
  });

  it("is blocked: weights that are an output as well", () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [4, 7]);
      const w = graph.weight([7, 6], { name: "w", values: Array.from({ length: 42 }, (_, at) => at) });
      graph.node("MatMul", [x, w], {}, { outputs: ["h"] });
      graph.output("h");
      graph.output("w", "float32", [7, 6]);
    });
    expect(fateOf(padEverything(modelFromBytes(bytes)), "h", 1)).toMatch(
      /an output of the model that nothing computes/,
    );
  });

  it("is blocked: two operands that are both nonzero in padded lanes", async () => {
    const bytes = rowsModel((g, h) => {
      const gate = g.node("Sigmoid", [h]);
      return g.node("MatMul", [g.node("MatMul", [gate, g.node("Transpose", [gate])]), h]);
    });
    const padding = await expectSamePadded(bytes, rowsFeed);
    expect(fateOf(padding, "h", 1)).toMatch(/neither operand is certain to be zero/);
  });

  it("is blocked: what a subgraph reads", async () => {
    const bytes = rowsModel((g, h) => {
      const branch = (prefix: string, type: string) => {
        const inner = g.inner(prefix);
        inner.node(type, [h], {}, { outputs: [`${prefix}_y`] });
        inner.output(`${prefix}_y`);
        return { graph: inner };
      };
      const condition = g.weight([], { dtype: "bool", values: [1] });
      return g.node("If", [condition], { then_branch: branch("a", "Relu"), else_branch: branch("b", "Neg") });
    });
    expect(fateOf(await expectSamePadded(bytes, rowsFeed), "h", 1)).toMatch(/read inside a subgraph/);
  });
});

describe("what only looks unsafe", () => {
  it("is padded: initializers that IR 3 lists among the inputs", async () => {
    const bytes = model({ ...options, opset: 9, irVersion: 3 }, (graph) => {
      const x = graph.input("x", [4, 7]);
      const values = Array.from({ length: 42 }, (_, at) => at / 42);
      for (const [name, dims] of [
        ["w", [7, 6]],
        ["v", [6, 7]],
      ] as const) {
        graph.weight(dims, { name, values });
        graph.input(name, dims);
      }
      const h = graph.node("MatMul", [x, "w"], {}, { outputs: ["h"] });
      graph.node("MatMul", [h, "v"], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = await expectSamePadded(bytes, rowsFeed);
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
    const declared = padding.after.graph.values.get("w")?.declared;
    expect(declared?.kind === "tensor" && declared.shape?.[1]).toBe(fateOf(padding, "h", 1));
  });
});
