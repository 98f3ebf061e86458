import { expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { FreshNames } from "../../src/ir/names.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";

it("a new name is no value's and no node's: runtimes refuse two nodes of one name", () => {
  const bytes = model({ name: "named" }, (graph) => {
    const h = graph.node(
      "Relu",
      [graph.input("x", [1, 4])],
      {},
      { name: "tc_lint/Transpose/x", outputs: ["h"] },
    );
    graph.output(graph.node("Relu", [h], {}, { outputs: ["y"] }));
  });
  using opened = modelFromBytes(bytes);
  const names = new FreshNames(opened);
  const made = ["tc_lint/Transpose/x", "h", "new", "new"].map((base) => names.make(base));
  expect(made).toEqual(["tc_lint/Transpose/x_1", "h_1", "new", "new_1"]);
});
