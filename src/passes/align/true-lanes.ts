/** @file What the true lanes of a value may hold: numbers in every run, or infinities where something infinite goes in. */
import { NodeContext } from "../../facts/context.ts";
import type { Scope } from "../../facts/scope.ts";
import { isStored, storedTensor } from "../../facts/stored.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Node, TensorRef, Value } from "../../ir/model.ts";
import { once } from "../../ir/once.ts";
import { constantLane, finiteLane, type Lane, type LaneContext, unknownLane } from "../../ops/axes.ts";
import { failing, normalized } from "../../ops/lanes.ts";
import { maxFoldedElements, type OpDefinition, ShapeError } from "../../ops/op.ts";
import { findOp } from "../../ops/registry.ts";
import { asTensor, numbersOf } from "../../ops/shape.ts";
import { normPatterns } from "../../workload/written-norm.ts";

/** Of stored tensors that are read for infinities: a mask of 4,096 positions. More counts as not known. */
const maxRead = 2 ** 24;

type LaneRule = NonNullable<OpDefinition["lanes"]>;

/** Finite as long as what goes in is. */
const given = failing(finiteLane, "along");

/** Of one graph, told by the same rules as padded lanes, in graph order. */
export class TrueLanes {
  readonly #scope: Scope;
  readonly #lanes = new Map<Value, Lane>();
  readonly #read = new Map<TensorRef, Lane>();
  /** What norms that are written out give: a row with something infinite in it is NaN there, or zero, as one operator's is. */
  readonly #normalized: () => ReadonlySet<Value>;

  /** How many nodes of the graph were looked at: as many as lead to what was asked for. */
  #visited = 0;

  constructor(scope: Scope) {
    this.#scope = scope;
    this.#normalized = once(
      () => new Set(normPatterns(scope).flatMap(({ nodes }) => nodes.at(-1)?.outputs[0] ?? [])),
    );
  }

  /** @param isWhole Whether a stored tensor is read whatever its size. */
  of(value: Value, isWhole: boolean): Lane {
    if (value.producer !== undefined) this.#visitUpTo(value.producer);
    const known = this.#lanes.get(value);
    if (known !== undefined) return known;
    if (isStored(value, this.#scope)) return this.#stored(value, isWhole);
    return this.#unless(value, given);
  }

  #visitUpTo(last: Node): void {
    const { nodes } = this.#scope.graph;
    for (
      let node = nodes[this.#visited];
      node !== undefined && node.id <= last.id;
      node = nodes[this.#visited]
    ) {
      this.#visited += 1;
      this.#visit(node);
    }
  }

  #visit(node: Node): void {
    const rule = this.#scope.children.has(node) ? undefined : findOp(node.domain, node.opType)?.lanes;
    if (rule === undefined) return;
    const context = new TrueContext(node, this.#scope, this);
    for (const [index, value] of node.outputs.entries()) {
      if (value === undefined) continue;
      const lane = laneBy(rule, context, index);
      // What an operator makes of a row of zeros it seldom makes of true ones.
      const known = this.#unless(value, lane.kind === "unknown" && !context.hasReadUnknown ? given : lane);
      this.#lanes.set(value, this.#normalized().has(value) ? normalized(known) : known);
    }
  }

  /** Whole numbers are finite. */
  #unless(value: Value, lane: Lane): Lane {
    const { dtype } = asTensor(this.#scope.fact(value));
    return dtype === undefined || isFloat(dtype) ? lane : finiteLane;
  }

  #stored(value: Value, isWhole: boolean): Lane {
    const tensor = storedTensor(value);
    const elements = this.#few(value, tensor);
    if (elements !== undefined) return this.#keep(value, laneOf(elements));
    if (!isWhole || tensor === undefined || !isFloat(tensor.dtype)) return finiteLane;
    const lane = this.#read.get(tensor) ?? this.#readAll(tensor);
    this.#read.set(tensor, lane);
    return lane;
  }

  /** Elements that inference would know. Read anew: a fact that was asked for its elements keeps them. */
  #few(value: Value, tensor: TensorRef | undefined): readonly number[] | undefined {
    return tensor === undefined
      ? numbersOf(asTensor(this.#scope.fact(value)).elements)
      : this.#scope.model.reader.elements(tensor, maxFoldedElements);
  }

  #keep(value: Value, lane: Lane): Lane {
    this.#lanes.set(value, lane);
    return lane;
  }

  /** A tensor that is not here is taken to be like others. */
  #readAll(tensor: TensorRef): Lane {
    const size = tensor.dims.reduce((total, dim) => total * dim, 1);
    if (size > maxRead) return unknownLane;
    const elements = this.#scope.model.reader.elements(tensor, maxRead);
    return elements === undefined ? finiteLane : laneOf(elements);
  }
}

/** An operator that contradicts its operands has been reported by inference. */
function laneBy(rule: LaneRule, context: LaneContext, output: number): Lane {
  try {
    return rule(context, output);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return unknownLane;
  }
}

/** One known number everywhere, or finite ones. */
function laneOf(elements: readonly number[]): Lane {
  const first = elements[0];
  let isConstant = first !== undefined;
  // By index: biases and norms of a whole model are read.
  for (let at = 0; at < elements.length; at++) {
    const element = elements[at];
    if (!Number.isFinite(element)) return unknownLane;
    if (element !== first) isConstant = false;
  }
  return isConstant && first !== undefined ? constantLane(first) : finiteLane;
}

class TrueContext extends NodeContext implements LaneContext {
  readonly ofTrueLanes = true;
  /** Whether some operand that was asked for may be infinite by itself. */
  hasReadUnknown = false;
  readonly #lanes: TrueLanes;

  constructor(node: Node, scope: Scope, lanes: TrueLanes) {
    super(node, scope, scope.outputsOf(node));
    this.#lanes = lanes;
  }

  trueLane(index: number, isWhole = false): Lane {
    const value = this.node.inputs[index];
    const lane = value === undefined ? finiteLane : this.#lanes.of(value, isWhole);
    this.hasReadUnknown ||= lane.kind === "unknown";
    return lane;
  }

  laneOf(index: number): Lane | undefined {
    return this.node.inputs[index] === undefined ? undefined : this.trueLane(index);
  }

  axesOfInput(index: number): readonly number[] {
    return [...(asTensor(this.inputs[index]).shape ?? []).keys()];
  }

  axesOfOutput(index: number): readonly number[] {
    return [...(asTensor(this.outputs[index]).shape ?? []).keys()];
  }
}
