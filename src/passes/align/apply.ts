/** @file Chosen sizes to a patch: padded constants, rewritten sizes, and conversions at the graph's edges. */

import { isStored, storedList, storedTensor } from "../../facts/stored.ts";
import { type Axis, atomsOf, factorsOf, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { indexRuns } from "../../ir/axis-runs.ts";
import type { DType } from "../../ir/dtype.ts";
import { invariant } from "../../ir/errors.ts";
import { labelOf, type Model, type Node, type Value } from "../../ir/model.ts";
import {
  type AttributeSpec,
  type GraphPatch,
  type OpenTensor,
  Patch,
  type TensorBytes,
  type TensorSpec,
} from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import { numbersOf } from "../../ops/shape.ts";
import { LazyBytes } from "../lazy-bytes.ts";
import type { FreshNames } from "../names.ts";
import { encodeNumbers, int64Tensor, MemoryBytes } from "../tensors.ts";
import { Drafts } from "./drafts.ts";
import { EdgeWriter } from "./edge-writer.ts";
import type { Fills } from "./lanes.ts";
import { paddedFact } from "./padded.ts";
import { PaddedTensor } from "./padded-tensor.ts";
import type { Relations } from "./relate.ts";
import { gatherOrder, type RelatedShuffle } from "./shuffles.ts";

export interface ApplyInput {
  readonly model: Model;
  readonly relations: Relations;
  readonly sizes: PaddedSizes;
  readonly fills: Fills;
  readonly names: FreshNames;
  readonly open: OpenTensor;
}

/** The patch that pads the main graph's atoms to `sizes`. */
export function applyPadding(input: ApplyInput): Patch {
  return new Applier(input).build();
}

class Applier {
  readonly #input: ApplyInput;
  readonly #patch = new Patch();
  readonly #graph: GraphPatch;
  readonly #edges: EdgeWriter;
  readonly #drafts = new Drafts();

  constructor(input: ApplyInput) {
    this.#input = input;
    this.#graph = this.#patch.of(input.model.graph);
    this.#edges = new EdgeWriter(input, this.#graph, this.#drafts);
  }

  build(): Patch {
    const { relations, sizes, model } = this.#input;
    if (sizes.size === 0) return new Patch();
    for (const value of model.graph.values.values()) {
      const axes = relations.axesOf(value);
      if (axes === undefined || !axes.some((axis) => isPadded(axis, sizes))) continue;
      if (isStored(value, relations.scope)) this.#padStored(value, axes);
      else this.#padComputed(value, axes);
    }
    for (const rewrite of relations.rewrites) {
      if (!this.#touchesPadding(rewrite.node)) continue;
      if (rewrite.kind === "input") this.#rewriteInput(rewrite.node, rewrite.index, rewrite.values(sizes));
      else if (rewrite.kind === "sizes") this.#repeatSizes(rewrite.node, rewrite.index, rewrite.axes);
      else if (rewrite.kind === "positions") this.#countFromStart(rewrite.node, rewrite.index, rewrite.axis);
      else if (rewrite.kind === "float") this.#writeFloat(rewrite.node, rewrite.name, rewrite.value(sizes));
      else this.#rewriteAttribute(rewrite.node, rewrite.name, rewrite.value(sizes));
    }
    for (const shuffle of relations.shuffles) {
      if (shuffle.nodes.some((node) => this.#touchesPadding(node))) this.#writeShuffle(shuffle);
    }
    this.#drafts.writeTo(this.#graph);
    return this.#patch;
  }

  #padStored(value: Value, axes: readonly Axis[]): void {
    this.#declarePadded(value);
    const { producer, initializer } = value;
    const { dtype, open, list } = this.#sourceOf(value);
    const tensor = this.#padded(value, axes, dtype, open);
    if (initializer !== undefined || producer === undefined) {
      this.#graph.tensors.set(value.name, tensor);
      return;
    }
    const { attributes } = this.#drafts.of(producer);
    if (list !== undefined) attributes.set(list, null);
    attributes.set("value", { type: "tensor", tensor });
  }

  /** Where a stored value's elements are read, and the attribute that they are a list of. */
  #sourceOf(value: Value): { dtype: DType; open: () => TensorBytes; list?: string } {
    const [tensor, list] = [storedTensor(value), storedList(value)];
    if (tensor?.dtype !== undefined) return { dtype: tensor.dtype, open: () => this.#input.open(tensor) };
    invariant(
      tensor === undefined && list !== undefined,
      `constant "${value.name}" is padded, but is no tensor`,
    );
    const { attribute, dtype, numbers } = list;
    return { dtype, open: () => new MemoryBytes(encodeNumbers(dtype, numbers)), list: attribute };
  }

  #padded(value: Value, axes: readonly Axis[], dtype: DType, open: () => TensorBytes): TensorSpec {
    const { sizes, fills } = this.#input;
    const number = axes
      .flatMap((axis) => atomsOf(axis))
      .map((atom) => fills.get(value)?.get(atom))
      .find((fill) => fill !== undefined);
    const fill = encodeNumbers(dtype, [number ?? 0]);
    // A merge lies in memory as its factors do, and these have fewer runs.
    const factors = axes.flatMap((axis) => factorsOf(axis));
    const map = {
      dtype,
      dims: factors.map(sizeOfAxis),
      runs: factors.map((factor) => indexRuns(factor, sizes)),
      fill,
    };
    const dims = axes.map((axis) => paddedSize(axis, sizes));
    return { dtype, dims, bytes: new LazyBytes(dtype, dims, () => new PaddedTensor(open(), map)) };
  }

  /** Before IR 4 an initializer is declared among the inputs. */
  #declarePadded(value: Value): void {
    const padded = paddedFact(value, this.#input.relations, this.#input.sizes);
    if (value.declared === undefined || padded?.kind !== "tensor") return;
    (value.isInput ? this.#graph.edges : this.#graph.declared).set(value.name, padded);
  }

  #padComputed(value: Value, axes: readonly Axis[]): void {
    if (!value.isInput && !value.isOutput) this.#declarePadded(value);
    this.#edges.convert(value, axes);
  }

  #rewriteInput(node: Node, index: number, values: readonly number[]): void {
    const value = node.inputs[index];
    const fact = value === undefined ? undefined : this.#input.relations.scope.fact(value);
    if (value === undefined || fact?.kind !== "tensor") return;
    const before = numbersOf(fact.elements);
    if (before !== undefined && sameNumbers(before, values)) return;
    const name = this.#input.names.make(`${value.name}_padded`);
    const dims = fact.shape?.length === 0 ? [] : [values.length];
    const dtype = fact.dtype ?? "int64";
    this.#graph.added.set(name, { dtype, dims, bytes: new MemoryBytes(encodeNumbers(dtype, values)) });
    this.#drafts.inputsOf(node)[index] = name;
  }

  /** Elements that name a size of what the node reads are taken from that: [shape…, sizes…] gathered. */
  #repeatSizes(node: Node, index: number, axes: readonly (number | undefined)[]): void {
    const inputs = this.#drafts.inputsOf(node);
    const rank = this.#input.relations.scope.shape(node.inputs[0])?.length ?? 0;
    const make = (what: string) => this.#input.names.make(`${labelOf(node)}_${what}`);
    const [shape, both, sizes, positions] = [make("shape"), make("both"), make("sizes"), make("positions")];
    this.#graph.added.set(positions, int64Tensor(axes.map((axis, at) => axis ?? rank + at)));
    this.#drafts.of(node).before.push(
      { opType: emitted.Shape, name: shape, inputs: [inputs[0] ?? ""], outputs: [shape] },
      {
        opType: emitted.Concat,
        name: both,
        inputs: [shape, inputs[index] ?? ""],
        outputs: [both],
        attributes: new Map([["axis", { type: "int", value: 0 }]]),
      },
      { opType: emitted.Gather, name: sizes, inputs: [both, positions], outputs: [sizes] },
    );
    inputs[index] = sizes;
  }

  /** Modulo the true size: the divisor gives the remainder its sign, and positions from the start stay. */
  #countFromStart(node: Node, index: number, axis: number): void {
    const { relations, sizes, names } = this.#input;
    const [data, positions] = [node.inputs[0], node.inputs[index]];
    const along = data && relations.axesOf(data)?.[axis];
    const fact = positions && relations.scope.fact(positions);
    if (along === undefined || !isPadded(along, sizes) || fact?.kind !== "tensor") return;
    const dtype = fact.dtype ?? "int64";
    const inputs = this.#drafts.inputsOf(node);
    const make = (what: string) => names.make(`${labelOf(node)}_${what}`);
    const [size, remainder] = [make("size"), make("positions")];
    const bytes = new MemoryBytes(encodeNumbers(dtype, [sizeOfAxis(along)]));
    this.#graph.added.set(size, { dtype, dims: [], bytes });
    this.#drafts.of(node).before.push({
      opType: emitted.Mod,
      name: remainder,
      inputs: [inputs[index] ?? "", size],
      outputs: [remainder],
    });
    inputs[index] = remainder;
  }

  #rewriteAttribute(node: Node, name: string, value: number | readonly number[]): void {
    const spec: AttributeSpec =
      typeof value === "number" ? { type: "int", value } : { type: "ints", values: value };
    const before = node.attributes.find((attribute) => attribute.name === name)?.value;
    const same =
      (before?.type === "int" && before.value === value) ||
      (before?.type === "ints" && typeof value !== "number" && sameNumbers(before.values, value));
    if (!same) this.#drafts.of(node).attributes.set(name, spec);
  }

  #writeFloat(node: Node, name: string, value: number | undefined): void {
    if (value !== undefined) this.#drafts.of(node).attributes.set(name, { type: "float", value });
  }

  /** One Gather in place of three nodes. */
  #writeShuffle(shuffle: RelatedShuffle): void {
    const [first, transpose, last] = shuffle.nodes;
    const name = this.#input.names.make(`${last.outputs[0]?.name ?? ""}_indices`);
    this.#graph.added.set(name, int64Tensor(gatherOrder(shuffle, this.#input.sizes)));
    const data = this.#drafts.inputsOf(first)[0] ?? "";
    const draft = this.#drafts.of(last);
    draft.inputs = [data, name];
    draft.opType = emitted.Gather;
    draft.attributes.set("axis", { type: "int", value: shuffle.axis });
    draft.attributes.set("allowzero", null);
    for (const node of [first, transpose]) {
      this.#drafts.delete(node);
      this.#graph.nodes.set(node, []);
      for (const output of node.outputs) {
        if (output?.declared !== undefined) this.#graph.declared.set(output.name, null);
      }
    }
  }

  #touchesPadding(node: Node): boolean {
    const { relations, sizes } = this.#input;
    return [...node.inputs, ...node.outputs].some((value) => {
      const axes = value === undefined ? undefined : relations.axesOf(value);
      return axes?.some((axis) => isPadded(axis, sizes)) ?? false;
    });
  }
}

function isPadded(axis: Axis, sizes: PaddedSizes): boolean {
  return paddedSize(axis, sizes) !== sizeOfAxis(axis);
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index]);
}
