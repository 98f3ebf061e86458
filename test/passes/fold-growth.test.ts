/** Folding computes once what is computed twice, and does not make a file larger. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { expectSame, floats, noise, operators } from "./folding.ts";

const options = { name: "growth", opset: 17 };
const dims = [32, 32];
/** What a small constant and its name may add. */
const slack = 256;

async function folded(build: (graph: GraphBuilder) => readonly string[]) {
  const bytes = model(options, (graph) => {
    graph.input("x", dims);
    for (const name of build(graph)) graph.output(name);
  });
  const { before, after } = await expectSame(bytes, { x: floats(dims) }, 0);
  expect(after.bytes).toBeLessThanOrEqual(before.bytes + slack);
  return after;
}

const weight = (graph: GraphBuilder) => graph.weight(dims, { values: noise(1024, 1) });
const int64 = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

/** The sum of x and all the others. */
function sum(graph: GraphBuilder, parts: readonly string[]): string[] {
  return [parts.reduce((total, part) => graph.node("Add", [total, part]), "x")];
}

describe("One weight read through many nodes", () => {
  it("is turned once, as the weight itself", async () => {
    const after = await folded((graph) => {
      const w = weight(graph);
      return sum(
        graph,
        Array.from({ length: 17 }, () => graph.node("Transpose", [w], { perm: [1, 0] })),
      );
    });
    expect(operators(after)).toEqual(new Array(17).fill("Add"));
    expect(after.graph.nodes.every(({ inputs }) => inputs[1] === after.graph.nodes[0]?.inputs[1])).toBe(true);
  });

  it("stays one where it is turned in several ways, or read as it is as well", async () => {
    const several = await folded((graph) => {
      const w = weight(graph);
      const twice = graph.node("Concat", [w, w], { axis: 0 });
      const halves = graph.nodes("Split", [twice], { axis: 0 }, { outputs: 2 });
      return sum(graph, [graph.node("Neg", [w]), graph.node("Transpose", [w]), ...halves]);
    });
    expect(operators(several)).toEqual(expect.arrayContaining(["Neg", "Transpose"]));
    const both = await folded((graph) => {
      const w = weight(graph);
      return sum(graph, [w, graph.node("Transpose", [w])]);
    });
    expect(operators(both)).toEqual(["Transpose", "Add", "Add"]);
  });

  it("is turned where nothing else needs it", async () => {
    const after = await folded((graph) => sum(graph, [graph.node("Transpose", [weight(graph)])]));
    expect(operators(after)).toEqual(["Add"]);
  });
});

describe("A constant of many elements that few numbers make", () => {
  const makers: Readonly<Record<string, (graph: GraphBuilder) => string>> = {
    Expand: (graph) => graph.node("Expand", [graph.scalar(3), int64(graph, ...dims)]),
    Tile: (graph) =>
      graph.node("Tile", [graph.weight([1, 32], { values: noise(32, 2) }), int64(graph, 32, 1)]),
    ConstantOfShape: (graph) => graph.node("ConstantOfShape", [int64(graph, ...dims)]),
    Range: (graph) => {
      const numbers = [0, 1024, 1].map((value) => graph.scalar(value, "int64"));
      const range = graph.node("Cast", [graph.node("Range", numbers)], { to: 1 });
      return graph.node("Reshape", [range, int64(graph, ...dims)]);
    },
  };

  it.each(Object.entries(makers))("of %s is still computed", async (type, make) => {
    const after = await folded((graph) => {
      const made = make(graph);
      return sum(graph, [made, graph.node("Neg", [made])]);
    });
    expect(operators(after).filter((operator) => operator === type)).toHaveLength(1);
  });
});

describe("Nodes that are alike", () => {
  it("are one, with all that follows from them, whatever their parameters are called", async () => {
    const after = await folded((graph) => {
      const branch = () => {
        const part = graph.node("Slice", ["x", int64(graph, 0), int64(graph, 16), int64(graph, 0)]);
        return graph.node("Softmax", [graph.node("Elu", [part], { alpha: { float: 0.5 } })], { axis: -1 });
      };
      const both = graph.node("Concat", [branch(), branch()], { axis: 0 });
      return sum(graph, [both]);
    });
    expect(operators(after)).toEqual(["Slice", "Elu", "Softmax", "Concat", "Add"]);
  });

  it("stay apart where an attribute, an operand or the order of operands differs", async () => {
    const after = await folded((graph) => {
      const elu = [0.5, 0.25, -0, 0].map((alpha) => graph.node("Elu", ["x"], { alpha: { float: alpha } }));
      const w = weight(graph);
      return sum(graph, [...elu, graph.node("Sub", ["x", w]), graph.node("Sub", [w, "x"])]);
    });
    expect(operators(after).filter((type) => type !== "Add")).toEqual([
      "Elu",
      "Elu",
      "Elu",
      "Elu",
      "Sub",
      "Sub",
    ]);
  });

  it("stay two where both are outputs, and are one where one is", async () => {
    const both = await folded((graph) => [graph.node("Relu", ["x"]), graph.node("Relu", ["x"])]);
    expect(operators(both)).toEqual(["Relu", "Relu"]);
    const second = await folded((graph) => {
      const inner = graph.node("Relu", ["x"]);
      const outer = graph.node("Relu", ["x"]);
      return [...sum(graph, [inner]), outer];
    });
    expect(operators(second)).toEqual(["Relu", "Add"]);
  });

  it("stay two where they draw numbers", async () => {
    const after = await folded((graph) => {
      const drawn = () => graph.node("RandomNormalLike", ["x"], { seed: { float: 3 } });
      const zero = (name: string) => graph.node("Mul", [name, graph.scalar(0)]);
      return sum(graph, [zero(drawn()), zero(drawn())]);
    });
    expect(operators(after).filter((type) => type === "RandomNormalLike")).toHaveLength(2);
  });
});
