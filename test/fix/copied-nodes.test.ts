/** @file What a patch copies is not decoded again: the model is the one that reading its bytes gives. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patched } from "../../src/fix/edits.ts";
import type { AttributeValue, Graph, Node } from "../../src/ir/model.ts";
import { Patch } from "../../src/ir/patch.ts";
import { modelFromBytes, type OpenModel, openModel } from "../../src/onnx/open.ts";
import { modelFromSource } from "../../src/onnx/read-model.ts";
import { MemoryBytes } from "../../src/passes/tensors.ts";
import { field } from "../onnx/build.ts";
import { zooModel, zooNames } from "../zoo.ts";

/** All that there is of a graph, without the objects' identities. */
function viewOf({ nodes, values, span, outputs }: Graph): unknown {
  return {
    span,
    outputs: outputs.map(({ id }) => id),
    nodes: nodes.map(viewOfNode),
    values: [...values.values()].map(({ id, name, producer, consumers, declared, initializer }) => ({
      id,
      name,
      producer: producer?.id,
      consumers: consumers.map((node) => node.id),
      // An unknown size is another each time.
      declared: JSON.stringify(declared)?.replace(/\?\d+/g, "?"),
      initializer,
    })),
  };
}

function viewOfNode(node: Node): unknown {
  const { id, name, domain, opType, overload, span } = node;
  const [inputs, outputs] = [node.inputs, node.outputs].map((list) => list.map((value) => value?.id));
  const attributes = node.attributes.map(({ name, value }) => [name, viewOfAttribute(value)]);
  return { id, name, domain, opType, overload, span, inputs, outputs, attributes };
}

function viewOfAttribute(value: AttributeValue): unknown {
  if (value.type === "graph") return viewOf(value.graph);
  return value.type === "graphs" ? value.graphs.map(viewOf) : value;
}

/** Renames, moves and rewrites what `draws` say, so that everything behind has another place. */
function patchOf({ graph }: OpenModel, draws: readonly number[]): Patch {
  const patch = new Patch();
  const { nodes, tensors } = patch.of(graph);
  const draw = (index: number) => draws[index % draws.length] ?? 0;
  for (const [index, node] of graph.nodes.entries()) {
    const base = { base: node };
    if (draw(index) === 1) nodes.set(node, [{ ...base, name: `${node.name}/again` }]);
    if (draw(index) === 2)
      nodes.set(node, [base, { opType: "Identity", name: `n${index}`, inputs: [], outputs: [] }]);
    // Its bytes stand whole in the new node's, which go on behind them.
    const added = new Map([["added", { type: "int", value: index }] as const]);
    if (draw(index) === 3) nodes.set(node, [{ ...base, attributes: added }]);
  }
  for (const [index, { name, initializer }] of [...graph.values.values()].entries())
    if (initializer !== undefined && draw(index) === 1)
      tensors.set(name, { dtype: "int8", dims: [1], bytes: new MemoryBytes(Uint8Array.of(1)) });
  return patch;
}

function expectAsRead(after: OpenModel): void {
  const read = modelFromSource(after.source, after.files);
  expect(viewOf(after.graph)).toEqual(viewOf(read.graph));
  expect([after.nodeCount, after.valueCount]).toEqual([read.nodeCount, read.valueCount]);
  for (const [index, node] of read.graph.nodes.entries()) {
    const same = after.graph.nodes[index];
    if (same !== undefined) expect(after.reader.nodeMetadata(same)).toEqual(read.reader.nodeMetadata(node));
  }
}

describe("A patched model", () => {
  it("is what reading its bytes gives, patched once and again", () => {
    const draws = fc.array(fc.nat(4), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.constantFrom(...zooNames), draws, draws, (name, first, second) => {
        using model = openModel(zooModel(name));
        const once = patched(model, patchOf(model, first), "a.data");
        expectAsRead(once);
        expectAsRead(patched(once, patchOf(once, second), "b.data"));
      }),
      { numRuns: 60 },
    );
  });

  it("does not decode what was copied: attributes are the same objects", () => {
    using model = openModel(zooModel("resnet50"));
    const after = patched(model, patchOf(model, [0, 0, 1]), "a.data");
    const shared = after.graph.nodes.filter(
      ({ attributes }, index) => attributes === model.graph.nodes[index]?.attributes,
    );
    expect(shared.length).toBeGreaterThan(model.graph.nodes.length / 2);
  });

  it("has the metadata of nodes that were copied", () => {
    const metadata = field(9, field(1, "source"), field(2, "net.py:7"));
    const copied = field(1, field(1, "x"), field(2, "y"), field(4, "Relu"), metadata);
    const changed = field(1, field(1, "y"), field(2, "z"), field(3, "last"), field(4, "Relu"));
    const graph = field(7, copied, changed, field(11, field(1, "x")), field(12, field(1, "z")));
    const model = modelFromBytes(graph);
    const [, last] = model.graph.nodes;
    const patch = new Patch();
    if (last !== undefined) patch.of(model.graph).nodes.set(last, [{ base: last, name: "renamed" }]);
    const after = patched(model, patch, "a.data");
    expectAsRead(after);
    const [first] = after.graph.nodes;
    expect(first && [...after.reader.nodeMetadata(first)]).toEqual([["source", "net.py:7"]]);
  });
});
