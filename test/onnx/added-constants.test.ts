/** What a patch adds where there is no place for initializers: Constants, in front. */
import { describe, expect, it } from "vitest";
import { patched } from "../../src/fix/edits.ts";
import type { Graph } from "../../src/ir/model.ts";
import { FreshNames } from "../../src/ir/names.ts";
import { Patch } from "../../src/ir/patch.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import { bytesOfModel, floats as feed, run } from "../passes/folding.ts";
import { float, info, modelBytes, node, tensorType, type types } from "./build.ts";

const one = { dtype: "float32", dims: [1], bytes: new MemoryBytes(encodeNumbers("float32", [1])) } as const;

/** The graph's first node reads a new tensor, which holds 1, as input 1. */
function withOne(model: OpenModel, graph: Graph): OpenModel {
  const patch = new Patch();
  const name = new FreshNames(model).make("one");
  patch.of(graph).added.set(name, one);
  const [first] = graph.nodes;
  if (first === undefined) throw new Error("the graph has no nodes");
  patch.of(graph).nodes.set(first, [{ base: first, inputs: [first.inputs[0]?.name ?? "", name] }]);
  return patched(model, patch, "added.data");
}

async function outputOf(model: OpenModel): Promise<readonly unknown[]> {
  const results = await run(bytesOfModel(model), { x: feed([1]) });
  return Array.from((results.get("y")?.data ?? []) as Float32Array);
}

function branching(irVersion: number): OpenModel {
  const branch = (name: string): types.IGraphProto => ({
    name,
    node: [node("Sub", ["x", "x"], [`${name}_y`])],
    output: [info(`${name}_y`, [1])],
  });
  const attribute = ["then_branch", "else_branch"].map((name) => ({ name, type: 5, g: branch(name) }));
  const condition = { name: "value", type: 4, t: { dims: [], dataType: 9, int32Data: [1] } };
  return modelFromBytes(
    modelBytes(
      {
        node: [
          node("Constant", [], ["c"], { attribute: [condition] }),
          node("If", ["c"], ["y"], { attribute }),
        ],
        input: [info("x", [1])],
        output: [info("y", [1])],
      },
      { irVersion, opsetImport: [{ domain: "", version: irVersion < 4 ? 11 : 17 }] },
    ),
  );
}

function bodyOf(model: OpenModel): Graph {
  const attribute = model.graph.nodes
    .flatMap(({ attributes }) => attributes)
    .find(({ name }) => name === "then_branch")?.value;
  if (attribute?.type !== "graph") throw new Error("the model has no branch");
  return attribute.graph;
}

describe("A tensor added", () => {
  it.each([
    [3, true],
    [8, false],
  ])("to a branch in IR %i is read there", async (irVersion, isConstant) => {
    const before = branching(irVersion);
    expect(await outputOf(before)).toEqual([0]);
    const after = withOne(before, bodyOf(before));
    const [x = 0] = Array.from(feed([1]).data as Float32Array);
    expect(await outputOf(after)).toEqual([Math.fround(x - 1)]);
    const body = bodyOf(after);
    expect(body.nodes.some(({ opType }) => opType === "Constant")).toBe(isConstant);
    // A branch takes no inputs.
    expect(body.inputs).toEqual([]);
  });

  it("to a function's body is a Constant there", async () => {
    const body = {
      domain: "local",
      name: "Same",
      input: ["a"],
      output: ["b"],
      opsetImport: [{ domain: "", version: 17 }],
      node: [node("Sub", ["a", "a"], ["b"])],
    };
    const before = modelFromBytes(
      modelBytes(
        {
          node: [node("Same", ["x"], ["y"], { domain: "local" })],
          input: [{ name: "x", type: tensorType(float, [1]) }],
          output: [info("y", [1])],
        },
        {
          opsetImport: [
            { domain: "", version: 17 },
            { domain: "local", version: 1 },
          ],
          functions: [body],
        },
      ),
    );
    const [definition] = before.functions.values();
    if (definition === undefined) throw new Error("the model has no function");
    const after = withOne(before, definition.graph);
    const [x = 0] = Array.from(feed([1]).data as Float32Array);
    expect(await outputOf(after)).toEqual([Math.fround(x - 1)]);
  });
});
