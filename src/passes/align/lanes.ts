/** @file What padded lanes hold, atom by atom, and which atoms may therefore not be padded. */
import { NodeContext } from "../../facts/context.ts";
import { type Atom, atomsOf } from "../../ir/axis.ts";
import { push } from "../../ir/group.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import { isConstantNode } from "../../ops/ask.ts";
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
import { freeAtomsOf } from "./free-atoms.ts";
import { infinityReason } from "./infinite-lanes.ts";
import type { Contraction, Relations } from "./relate.ts";
import { TrueLanes } from "./true-lanes.ts";

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
  const analysis = new LaneAnalysis(relations, fills);
  for (const atom of atoms) {
    if (atom.blocked === undefined) atom.blocked = analysis.reasonAgainst(atom);
  }
}

/** Of `atoms`, those that no sum would mix into real lanes. */
export function safeAtoms(relations: Relations, atoms: ReadonlySet<Atom>, fills: Fills): ReadonlySet<Atom> {
  const analysis = new LaneAnalysis(relations, fills);
  return new Set([...atoms].filter((atom) => analysis.reasonAgainst(atom) === undefined));
}

/** What a value that no node computes holds in padded lanes of an atom. */
export type SourceLane = (value: Value, atom: Atom) => Lane;

/** Padded lanes of one graph, atom by atom. */
export class LaneAnalysis {
  readonly #relations: Relations;
  readonly #truth: TrueLanes;
  readonly #sources: SourceLane;
  readonly #nodes: ReadonlyMap<Atom, readonly Node[]>;
  readonly #positions: Positions;
  readonly #sums: ReadonlyMap<Atom, readonly Contraction[]>;

  /** @param sources By default inputs of the model are padded with zeros, and constants with their fill. */
  constructor(relations: Relations, fills: Fills, sources?: SourceLane) {
    this.#relations = relations;
    this.#truth = new TrueLanes(relations.scope);
    this.#sources = sources ?? ((value, atom) => constantLane(fills.get(value)?.get(atom) ?? 0));
    this.#nodes = indexByAtom(relations);
    this.#positions = new Positions(relations);
    this.#sums = sumsByAtom(relations);
  }

