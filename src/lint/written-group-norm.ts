/** @file GroupNorm as exporters write it: groups as the channels of an InstanceNormalization, scale and shift behind it. */
import { opsetOf } from "../facts/context.ts";
import type { Scope } from "../facts/scope.ts";
import { worksOf } from "../facts/works.ts";
import { runsAsFunction, type Stack } from "../hardware/stacks.ts";
import type { Node, Value } from "../ir/model.ts";
import { bindWork, volume, type Work } from "../ops/work.ts";
import { WrittenGraph, type WrittenOut } from "../workload/written-out.ts";
import type { LintContext } from "./context.ts";
import { sizesOf } from "./graph.ts";
import { passOver } from "./memory-passes.ts";

export interface WrittenGroupNorm extends WrittenOut {
  readonly groups: number;
}

export function writtenGroupNorms(scope: Scope, context: LintContext): WrittenGroupNorm[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("InstanceNormalization").flatMap((node) => groupNormAround(node, graph, context) ?? []);
}

const groupNorm = { domain: "", opType: "GroupNormalization" } as const;

/** Whether the one operator is one kernel. */
export function hasGroupNorm(stack: Stack): boolean {
  return !runsAsFunction(stack, groupNorm);
}

/** The operator where the stack runs its function instead, and the kernels of the same by InstanceNormalization. */
export interface InlinedGroupNorm {
  readonly node: Node;
  readonly scope: Scope;
  readonly written: readonly Work<number>[];
}

export function inlinedGroupNorms(scope: Scope, context: LintContext): InlinedGroupNorm[] {
  if (hasGroupNorm(context.target.stack)) return [];
  return scope.graph.nodes.flatMap((node): InlinedGroupNorm[] => {
    const isOperator = node.domain === groupNorm.domain && node.opType === groupNorm.opType;
    const written = isOperator ? asInstances(node, scope, context) : undefined;
    return written === undefined ? [] : [{ node, scope, written }];
  });
}

/** Parameters of groups, which the operator had before opset 21, are InstanceNormalization's own; those of channels are two passes behind it. */
function asInstances(node: Node, scope: Scope, context: LintContext): Work<number>[] | undefined {
  const norms = worksOf(node, scope)?.flatMap((work) => bindWork(work, context.bindings) ?? []);
  const pass = passOver(node.outputs[0], scope, "elementwise", context);
  if (norms === undefined || norms.length === 0 || pass === undefined) return undefined;
  return opsetOf(groupNorm.domain, scope) < 21 ? norms : [...norms, pass, pass];
}

/** Reshape to [N, groups, rest], InstanceNormalization, Reshape back, Mul and Add of a parameter a channel. */
function groupNormAround(
  node: Node,
  graph: WrittenGraph,
  context: LintContext,
): WrittenGroupNorm | undefined {
  const { scope } = graph;
  const split = graph.makerOf(node.inputs[0], "Reshape");
  const merge = graph.readerOf(node.outputs[0], "Reshape");
  const [x, apart, merged] = [split?.inputs[0], split?.outputs[0], merge?.outputs[0]];
  if (split === undefined || merge === undefined || x === undefined || apart === undefined) return undefined;
  const [whole, grouped] = [sizesOf(x, scope, context), sizesOf(apart, scope, context)];
  const [batch, channels = 0] = whole ?? [];
  const groups = grouped?.[1] ?? 0;
  if (merged === undefined || whole === undefined || grouped?.[0] !== batch) return undefined;
  if (groups < 1 || channels % groups !== 0 || sizesOf(merged, scope, context)?.join() !== whole.join())
    return undefined;
  const fits = (value: Value | undefined) => isOfChannels(value, channels, graph, context);
  const scaled = behind(merged, "Mul", fits, graph);
  const shifted = behind(scaled?.outputs[0] ?? merged, "Add", fits, graph);
  const tail = [scaled, shifted].filter((each) => each !== undefined);
  const nodes = tail.length === 0 ? undefined : graph.closed([split, node, merge, ...tail]);
  // It walks the same rows, and takes scale and shift on its way.
  return nodes && { node, scope, nodes, fused: node, groups };
}

function behind(
  value: Value,
  type: "Mul" | "Add",
  fits: (parameter: Value | undefined) => boolean,
  graph: WrittenGraph,
): Node | undefined {
  const reader = graph.readerOf(value, type);
  const parameter = reader?.inputs.find((each) => each !== value);
  return fits(parameter) ? reader : undefined;
}

/** One element a channel: the rest of [N, channels, …] shares it. */
function isOfChannels(
  value: Value | undefined,
  channels: number,
  graph: WrittenGraph,
  context: LintContext,
): boolean {
  if (value === undefined || !graph.isFixed(value)) return false;
  return volume(sizesOf(value, graph.scope, context) ?? []) === channels;
}
