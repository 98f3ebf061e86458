import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { Neighbours } from "../../src/lint/neighbours.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";

describe("Products around a node", () => {
  it("are looked for with one question about each node of a long chain", () => {
    const many = 2000;
    const { root } = inferFacts(
      modelFromBytes(
        model({ name: "chain", opset: 17 }, (graph) => {
          let last = graph.input("x", [2, 3, 4]);
          for (let at = 0; at < many; at++) last = graph.node("Transpose", [last], { perm: [0, 2, 1] });
          graph.output(last);
        }),
      ),
    );
    let asked = 0;
    const get = () => {
      asked += 1;
      return undefined;
    };
    const neighbours = new Neighbours(root, { get });
    for (const node of root.graph.nodes)
      expect([neighbours.before(node), neighbours.behind(node)]).toEqual([[], []]);
    expect(asked).toBe(many);
  });
});