  /** Why `atom` must not be padded; undefined where every sum over it stays what it was. */
  reasonAgainst(atom: Atom): string | undefined {
    const contractions = this.#sums.get(atom);
    if (contractions === undefined) return undefined;
    const lanes = this.lanesOf(atom);
    for (const contraction of contractions) {
      const reason = reasonAgainst(contraction, lanes);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** The lanes of one atom in every value that has it. */
  lanesOf(atom: Atom): ReadonlyMap<Value, Lane> {
    const [relations, positions, truth] = [this.#relations, this.#positions, this.#truth];
    const lanes = new Map<Value, Lane>();
    for (const node of this.#nodes.get(atom) ?? []) {
      for (const value of node.inputs) {
        if (value === undefined || lanes.has(value) || !isSource(value) || !positions.has(value, atom))
          continue;
        lanes.set(value, this.#sources(value, atom));
      }
      if (!node.outputs.some((value) => value !== undefined && positions.has(value, atom))) continue;
      const context = new AtomContext(node, { atom, relations, positions, lanes, truth });
      const rule = shuffleLaneAt(node, relations, lanes) ?? findOp(node.domain, node.opType)?.lanes;
      for (const [index, value] of node.outputs.entries()) {
        if (value !== undefined && positions.has(value, atom))
          lanes.set(
            value,
            this.#outputLane(value, atom, () => rule?.(context, index) ?? unknownLane),
          );
      }
    }
    return lanes;
  }

  /** Behind what is given at its true size a Pad writes zeros. */
  #outputLane(value: Value, atom: Atom, computed: () => Lane): Lane {
    const given = this.#relations.inner.givenOf(value);
    const at = this.#positions.in(value, atom);
    const isGiven = (position: number) => given.has(position);
    if (!at.some(isGiven)) return computed();
    return at.every(isGiven) ? zeroLane : joinLanes([computed(), zeroLane]);
  }
}

/** On which axes of a value an atom is. Worked out once a value: every atom is asked for at every node that touches it. */
class Positions {
  readonly #relations: Relations;
  readonly #known = new Map<Value, ReadonlyMap<Atom, readonly number[]>>();

  constructor(relations: Relations) {
    this.#relations = relations;
  }

  has(value: Value, atom: Atom): boolean {
    return this.#of(value).has(atom);
  }

  /** Ascending. */
  in(value: Value, atom: Atom): readonly number[] {
    return this.#of(value).get(atom) ?? nowhere;
  }

  #of(value: Value): ReadonlyMap<Atom, readonly number[]> {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const positions = new Map<Atom, number[]>();
    const axes = this.#relations.axesOf(value) ?? [];
    for (let position = 0; position < axes.length; position++) {
      const axis = axes[position];
      for (const atom of axis === undefined ? [] : atomsOf(axis)) push(positions, atom, position);
    }
    this.#known.set(value, positions);
    return positions;
  }
}

const nowhere: readonly number[] = [];

function sumsByAtom({ contractions }: Relations): Map<Atom, Contraction[]> {
  const sums = new Map<Atom, Contraction[]>();
  for (const contraction of contractions) {
    for (const atom of atomsOf(contraction.axis)) push(sums, atom, contraction);
  }
  return sums;
}

function reasonAgainst({ node, a, b }: Contraction, lanes: ReadonlyMap<Value, Lane>): string | undefined {
  const laneAt = (value: Value | undefined) =>
    value === undefined ? zeroLane : (lanes.get(value) ?? unknownLane);
  const where = `${operatorOf(node)} "${labelOf(node)}"`;
  const summed =
    a === undefined ? node.outputs : [node.inputs[a], b === undefined ? undefined : node.inputs[b]];
  const [first = zeroLane, second = zeroLane, ...more] = summed.map(laneAt);
  const failing = summed.find((value) => laneAt(value).fails === "alone");
  if (failing !== undefined) return infinityReason(node, failing, lanes);
  if (a === undefined) {
    const areFinite = [first, second, ...more].every(({ kind }) => kind !== "unknown");
    return areFinite ? undefined : `${where} sums over it, and its padded lanes are not finite`;
  }
  if (b === undefined)
    return isZero(first) ? undefined : `${where} sums over it, and its padded lanes are not zero`;
  const safe = (isZero(first) && second.kind !== "unknown") || (isZero(second) && first.kind !== "unknown");
  return safe ? undefined : `${where} sums over it, and neither operand is certain to be zero there`;
}

/** Graph inputs are padded with zeros, constants with their fill. */
function isSource({ producer }: Value): boolean {
  return producer === undefined || isConstantNode(producer);
}

/** For each atom, the nodes that touch it, in graph order. A Constant computes nothing: it is a source. */
function indexByAtom(relations: Relations): Map<Atom, Node[]> {
  const index = new Map<Atom, Node[]>();
  const computing = relations.scope.graph.nodes.filter((node) => !isConstantNode(node));
  for (const node of computing)
    for (const atom of freeAtomsOf([...node.inputs, ...node.outputs], relations)) push(index, atom, node);
  return index;
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

/** What the rules of a node are asked about. */
interface Asked {
  readonly atom: Atom;
  readonly relations: Relations;
  readonly positions: Positions;
  readonly lanes: ReadonlyMap<Value, Lane>;
  readonly truth: TrueLanes;
}

class AtomContext extends NodeContext implements LaneContext {
  readonly #asked: Asked;
  readonly ofTrueLanes = false;

  constructor(node: Node, asked: Asked) {
    const { scope } = asked.relations;
    super(node, scope, scope.outputsOf(node));
    this.#asked = asked;
  }

  trueLane(index: number, isWhole = false): Lane {
    const value = this.node.inputs[index];
    return value === undefined ? finiteLane : this.#asked.truth.of(value, isWhole);
  }

  axesOfInput(index: number): readonly number[] {
    return this.#positionsIn(this.node.inputs[index], this.#asked.relations.inner.takenBy(this.node, index));
  }

  axesOfOutput(index: number): readonly number[] {
    const value = this.node.outputs[index];
    return this.#positionsIn(value, this.#asked.relations.inner.givenOf(value));
  }

  /** But those where the node has the true size. */
  #positionsIn(value: Value | undefined, atTrue: ReadonlySet<number>): readonly number[] {
    const { positions, atom } = this.#asked;
    const found = value === undefined ? nowhere : positions.in(value, atom);
    return atTrue.size === 0 ? found : found.filter((position) => !atTrue.has(position));
  }

  laneOf(index: number): Lane | undefined {
    const value = this.node.inputs[index];
    const atTrue = this.#asked.relations.inner.takenBy(this.node, index);
    if (atTrue.size > 0 && this.axesOfInput(index).length === 0) return undefined;
    return value === undefined ? undefined : this.#asked.lanes.get(value);
  }
}
