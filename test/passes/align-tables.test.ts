/** Rows of tables that indices read: which may be padded, and what becomes of an index that counts from the end. */
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { expectSamePadded, fateOf, ints, type Padding, weight } from "./padding.ts";

const rows = 9;
type Indices = (graph: GraphBuilder, ids: string) => string;

/** Embeds ids [2,5] by a table [9,6] that is the head as well; y [2,5,9]. */
function tied(indices: Indices, more: (graph: GraphBuilder, table: string) => void = () => {}, opset = 17) {
  return model({ name: "tied", opset }, (graph) => {
    const ids = graph.input("ids", [2, 5], "int64");
    const table = weight(graph, [rows, 6]);
    const h = graph.node("Gather", [table, indices(graph, ids)], {}, { outputs: ["h"] });
    graph.node("MatMul", [h, graph.node("Transpose", [table])], {}, { outputs: ["y"] });
    graph.output("y");
    more(graph, table);
  });
}

const ids = (values: readonly number[]) =>
  new Tensor(
    "int64",
    BigInt64Array.from(values, (value) => BigInt(value)),
    [2, 5],
  );
const anywhere = { ids: ids([0, 8, -1, -9, 5, 1, -4, 7, 2, -2]) };

const operators = ({ after }: Padding) => after.graph.nodes.map(({ opType }) => opType);
const count = (padding: Padding, type: string) => operators(padding).filter((each) => each === type).length;

describe("rows of a table", () => {
  it("are padded, and indices that may count from the end then count from the start", async () => {
    const padding = await expectSamePadded(
      tied((_, given) => given),
      anywhere,
    );
    expect(fateOf(padding, "y", 2)).toBeGreaterThan(rows);
    expect(count(padding, "Mod")).toBe(1);
  });

  it.each<[string, Indices]>([
    ["32 bits wide", (graph, given) => graph.node("Cast", [given], { to: 6 })],
    [
      "that the file holds",
      (graph) => graph.weight([2, 5], { dtype: "int64", values: [0, 8, -1, -9, 5, 1, -4, 7, 2, -2] }),
    ],
  ])("are padded under indices %s", async (_, indices) => {
    const padding = await expectSamePadded(tied(indices), anywhere);
    expect(fateOf(padding, "y", 2)).toBeGreaterThan(rows);
    expect(count(padding, "Mod")).toBe(1);
  });

  const bound = (graph: GraphBuilder, value: number) => graph.scalar(value, "int64");
  it.each<[string, Indices]>([
    ["Abs", (graph, given) => graph.node("Abs", [given])],
    ["Clip", (graph, given) => graph.node("Clip", [given, bound(graph, 0), bound(graph, 8)])],
    ["Mod", (graph, given) => graph.node("Mod", [given, bound(graph, rows)])],
    ["Max with a constant", (graph, given) => graph.node("Max", [given, bound(graph, 0)])],
    [
      "a comparison",
      (graph, given) => graph.node("Cast", [graph.node("Greater", [given, bound(graph, 3)])], { to: 7 }),
    ],
    [
      "unsigned bytes",
      (graph, given) =>
        graph.node("Cast", [graph.node("Cast", [graph.node("Abs", [given])], { to: 2 })], { to: 7 }),
    ],
    [
      "a Range, turned and selected from",
      (graph, given) => {
        const length = graph.node("Gather", [graph.node("Shape", [given]), bound(graph, 1)]);
        const range = graph.node("Range", [bound(graph, 0), length, bound(graph, 1)]);
        return graph.node("Expand", [
          graph.node("Unsqueeze", [range, ints(graph, [0])]),
          ints(graph, [2, 5]),
        ]);
      },
    ],
  ])("are padded as they are under indices from %s", async (_, indices) => {
    const feeds = { ids: ids([0, 8, -1, -8, 5, 1, -4, 7, 2, -2]) };
    const before = count(await expectSamePadded(tied(indices), feeds), "Mod");
    const padding = await expectSamePadded(tied(indices), feeds);
    expect(fateOf(padding, "y", 2)).toBeGreaterThan(rows);
    expect(before).toBe(_ === "Mod" ? 1 : 0);
  });

  it.each<[string, Indices]>([
    ["a Clip below zero", (graph, given) => graph.node("Clip", [given, bound(graph, -2), bound(graph, 8)])],
    [
      "a remainder with the sign of the dividend",
      (graph, given) => graph.node("Mod", [given, bound(graph, rows)], { fmod: 1 }),
    ],
    [
      "unsigned 64-bit numbers that wrap around",
      (graph, given) => graph.node("Cast", [graph.node("Cast", [given], { to: 13 })], { to: 7 }),
    ],
    [
      "a Range from below zero",
      (graph, given) => {
        const range = graph.node("Range", [bound(graph, -3), bound(graph, 7), bound(graph, 1)]);
        return graph.node("Max", [
          graph.node("Reshape", [range, ints(graph, [2, 5])]),
          graph.node("Neg", [graph.node("Abs", [given])]),
        ]);
      },
    ],
  ])("are rewritten under indices from %s", async (_, indices) => {
    const padding = await expectSamePadded(tied(indices), anywhere);
    expect(fateOf(padding, "y", 2)).toBeGreaterThan(rows);
    expect(count(padding, "Gather")).toBe(1);
  });

  it("keep their number where the opset has no Mod", async () => {
    const padding = await expectSamePadded(
      tied((_, given) => given, undefined, 9),
      anywhere,
    );
    expect(fateOf(padding, "y", 2)).toMatch(/Gather .* takes positions along it/);
  });

  it.each<[string, (graph: GraphBuilder, table: string) => void]>([
    [
      "taken apart into heads",
      (graph, table) => {
        const apart = graph.node("Reshape", [table, ints(graph, [3, 3, 6])]);
        graph.node("MatMul", [apart, weight(graph, [6, 2])], {}, { outputs: ["z"] });
        graph.output("z");
      },
    ],
    [
      "cut in two",
      (graph, table) => {
        const [head = "", tail = ""] = graph.nodes(
          "Split",
          [table, ints(graph, [4, 5])],
          { axis: 0 },
          { outputs: 2 },
        );
        graph.node("MatMul", [head, weight(graph, [6, 2])], {}, { outputs: ["z"] });
        graph.node("MatMul", [tail, weight(graph, [6, 2])], {}, { outputs: ["w"] });
        for (const name of ["z", "w"]) graph.output(name);
      },
    ],
  ])("keep their number where they are also %s, later in the graph", async (_, more) => {
    const padding = await expectSamePadded(
      tied((_, given) => given, more),
      anywhere,
    );
    expect(fateOf(padding, "y", 2)).toMatch(/Gather .* takes positions along it/);
    expect(fateOf(padding, "h", 2)).toBeGreaterThan(6);
  });
});
