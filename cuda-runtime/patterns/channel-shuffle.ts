/**
 * @file A channel shuffle of two halves written out (ShuffleNet): Concat, Reshape to [.., 2, n, ..], Transpose of these two axes, Reshape back.
 * Element 2·i + j of the axis is element i of half j: both halves are read where they are, and the concatenation is never in memory.
 */
import { intAttributeIn, intsAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { channelsLastOrder } from "../ir/view.ts";
import { emitInterleaved } from "../lower/interleave.ts";
import { sameSizes } from "./attention-scores.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";

interface Shuffle {
  readonly halves: readonly [Value, Value];
  readonly axis: number;
  readonly output: Value;
  readonly nodes: readonly Node[];
}

export function recogniseChannelShuffle(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  return graph.nodes().flatMap((node) => {
    const found = operatorOf(node) === "Concat" ? shuffleOf(node, graph) : undefined;
    const nodes = found && graph.closed(found.nodes, found.output);
    if (found === undefined || nodes === undefined) return [];
    const { output } = found;
    return [{ name: "ChannelShuffle", nodes, output, lower: (context) => lowerShuffle(context, found) }];
  });
}

function shuffleOf(concat: Node, graph: PatternGraph): Shuffle | undefined {
  const [first, second, ...more] = concat.inputs;
  const [whole] = concat.outputs;
  const sizes = graph.shape(whole);
  if (first === undefined || second === undefined || more.length > 0 || sizes === undefined) return undefined;
  const named = intAttributeIn(concat, "axis", graph.scope) ?? Number.NaN;
  const axis = named < 0 ? named + sizes.length : named;
  const half = (sizes[axis] ?? 0) / 2;
  const ownSizes = sizes.with(axis, half);
  if (
    ![first, second].every((value) => graph.isFloat(value) && sameSizes(graph.shape(value) ?? [], ownSizes))
  )
    return undefined;
  const [apart, turned, together] = readersInTurn(whole, ["Reshape", "Transpose", "Reshape"], graph);
  const [output] = together?.outputs ?? [];
  if (apart === undefined || turned === undefined || together === undefined || output === undefined)
    return undefined;
  const split = sizes.toSpliced(axis, 1, 2, half);
  const swapped = [...split.keys()].with(axis, axis + 1).with(axis + 1, axis);
  const isShuffle =
    sameSizes(graph.shape(apart.outputs[0]) ?? [], split) &&
    sameSizes(intsAttributeIn(turned, "perm", graph.scope) ?? [], swapped) &&
    sameSizes(graph.shape(output) ?? [], sizes);
  const nodes = [concat, apart, turned, together];
  return isShuffle ? { halves: [first, second], axis, output, nodes } : undefined;
}

/** The operators that read a value one after another, each as the only one, and its first input; fewer where one is another. */
function readersInTurn(
  value: Value | undefined,
  operators: readonly string[],
  graph: PatternGraph,
): readonly Node[] {
  const [operator, ...rest] = operators;
  const reader = graph.onlyReader(value);
  if (operator === undefined || reader === undefined || operatorOf(reader) !== operator) return [];
  return reader.inputs[0] === value ? [reader, ...readersInTurn(reader.outputs[0], rest, graph)] : [];
}

/** Channels stay innermost where they are so in a half. */
function lowerShuffle(context: MacroContext, { halves, axis }: Shuffle): void {
  const [first, second] = [context.view(halves[0]), context.view(halves[1])];
  const isInnermost = axis === 1 && [first, second].some((view) => view.strides[axis] === 1);
  const to = context.output(isInnermost ? channelsLastOrder(first.shape.length) : undefined);
  emitInterleaved(context, { halves: [first, second], to, axis });
}
