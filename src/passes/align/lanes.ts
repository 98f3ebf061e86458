/** @file What padded lanes hold, atom by atom, and which atoms may therefore not be padded. */
import { NodeContext } from "../../facts/context.ts";
import { type Atom, type Axis, atomsOf, hasAtom } from "../../ir/axis.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import {
  constantLane,
  finiteLane,
  isZero,
  type Lane,
  type LaneContext,
  unknownLane,
  zeroLane,
} from "../../ops/axes.ts";
import { joinLanes } from "../../ops/lanes.ts";
import { findOp } from "../../ops/registry.ts";
import { isConstantNode } from "../stored.ts";
import type { Contraction, Relations } from "./relate.ts";

/** Fills other than zero, by constant and atom. */
export type Fills = ReadonlyMap<Value, ReadonlyMap<Atom, number>>;

/** Collects what constants must hold in padded lanes; an atom for which two operators differ is blocked. */
export function collectFills(relations: Relations): Fills {
  const fills = new Map<Value, Map<Atom, number>>();
  for (const { value, axis, fill, node } of relations.fills) {
    const known = fills.get(value) ?? new Map<Atom, number>();
    fills.set(value, known);
    for (const atom of atomsOf(axis)) {
      const before = known.get(atom);
      if (before !== undefined && before !== fill) {
        atom.blocked ??= `"${labelOf(node)}" wants ${fill} in padded lanes of "${value.name}", another operator ${before}`;
      }
      known.set(atom, fill);
    }
  }
  return fills;
}

/** Blocks, with the reason, every atom of `atoms` that some sum would mix into real lanes. */
export function blockUnsafe(relations: Relations, atoms: ReadonlySet<Atom>, fills: Fills): void {
  const index = indexByAtom(relations);
  const sums = new Map<Atom, Contraction[]>();
  for (const contraction of relations.contractions) {
    for (const atom of atomsOf(contraction.axis)) {
      const list = sums.get(atom);
      if (list === undefined) sums.set(atom, [contraction]);
      else list.push(contraction);
    }
  }
  for (const atom of atoms) {
    const contractions = sums.get(atom);
    if (atom.blocked !== undefined || contractions === undefined) continue;
    const lanes = lanesOf(atom, index.get(atom) ?? [], relations, fills);
    for (const contraction of contractions) {
      const reason = reasonAgainst(contraction, lanes);
      if (reason !== undefined) atom.blocked ??= reason;
    }
  }
}

function reasonAgainst({ node, a, b }: Contraction, lanes: ReadonlyMap<Value, Lane>): string | undefined {
  const laneAt = (index: number) => {
    const value = node.inputs[index];
    return value === undefined ? zeroLane : (lanes.get(value) ?? unknownLane);
  };
  const first = laneAt(a);
  const where = `${operatorOf(node)} "${labelOf(node)}"`;
  if (b === undefined)
    return isZero(first) ? undefined : `${where} sums over it, and its padded lanes are not zero`;
  const second = laneAt(b);
  const safe = (isZero(first) && second.kind !== "unknown") || (isZero(second) && first.kind !== "unknown");
  return safe ? undefined : `${where} sums over it, and neither operand is certain to be zero there`;
}

/** Graph inputs are padded with zeros, constants with their fill. */
function isSource({ producer }: Value): boolean {
  return producer === undefined || isConstantNode(producer);
}

/** For each atom, the nodes that touch it, in graph order. */
function indexByAtom(relations: Relations): Map<Atom, Node[]> {
  const index = new Map<Atom, Node[]>();
  for (const node of relations.scope.graph.nodes) {
    const touched = new Set<Atom>();
    for (const value of [...node.inputs, ...node.outputs]) {
      for (const axis of value === undefined ? [] : (relations.axesOf(value) ?? [])) {
        for (const atom of atomsOf(axis)) if (atom.blocked === undefined) touched.add(atom);
      }
    }
    for (const atom of touched) {
      const nodes = index.get(atom);
      if (nodes === undefined) index.set(atom, [node]);
      else nodes.push(node);
    }
  }
  return index;
}

/** The lanes of one atom in every value that has it. */
function lanesOf(atom: Atom, nodes: readonly Node[], relations: Relations, fills: Fills): Map<Value, Lane> {
  const lanes = new Map<Value, Lane>();
  const has = (value: Value) => (relations.axesOf(value) ?? []).some((axis) => hasAtom(axis, atom));
  for (const node of nodes) {
    for (const value of node.inputs) {
      if (value === undefined || lanes.has(value) || !isSource(value) || !has(value)) continue;
      lanes.set(value, constantLane(fills.get(value)?.get(atom) ?? 0));
    }
    const context = new AtomContext(node, atom, relations, lanes);
    const rule = shuffleLaneAt(node, relations, lanes) ?? findOp(node.domain, node.opType)?.lanes;
    for (const [index, value] of node.outputs.entries()) {
      if (value !== undefined && has(value)) lanes.set(value, rule?.(context, index) ?? unknownLane);
    }
  }
  return lanes;
}

/** Of the last node of a shuffle: padded positions read a true one, other axes keep their lanes. */
function shuffleLaneAt(
  node: Node,
  { shuffles }: Relations,
  lanes: ReadonlyMap<Value, Lane>,
): (() => Lane) | undefined {
  const shuffle = shuffles.find(({ nodes }) => nodes[2] === node);
  return shuffle && (() => joinLanes([finiteLane, lanes.get(shuffle.data) ?? finiteLane]));
}

class AtomContext extends NodeContext implements LaneContext {
  readonly #atom: Atom;
  readonly #relations: Relations;
  readonly #lanes: ReadonlyMap<Value, Lane>;

  constructor(node: Node, atom: Atom, relations: Relations, lanes: ReadonlyMap<Value, Lane>) {
    super(node, relations.scope, relations.scope.outputsOf(node));
    this.#atom = atom;
    this.#relations = relations;
    this.#lanes = lanes;
  }

  axesOfInput(index: number): readonly number[] {
    return this.#positionsIn(this.node.inputs[index]);
  }

  axesOfOutput(index: number): readonly number[] {
    return this.#positionsIn(this.node.outputs[index]);
  }

  #positionsIn(value: Value | undefined): readonly number[] {
    const axes = value === undefined ? [] : (this.#relations.axesOf(value) ?? []);
    return [...axes.keys()].filter((position) => {
      const axis = axes[position];
      return axis !== undefined && hasAtom(axis, this.#atom);
    });
  }

  laneOf(index: number): Lane | undefined {
    const value = this.node.inputs[index];
    return value === undefined ? undefined : this.#lanes.get(value);
  }
}

/** All axes of a graph's values. */
export function* allAxes(relations: Relations): Iterable<Axis> {
  for (const value of relations.scope.graph.values.values()) yield* relations.axesOf(value) ?? [];
}
