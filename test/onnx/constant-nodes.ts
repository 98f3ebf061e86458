/** @file The same model, with what it stores as initializers stored in Constant nodes, as exporters of old had it. */
import { onnx, type types } from "./build.ts";

/** All initializers, those of subgraphs too; data files stay where they are. */
export function withConstantNodes(bytes: Uint8Array): Uint8Array {
  const model = onnx.ModelProto.decode(bytes);
  if (model.graph) moveToNodes(model.graph);
  return onnx.ModelProto.encode(model).finish();
}

function moveToNodes(graph: types.IGraphProto): void {
  const stored = graph.initializer ?? [];
  const names = new Set(stored.map(({ name }) => name));
  for (const { attribute } of graph.node ?? [])
    for (const { g, graphs } of attribute ?? [])
      for (const inner of g ? [g] : (graphs ?? [])) moveToNodes(inner);
  const constants = stored.map(({ name, ...tensor }) => ({
    opType: "Constant",
    output: [name ?? ""],
    attribute: [{ name: "value", type: onnx.AttributeProto.AttributeType.TENSOR, t: tensor }],
  }));
  graph.node = [...constants, ...(graph.node ?? [])];
  graph.input = (graph.input ?? []).filter(({ name }) => !names.has(name));
  graph.initializer = [];
}
