/**
 * @file SiLU written out, x·σ(x) or x·σ(αx), which ONNX Runtime joins (QuickGeluFusion of quick_gelu_fusion.cc, at its default level and for its CUDA
 * provider; ONNX Runtime 1.30 runs yolo's 31 so).
 */
import type { Scope } from "../facts/scope.ts";
import type { Node } from "../ir/model.ts";
import { ConstantValues } from "./constants.ts";
import { chainWork } from "./traffic.ts";
import type { Bound } from "./values.ts";
import { WrittenGraph, type WrittenOut } from "./written-out.ts";

/** Those whose sizes are known. */
export function writtenSilus(scope: Scope, { bindings }: Bound): WrittenOut[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("Sigmoid").flatMap((node) => {
    const nodes = siluAround(node, graph);
    const fused = nodes && chainWork(nodes, scope, ConstantValues.of(scope), bindings);
    return nodes === undefined || fused === undefined ? [] : [{ node, scope, nodes, fused }];
  });
}

function siluAround(sigmoid: Node, graph: WrittenGraph): readonly Node[] | undefined {
  const [inner] = sigmoid.inputs;
  const product = graph.readerOf(sigmoid.outputs[0], "Mul");
  if (inner === undefined || product === undefined) return undefined;
  if (product.inputs.includes(inner)) return graph.closed([sigmoid, product]);
  const scale = graph.makerOf(inner, "Mul");
  const x = scale && graph.variable(scale);
  const factor = scale?.inputs.find((each) => each !== x);
  if (scale === undefined || x === undefined || graph.number(factor) === undefined) return undefined;
  return product.inputs.includes(x) ? graph.closed([scale, sigmoid, product]) : undefined;
}
