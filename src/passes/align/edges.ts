/** @file Where a padded axis meets a model input or output: a Pad or a Slice, or a Gather where lanes are interleaved. */
import { type Axis, indexMap, type PaddedSizes } from "../../ir/axis.ts";
import type { DType } from "../../ir/dtype.ts";
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

/** Whether the Pad of an opset takes the type: floats alone at first, then numbers, then everything. */
export function padTakes(dtype: DType, opset: number): boolean {
  if (opset >= 13) return true;
  return opset >= padInputsSince ? dtype !== "bool" && dtype !== "bfloat16" : firstPadTypes.has(dtype);
}

const firstPadTypes: ReadonlySet<DType> = new Set(["float16", "float32", "float64"]);

/** From a model input to its padded value. */
export function edgeIn(edge: Edge): Conversion {
  const { value, inner } = edge;
  const builder = new Builder(edge, value.name);
  const maps = mapsOf(edge);
  // An interleaved axis first gets one zero lane at its end, which the Gather then spreads.
  const pads = maps.map(({ map, size }) => (isTail(map) ? map.length - size : 1));
  builder.pad(pads);
  for (const [axis, { map, size }] of maps.entries()) {
    if (!isTail(map))
      builder.gather(
        axis,
        [...map].map((index) => (index < 0 ? size : index)),
      );
  }
  return builder.finish(inner);
}

/** From a padded value to the model output it stands for. */
export function edgeOut(edge: Edge): Conversion {
  const { value, inner } = edge;
  const builder = new Builder(edge, inner);
  const maps = mapsOf(edge);
  const tails = maps.map(({ map, size }) => (isTail(map) && map.length !== size ? size : undefined));
  builder.slice(tails);
  for (const [axis, { map, size }] of maps.entries()) {
    if (isTail(map)) continue;
    const positions = new Array<number>(size);
    for (const [position, index] of map.entries()) if (index >= 0) positions[index] = position;
    builder.gather(axis, positions);
  }
  return builder.finish(value.name);
}

function mapsOf({ axes, sizes }: Edge): { map: Int32Array; size: number }[] {
  return axes.map((axis) => {
    const map = indexMap(axis, sizes);
    return { map, size: map.reduce((count, index) => count + (index < 0 ? 0 : 1), 0) };
  });
}

/** Whether true lanes follow padded ones, so that a Pad or a Slice alone does not convert the axis. */
export function isInterleaved(axis: Axis, sizes: PaddedSizes): boolean {
  return !isTail(indexMap(axis, sizes));
}

/** Whether all padded lanes follow all true ones. */
function isTail(map: Int32Array): boolean {
  const first = map.indexOf(-1);
  return first < 0 || map.subarray(first).every((index) => index < 0);
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
