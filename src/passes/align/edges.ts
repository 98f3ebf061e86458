/**
 * @file Where a padded axis meets its true size, at a model input or output or at an operator that needs it: a Pad (or zeros joined to
 * it) or a Slice, or a Gather where lanes are interleaved.
 */
import { Atom, type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { indexRuns, isPaddedAtEnd } from "../../ir/axis-runs.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/model.ts";
import type { AttributeSpec, NodeSpec, TensorSpec } from "../../ir/patch.ts";
import { type Emitted, emitted } from "../../ops/emitted.ts";
import type { FreshNames } from "../names.ts";
import { encodeNumbers, int64Tensor, MemoryBytes } from "../tensors.ts";
import { zeroForm } from "./zero-lanes.ts";

export interface Edge {
  readonly value: Value;
  readonly dtype: DType;
  /** Name of the padded value inside the graph. */
  readonly inner: string;
  /** Name of the value at its true size; its own by default. */
  readonly outer?: string;
  readonly axes: readonly Axis[];
  /** Positions of the axes that are converted; all of them by default. */
  readonly along?: readonly number[];
  readonly sizes: PaddedSizes;
  readonly opset: number;
  readonly names: FreshNames;
}

export interface Conversion {
  readonly nodes: readonly NodeSpec[];
  readonly tensors: ReadonlyMap<string, TensorSpec>;
}

/** Opsets from which these operators take sizes as inputs. Source: ONNX operator changelog. */
const padInputsSince = 11;
const sliceInputsSince = 10;

/** To a padded value, from what it is at its true size: a model input. */
export function edgeIn(edge: Edge): Conversion {
  const { value, inner, outer = value.name } = edge;
  const builder = new Builder(edge, outer);
  const { axes, sizes } = converted(edge);
  // An interleaved axis first gets one zero lane at its end, which the Gather then spreads.
  builder.pad(
    axes.map((axis) => (isPaddedAtEnd(axis, sizes) ? paddedSize(axis, sizes) - sizeOfAxis(axis) : 1)),
  );
  for (const [at, axis] of axes.entries()) {
    if (isInterleaved(axis, sizes)) builder.gather(at, spreadOf(axis, sizes));
  }
  return builder.finish(inner);
}

/** From a padded value to what it is at its true size: the model output it stands for. */
export function edgeOut(edge: Edge): Conversion {
  const { value, inner, outer = value.name } = edge;
  const builder = new Builder(edge, inner);
  const { axes, sizes } = converted(edge);
  builder.slice(
    axes.map((axis) => {
      const size = sizeOfAxis(axis);
      return isPaddedAtEnd(axis, sizes) && paddedSize(axis, sizes) !== size ? size : undefined;
    }),
  );
  for (const [at, axis] of axes.entries()) {
    if (isInterleaved(axis, sizes)) builder.gather(at, placesOf(axis, sizes));
  }
  return builder.finish(outer);
}

/** Axes that stay as they are in place of those that are not converted. */
function converted({ axes, along, sizes }: Edge): {
  readonly axes: readonly Axis[];
  readonly sizes: PaddedSizes;
} {
  return { axes: axes.map((axis, at) => (along === undefined || along.includes(at) ? axis : kept)), sizes };
}

const kept: Axis = { kind: "atom", atom: new Atom(-1, 1, "it is not converted") };

/** For every padded position the true one, padded lanes reading what lies behind the last. */
function spreadOf(axis: Axis, sizes: PaddedSizes): number[] {
  const behind = sizeOfAxis(axis);
  return indexRuns(axis, sizes).flatMap(({ from, length }) =>
    Array.from({ length }, (_, at) => (from < 0 ? behind : from + at)),
  );
}

/** For every true position the padded one. */
function placesOf(axis: Axis, sizes: PaddedSizes): number[] {
  const places: number[] = [];
  let position = 0;
  for (const { from, length } of indexRuns(axis, sizes)) {
    if (from >= 0) for (let at = 0; at < length; at++) places.push(position + at);
    position += length;
  }
  return places;
}

/** Whether true lanes follow padded ones, so that a Pad or a Slice alone does not convert the axis. */
export function isInterleaved(axis: Axis, sizes: PaddedSizes): boolean {
  return !isPaddedAtEnd(axis, sizes);
}

/** A chain of nodes from one value on. */
class Builder {
  readonly #edge: Edge;
  readonly #nodes: NodeSpec[] = [];
  readonly #tensors = new Map<string, TensorSpec>();
  #last: string;

  constructor(edge: Edge, start: string) {
    this.#edge = edge;
    this.#last = start;
  }

  /** `ends` zeros behind each axis. */
  pad(ends: readonly number[]): void {
    if (ends.every((end) => end === 0)) return;
    if (zeroForm(this.#edge.dtype, this.#edge.opset) === "join") {
      for (const [axis, count] of ends.entries()) if (count > 0) this.#join(axis, ends.length, count);
      return;
    }
    const pads = [...ends.map(() => 0), ...ends];
    if (this.#edge.opset >= padInputsSince)
      this.#add(emitted.Pad, [this.#constant("pads", int64Tensor(pads))]);
    else this.#add(emitted.Pad, [], new Map([["pads", { type: "ints", values: pads }]]));
  }

  /** Zeros of the value's own sizes, `count` along the axis: [shape…, count] gathered, and an Expand to that. */
  #join(axis: number, rank: number, count: number): void {
    const { dtype } = this.#edge;
    const value = this.#last;
    this.#add(emitted.Shape, []);
    const along: AttributeSpec = { type: "int", value: 0 };
    this.#add(emitted.Concat, [this.#constant("count", int64Tensor([count]))], new Map([["axis", along]]));
    const sizes = Array.from({ length: rank }, (_, at) => (at === axis ? rank : at));
    this.#add(emitted.Gather, [this.#constant("sizes", int64Tensor(sizes))]);
    const bytes = new MemoryBytes(encodeNumbers(dtype, [0]));
    const shape = this.#last;
    this.#last = this.#constant("zero", { dtype, dims: [], bytes });
    this.#add(emitted.Expand, [shape]);
    const zeros = this.#last;
    this.#last = value;
    this.#add(emitted.Concat, [zeros], new Map([["axis", { type: "int", value: axis }]]));
  }

  slice(ends: readonly (number | undefined)[]): void {
    const axes = [...ends.keys()].filter((axis) => ends[axis] !== undefined);
    if (axes.length === 0) return;
    const stops = axes.map((axis) => ends[axis] ?? 0);
    const starts = axes.map(() => 0);
    if (this.#edge.opset >= sliceInputsSince) {
      const inputs = { starts, ends: stops, axes };
      this.#add(
        emitted.Slice,
        Object.entries(inputs).map(([name, values]) => this.#constant(name, int64Tensor(values))),
      );
      return;
    }
    const attributes = { starts, ends: stops, axes };
    this.#add(
      emitted.Slice,
      [],
      new Map(Object.entries(attributes).map(([name, values]) => [name, { type: "ints", values }])),
    );
  }

  gather(axis: number, indices: readonly number[]): void {
    this.#add(
      emitted.Gather,
      [this.#constant("indices", int64Tensor(indices))],
      new Map([["axis", { type: "int", value: axis }]]),
    );
  }

  /** The chain, its last value renamed. */
  finish(name: string): Conversion {
    const last = this.#nodes.pop();
    if (last !== undefined) this.#nodes.push({ ...last, outputs: [name] });
    return { nodes: this.#nodes, tensors: this.#tensors };
  }

  #constant(role: string, tensor: TensorSpec): string {
    const name = this.#edge.names.make(`${this.#edge.value.name}_${role}`);
    this.#tensors.set(name, tensor);
    return name;
  }

  #add(
    opType: Emitted,
    more: readonly string[],
    attributes: ReadonlyMap<string, AttributeSpec> = new Map(),
  ): void {
    const output = this.#edge.names.make(`${this.#edge.value.name}_${opType.toLowerCase()}`);
    const name = this.#edge.names.make(`tc_lint/${opType}/${this.#edge.value.name}`);
    this.#nodes.push({ name, opType, inputs: [this.#last, ...more], outputs: [output], attributes });
    this.#last = output;
  }
}
