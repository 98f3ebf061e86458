/** @file One instance of a graph while it is lowered. */
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { isCall } from "../graph/calls.ts";
import { LiveNodes } from "../graph/liveness.ts";
import type { View } from "../ir/view.ts";
import { elementwiseLowerings } from "../lower/index.ts";
import { recognisers } from "../patterns/index.ts";
import type { Macro } from "../patterns/macro.ts";
import { type Place, placeInConcats } from "./concat-layout.ts";
import { type FusedOperator, type FusionGraph, listOperators } from "./fused.ts";
import { fuseHorizontally } from "./horizontal-fusion.ts";
import type { Slot } from "./slots.ts";

export interface Frame extends FusionGraph {
  readonly slots: Map<Value, Slot>;
  readonly parent: Frame | undefined;
  readonly operators: readonly FusedOperator[];
  /** Values that concatenations are made of. */
  readonly places: ReadonlyMap<Value, Place>;
  /** Memory of concatenations, from their first part on. */
  readonly concats: Map<Node, View>;
  /** Nodes that were lowered together with one before them. */
  readonly done: Set<Node>;
  /** Values between the root of a region and its end. */
  readonly inside: Set<Value>;
  /** Memory that is waiting for some of the outputs. */
  readonly homes: Map<Value, View>;
}

/** `wanted`: the outputs that somebody reads, all unless given. */
export function frameOf(scope: Scope, parent: Frame | undefined, wanted?: readonly Value[]): Frame {
  const live = new LiveNodes(scope, wanted);
  const graph: FusionGraph = { scope, live, macros: macrosOf(scope, live) };
  const operators = fuseHorizontally(listOperators(graph), graph);
  return {
    ...graph,
    slots: new Map(),
    parent,
    operators,
    places: placeInConcats(operators, graph),
    concats: new Map(),
    done: new Set(),
    inside: new Set(),
    homes: new Map(),
  };
}

/** Of those that overlap the first that is found. */
function macrosOf(scope: Scope, live: LiveNodes): ReadonlyMap<Node, Macro> {
  const macros = new Map<Node, Macro>();
  for (const recognise of recognisers) {
    for (const macro of recognise(scope)) {
      if (macro.nodes.some((node) => macros.has(node)) || !live.isLive(macro.output)) continue;
      for (const node of macro.nodes) macros.set(node, macro);
    }
  }
  return macros;
}

/** The frame of the value's graph: this one, or one around it. */
export function ownerOf(value: Value, frame: Frame): Frame | undefined {
  let at: Frame | undefined = frame;
  while (at !== undefined && at.scope.graph !== value.graph) at = at.parent;
  return at;
}

/** Whether the node is computed element by element, as part of whatever reads it. */
export function isElementwise(node: Node, frame: Frame): boolean {
  if (frame.macros.has(node) || isCall(node, frame.scope)) return false;
  return own(elementwiseLowerings, operatorOf(node)) !== undefined;
}
