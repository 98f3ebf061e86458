/** Channel shuffles become one Gather where padding goes through them, and stay as they are elsewhere. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { floats, operators } from "./folding.ts";
import { expectSamePadded, fateOf, imageFeed, imageModel, ints, weight } from "./padding.ts";

function shuffle(graph: GraphBuilder, x: string, groups: number, each: number): string {
  const apart = graph.node("Reshape", [x, ints(graph, [0, groups, each, 8, 8])]);
  const turned = graph.node("Transpose", [apart], { perm: [0, 2, 1, 3, 4] });
  return graph.node("Reshape", [turned, ints(graph, [0, -1, 8, 8])]);
}

/** One half goes by, the other through a convolution; both are joined and shuffled. */
function unit(graph: GraphBuilder, x: string): string {
  const [by = "", through = ""] = graph.nodes("Split", [x, ints(graph, [3, 3])], { axis: 1 }, { outputs: 2 });
  const branch = graph.node("Relu", [graph.node("Conv", [through, weight(graph, [3, 3, 1, 1])])]);
  return shuffle(graph, graph.node("Concat", [by, branch], { axis: 1 }), 2, 3);
}

describe("a channel shuffle", () => {
  it("ties no part of what is joined before it to a part of what is cut after it", async () => {
    const bytes = imageModel((graph, h) => unit(graph, unit(graph, unit(graph, h))));
    const padding = await expectSamePadded(bytes, imageFeed);
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
    const types = operators(padding.after);
    expect(types.filter((type) => type === "Gather")).toHaveLength(3);
    expect(types).not.toContain("Transpose");
    expect(types).not.toContain("Reshape");
  });

  it("by other factors than the layers have", async () => {
    const padding = await expectSamePadded(
      imageModel((graph, h) => shuffle(graph, shuffle(graph, h, 3, 2), 2, 3)),
      imageFeed,
    );
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
  });

  it("keeps its nodes where nothing is padded", async () => {
    const bytes = model({ name: "shuffle", opset: 17 }, (graph) => {
      const x = graph.input("x", [1, 6, 8, 8]);
      const positions = graph.node("InstanceNormalization", [x, weight(graph, [6]), weight(graph, [6])]);
      const fixed = graph.node("LRN", [positions], { size: 3 });
      graph.node("LRN", [shuffle(graph, fixed, 2, 3)], { size: 3 }, { outputs: ["y"] });
      graph.output("y");
    });

    const padding = await expectSamePadded(bytes, { x: floats([1, 6, 8, 8]) });
    expect(padding.sizes.size).toBe(0);
    expect(operators(padding.after)).toContain("Transpose");
  });

  it("whose middle is read elsewhere stays with the algebra", async () => {
    const bytes = imageModel((graph, h) => {
      const apart = graph.node("Reshape", [h, ints(graph, [2, 2, 3, 8, 8])]);
      const turned = graph.node("Transpose", [apart], { perm: [0, 2, 1, 3, 4] });
      const mean = graph.node("ReduceMean", [turned], { axes: [1, 2], keepdims: 0 });
      const merged = graph.node("Reshape", [turned, ints(graph, [2, 6, 8, 8])]);
      return graph.node("Add", [merged, graph.node("Unsqueeze", [mean, ints(graph, [1])])]);
    });
    const padding = await expectSamePadded(bytes, imageFeed);
    expect(fateOf(padding, "h", 1)).toMatch(/ReduceMean .* reduces it/);
  });
});
