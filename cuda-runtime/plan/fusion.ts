/** @file The passes over an instance of a graph, before any of it is lowered. */
import type { Scope } from "../../src/facts/scope.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { LiveNodes } from "../graph/liveness.ts";
import type { PlanTarget } from "../ir/step.ts";
import { isAttention, type StoredBetween } from "../patterns/code-attention.ts";
import { recognisers } from "../patterns/index.ts";
import type { Macro } from "../patterns/macro.ts";
import { recogniseQuantized } from "../patterns/quantized.ts";
import { quantizersIn } from "./codes-behind.ts";
import { placeInConcats } from "./concat-layout.ts";
import type { Frame } from "./frame.ts";
import { type FusionGraph, listOperators } from "./fused.ts";
import { fuseHorizontally } from "./horizontal-fusion.ts";

/**
 * `wanted`: the outputs that somebody reads, all unless given; `computed`: values that are in memory already. `quantizedFor`: products of
 * dequantized codes are products of codes on this GPU; undefined where what is dequantized is multiplied as floats.
 */
export function frameOf(
  scope: Scope,
  parent: Frame | undefined,
  wanted: readonly Value[] | undefined,
  quantizedFor: PlanTarget | undefined,
  computed?: ReadonlySet<Value>,
): Frame {
  const live = new LiveNodes(scope, wanted, computed);
  const quantized = quantizedFor && recogniseQuantized(scope, quantizedFor);
  const found = [quantized?.macros ?? [], ...recognisers.map((recognise) => recognise(scope))];
  const graph: FusionGraph = { scope, live, macros: macrosOf(found.flat(), live) };
  const operators = fuseHorizontally(listOperators(graph), graph);
  const places = placeInConcats(operators, graph);
  return {
    ...graph,
    stored: storedIn(graph, quantized?.stored),
    quantizers: quantized === undefined ? new Map() : quantizersIn(graph, places),
    slots: new Map(),
    parent,
    operators,
    places,
    concats: new Map(),
    done: new Set(),
    inside: new Set(),
    homes: new Map(),
  };
}

/** Nothing where one of the values is handed from one plan to another, as what the model says, or attention is not one launch. */
function storedIn({ live, macros }: FusionGraph, stored: StoredBetween | undefined): Frame["stored"] {
  const { types, results } = stored ?? { types: new Map(), results: [] };
  const isOwn = [...types.keys()].every((value) => !live.isSeen(value) && !live.isComputed(value));
  const isWhole = results.every(({ producer }) => producer && isAttention(macros.get(producer)));
  return isOwn && isWhole ? types : new Map();
}

/** Around a graph that is planned by itself: its values have places, and none of its nodes is lowered. */
export function frameAround(scope: Scope, parent: Frame | undefined): Frame {
  return {
    scope,
    live: new LiveNodes(scope, []),
    macros: new Map(),
    stored: new Map(),
    quantizers: new Map(),
    slots: new Map(),
    parent,
    operators: [],
    places: new Map(),
    concats: new Map(),
    done: new Set(),
    inside: new Set(),
    homes: new Map(),
  };
}

/** Of those that overlap the first that is found. */
function macrosOf(found: readonly Macro[], live: LiveNodes): ReadonlyMap<Node, Macro> {
  const macros = new Map<Node, Macro>();
  for (const macro of found) {
    if (macro.nodes.some((node) => macros.has(node)) || !live.isLive(macro.output)) continue;
    if (macro.nodes.some(({ outputs }) => outputs.some((value) => value && live.isComputed(value)))) continue;
    for (const node of macro.nodes) macros.set(node, macro);
  }
  return macros;
}
