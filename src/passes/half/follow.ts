/** @file Walks from a value to what reads it. */
import type { Value } from "../../ir/model.ts";
import { carriesElements, traitsOf } from "../../ops/ask.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";

/** FP32 outputs of a node. */
export function outputsOf({ node, outputs }: FloatNode, graph: FloatGraph): FloatValue[] {
  return node.outputs.flatMap((value, position) => {
    const found = value !== undefined && outputs[position] !== "other" ? graph.values.get(value) : undefined;
    return found ?? [];
  });
}

/** FP32 inputs of a node, omitted ones left out. */
export function inputsOf({ node, inputs }: FloatNode, graph: FloatGraph): FloatValue[] {
  return node.inputs.flatMap((value, position) => {
    const found = value !== undefined && inputs[position] !== "other" ? graph.values.get(value) : undefined;
    return found ?? [];
  });
}

/** Every node that reads a value, once. */
export function readersOf({ readers }: FloatValue): Set<FloatNode> {
  return new Set(readers.map(({ user }) => user));
}

/** What a value is, behind nodes that only move it. */
export function originOf(value: Value): Value {
  let origin = value;
  for (let step = 0; step < 32; step++) {
    const { producer } = origin;
    if (producer === undefined || !carriesElements(producer) || traitsOf(producer)?.scale === "all") break;
    const [source] = producer.inputs;
    if (source === undefined) break;
    origin = source;
  }
  return origin;
}
