/** @file Where a padded axis meets a model input or output: a Pad or a Slice, or a Gather where lanes are interleaved. */
import { type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { indexRuns, isPaddedAtEnd } from "../../ir/axis-runs.ts";
import type { Value } from "../../ir/model.ts";
import type { AttributeSpec, NodeSpec, TensorSpec } from "../../ir/patch.ts";
import type { FreshNames } from "../names.ts";
import { int64Tensor } from "../tensors.ts";

export interface Edge {
  readonly value: Value;
  /** Name of the padded value inside the graph. */
  readonly inner: string;
  readonly axes: readonly Axis[];
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

/** From a model input to its padded value. */
export function edgeIn(edge: Edge): Conversion {
  const { value, inner } = edge;
  const builder = new Builder(edge, value.name);
  const { axes, sizes } = edge;
  // An interleaved axis first gets one zero lane at its end, which the Gather then spreads.
  builder.pad(
    axes.map((axis) => (isPaddedAtEnd(axis, sizes) ? paddedSize(axis, sizes) - sizeOfAxis(axis) : 1)),
  );
  for (const [at, axis] of axes.entries()) {
    if (isInterleaved(axis, sizes)) builder.gather(at, spreadOf(axis, sizes));
  }
  return builder.finish(inner);
}

/** From a padded value to the model output it stands for. */
export function edgeOut(edge: Edge): Conversion {
  const { value, inner } = edge;
  const builder = new Builder(edge, inner);
  const { axes, sizes } = edge;
  builder.slice(
    axes.map((axis) => {
      const size = sizeOfAxis(axis);
      return isPaddedAtEnd(axis, sizes) && paddedSize(axis, sizes) !== size ? size : undefined;
    }),
  );
  for (const [at, axis] of axes.entries()) {
    if (isInterleaved(axis, sizes)) builder.gather(at, placesOf(axis, sizes));
  }
  return builder.finish(value.name);
}

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

  pad(ends: readonly number[]): void {
    if (ends.every((end) => end === 0)) return;
    const pads = [...ends.map(() => 0), ...ends];
    if (this.#edge.opset >= padInputsSince) this.#add("Pad", [this.#constant("pads", pads)]);
    else this.#add("Pad", [], new Map([["pads", { type: "ints", values: pads }]]));
  }

  slice(ends: readonly (number | undefined)[]): void {
    const axes = [...ends.keys()].filter((axis) => ends[axis] !== undefined);
    if (axes.length === 0) return;
    const stops = axes.map((axis) => ends[axis] ?? 0);
    const starts = axes.map(() => 0);
    if (this.#edge.opset >= sliceInputsSince) {
      const inputs = { starts, ends: stops, axes };
      this.#add(
        "Slice",
        Object.entries(inputs).map(([name, values]) => this.#constant(name, values)),
      );
      return;
    }
    const attributes = { starts, ends: stops, axes };
    this.#add(
      "Slice",
      [],
      new Map(Object.entries(attributes).map(([name, values]) => [name, { type: "ints", values }])),
    );
  }

  gather(axis: number, indices: readonly number[]): void {
    this.#add(
      "Gather",
      [this.#constant("indices", indices)],
      new Map([["axis", { type: "int", value: axis }]]),
    );
  }

  /** The chain, its last value renamed. */
  finish(name: string): Conversion {
    const last = this.#nodes.pop();
    if (last !== undefined) this.#nodes.push({ ...last, outputs: [name] });
    return { nodes: this.#nodes, tensors: this.#tensors };
  }

  #constant(role: string, values: readonly number[]): string {
    const name = this.#edge.names.make(`${this.#edge.value.name}_${role}`);
    this.#tensors.set(name, int64Tensor(values));
    return name;
  }

  #add(
    opType: string,
    more: readonly string[],
    attributes: ReadonlyMap<string, AttributeSpec> = new Map(),
  ): void {
    const output = this.#edge.names.make(`${this.#edge.value.name}_${opType.toLowerCase()}`);
    const name = this.#edge.names.make(`tc_lint/${opType}/${this.#edge.value.name}`);
    this.#nodes.push({ name, opType, inputs: [this.#last, ...more], outputs: [output], attributes });
    this.#last = output;
  }
}
