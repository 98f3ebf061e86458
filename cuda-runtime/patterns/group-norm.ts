/** @file GroupNorm as exporters write it: groups as the channels of an InstanceNormalization; and the SiLU behind it. */
import { floatAttributeIn, intAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { lowerGroups, sumWithChannels } from "../lower/normalization-groups.ts";
import { sameSizes } from "./attention-scores.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import { tailOf } from "./row-norm.ts";

interface GroupNorm {
  readonly x: Value;
  readonly groups: number;
  readonly scale: Value | undefined;
  readonly bias: Value | undefined;
  readonly isParameterPerGroup: boolean;
  readonly epsilon: number;
  readonly isSilu: boolean;
}

export function recogniseGroupNorm(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  return graph.nodes().flatMap((node) => {
    switch (operatorOf(node)) {
      case "InstanceNormalization":
        return reshapedGroups(node, graph) ?? withSilu(node, graph) ?? [];
      case "GroupNormalization":
        return withSilu(node, graph) ?? [];
      default:
        return [];
    }
  });
}

/** Reshape to [N, groups, rest], InstanceNormalization, Reshape back, scale and shift of channels. */
function reshapedGroups(node: Node, graph: PatternGraph): Macro | undefined {
  const split = graph.innerProducer(node.inputs[0], "Reshape");
  const merge = graph.onlyReader(node.outputs[0]);
  const x = split?.inputs[0];
  const [whole, apart] = [graph.shape(x), graph.shape(node.inputs[0])];
  const merged = merge?.outputs[0];
  if (split === undefined || merge === undefined || x === undefined || merged === undefined) return undefined;
  if (whole === undefined || apart === undefined || operatorOf(merge) !== "Reshape" || !graph.isFloat(x))
    return undefined;
  const [, groups = 0] = apart;
  const isGrouping =
    whole.length >= 2 && whole[0] === apart[0] && groups > 0 && (whole[1] ?? 0) % groups === 0;
  if (!isGrouping || !sameSizes(whole, graph.shape(merged) ?? [])) return undefined;
  const fits = (value: Value) => isOfChannels(value, whole, graph);
  const [, groupScale, groupBias] = node.inputs;
  const isNeutral = isAll(groupScale, 1, graph) && isAll(groupBias, 0, graph);
  const scaled = isNeutral
    ? tailOf(merged, "Mul", fits, graph)
    : { value: merged, parameter: groupScale, nodes: [] };
  const shifted = isNeutral ? tailOf(scaled.value, "Add", fits, graph) : { ...scaled, parameter: groupBias };
  const silu = siluBehind(shifted.value, graph);
  const norm: GroupNorm = {
    x,
    groups,
    scale: scaled.parameter,
    bias: shifted.parameter,
    isParameterPerGroup: !isNeutral,
    epsilon: floatAttributeIn(node, "epsilon", graph.scope) ?? 1e-5,
    isSilu: silu.isSilu,
  };
  return macroOf(
    norm,
    [split, node, merge, ...scaled.nodes, ...shifted.nodes, ...silu.nodes],
    silu.value,
    graph,
  );
}

/** An operator with nothing but a SiLU behind it. */
function withSilu(node: Node, graph: PatternGraph): Macro | undefined {
  const [x, scale, bias] = node.inputs;
  const [output] = node.outputs;
  const channels = graph.shape(x)?.[1];
  if (x === undefined || output === undefined || channels === undefined || !graph.isFloat(x))
    return undefined;
  const silu = siluBehind(output, graph);
  const groups =
    operatorOf(node) === "GroupNormalization" ? intAttributeIn(node, "num_groups", graph.scope) : channels;
  if (!silu.isSilu || groups === undefined || groups < 1 || channels % groups !== 0) return undefined;
  const parameters = graph.shape(scale)?.[0];
  const norm: GroupNorm = {
    x,
    groups,
    scale,
    bias,
    isParameterPerGroup: parameters === groups && groups !== channels,
    epsilon: floatAttributeIn(node, "epsilon", graph.scope) ?? 1e-5,
    isSilu: true,
  };
  return macroOf(norm, [node, ...silu.nodes], silu.value, graph);
}

function macroOf(
  norm: GroupNorm,
  parts: readonly Node[],
  output: Value,
  graph: PatternGraph,
): Macro | undefined {
  const nodes = graph.closed(parts, output);
  return nodes && { name: "GroupNormalization", nodes, output, lower: (context) => lowerNorm(context, norm) };
}

interface Silu {
  readonly isSilu: boolean;
  readonly value: Value;
  readonly nodes: readonly Node[];
}

/** y · sigmoid(y), where that is all that reads y. */
function siluBehind(value: Value, graph: PatternGraph): Silu {
  const none = { isSilu: false, value, nodes: [] };
  const readers = graph.readersOf(value);
  if (value.isOutput) return none;
  const sigmoid = readers.find((node) => operatorOf(node) === "Sigmoid");
  const gate = sigmoid?.outputs[0];
  const product = graph.onlyReader(gate);
  const result = product?.outputs[0];
  if (sigmoid === undefined || product === undefined || result === undefined || readers.length !== 2)
    return none;
  const isProduct =
    operatorOf(product) === "Mul" &&
    readers.includes(product) &&
    product.inputs.includes(gate) &&
    product.inputs.includes(value);
  return isProduct ? { isSilu: true, value: result, nodes: [sigmoid, product] } : none;
}

function isAll(value: Value | undefined, wanted: number, graph: PatternGraph): boolean {
  return graph.elements(value)?.every((element) => element === wanted) ?? false;
}

/** One element a channel, broadcast to [N, channels, …]. */
function isOfChannels(value: Value, whole: readonly number[], graph: PatternGraph): boolean {
  const own = graph.shape(value);
  if (own === undefined || own.length > whole.length || !graph.isFloat(value)) return false;
  const missing = whole.length - own.length;
  return own.every((size, at) => (at + missing === 1 ? size === whole[1] : size === 1)) && missing <= 1;
}

function lowerNorm(context: MacroContext, { x, scale, bias, ...norm }: GroupNorm): void {
  const parameter = (value: Value | undefined) => value && context.view(value);
  lowerGroups(context, {
    ...norm,
    sum: sumWithChannels(context.expr(x), context.shape(x)),
    x: () => context.view(x),
    scale: parameter(scale),
    bias: parameter(bias),
    output: (order) => context.output(order),
  });
}
