/** @file A stretch of one axis, however it is written: by a Slice in steps of 1, or as a part of a Split. */
import { intsAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { PatternGraph } from "./graph.ts";

export interface Part {
  /** What it is a part of: all of it along the other axes. */
  readonly x: Value;
  readonly axis: number;
  readonly start: number;
  readonly size: number;
  readonly node: Node;
}

/** Undefined unless the value is shorter than what it is cut from along exactly one axis. */
export function partOf(value: Value | undefined, graph: PatternGraph): Part | undefined {
  const node = graph.producerOf(value);
  const [x] = node?.inputs ?? [];
  const [whole, own] = [graph.shape(x), graph.shape(value)];
  if (node === undefined || x === undefined || whole === undefined || own?.length !== whole.length)
    return undefined;
  const [axis, ...others] = [...whole.keys()].filter((at) => own[at] !== whole[at]);
  if (axis === undefined || others.length > 0) return undefined;
  const start = startOf(node, value, axis, whole, graph);
  const size = own[axis] ?? 0;
  return start === undefined ? undefined : { x, axis, start, size, node };
}

/** Where a Slice in steps of 1, or a part of a Split, begins. */
function startOf(
  node: Node,
  value: Value | undefined,
  axis: number,
  whole: readonly number[],
  graph: PatternGraph,
): number | undefined {
  const [, listed, , axes, steps] = node.inputs;
  const size = whole[axis] ?? 0;
  switch (operatorOf(node)) {
    case "Split": {
      const before = node.outputs.slice(0, node.outputs.indexOf(value));
      return before.reduce((start, output) => start + (graph.shape(output)?.[axis] ?? Number.NaN), 0);
    }
    case "Slice": {
      const isOld = graph.opset < 10;
      const of = (name: string, input: Value | undefined) =>
        isOld ? intsAttributeIn(node, name, graph.scope) : graph.elements(input);
      const starts = of("starts", listed);
      const hasAxes = isOld ? intsAttributeIn(node, "axes", graph.scope) !== undefined : axes !== undefined;
      const named = hasAxes ? of("axes", axes) : starts?.map((_, at) => at);
      const isPlain = isOld || steps === undefined || graph.elements(steps)?.every((step) => step === 1);
      const at = named?.findIndex((each) => (each < 0 ? each + whole.length : each) === axis) ?? -1;
      const start = starts?.[at];
      if (start === undefined || !isPlain) return undefined;
      return Math.min(size, Math.max(0, start < 0 ? start + size : start));
    }
    default:
      return undefined;
  }
}
