/**
 * @file A detector as people export it: the zoo's YOLO, behind it what torchvision and ultralytics do with its raw predictions: scores
 * of the best class, the best candidates by score, boxes moved apart by class, NonMaxSuppression, and the detections gathered.
 */
import { readFileSync } from "node:fs";
import onnxProto, { type onnx as types } from "onnx-proto";

const { onnx } = onnxProto;

export interface DetectorOptions {
  /** Pixels that a box's center lies within. */
  readonly image: number;
  /** Candidates that suppression is given. */
  readonly candidates: number;
  /** Boxes that suppression keeps at most. */
  readonly most: number;
  /** Detections at the end, of those kept: the best by score. */
  readonly detections: number;
  readonly overlap: number;
  readonly threshold: number;
}

export const usual: DetectorOptions = {
  image: 320,
  candidates: 1000,
  most: 300,
  detections: 100,
  overlap: 0.45,
  threshold: 0.25,
};

const [float, int64] = [1, 7];

/**
 * Weights for the detector: those that the zoo draws, scaled so that signals neither die nor grow on their way. As drawn, all places of an image
 * get the same scores but for the last bits, and what is suppressed is a matter of rounding.
 */
export function livelyWeights(file: string, weights: string): Uint8Array {
  const { graph } = onnx.ModelProto.decode(readFileSync(file));
  const bytes = new Uint8Array(readFileSync(weights));
  for (const { dims, externalData } of graph?.initializer ?? []) {
    const sizes = (dims ?? []).map(Number);
    const of = (key: string) => Number(externalData?.find((entry) => entry.key === key)?.value ?? Number.NaN);
    const [offset, length] = [of("offset"), of("length")];
    if (sizes.length !== 4 || !Number.isFinite(offset + length)) continue;
    const values = new Float32Array(bytes.buffer, offset, length / 4);
    const square = values.reduce((total, value) => total + value * value, 0) / values.length;
    const inputs = sizes.slice(1).reduce((total, size) => total * size, 1);
    const scale = gain / Math.sqrt(inputs * square);
    for (let at = 0; at < values.length; at++) values[at] = (values[at] ?? 0) * scale;
  }
  return bytes;
}

/** Of SiLU: scores of the zoo's YOLO are then spread over dozens of classes. */
const gain = 1.4;

/** Outputs `boxes` [found, 4], `scores` [found], `classes` [found] and `kept` [selected, 3] in place of the raw predictions. */
export function detectorOf(file: string, options: DetectorOptions): Uint8Array {
  const model = onnx.ModelProto.decode(readFileSync(file));
  const { graph } = model;
  const raw = graph?.output?.[0]?.name;
  if (graph == null || raw == null) throw new Error(`${file} has no output`);
  const build = new Builder();
  detections(build, raw, options);
  for (const { externalData } of graph.initializer ?? [])
    for (const entry of externalData ?? []) if (entry.key === "location") entry.value = "detector.weights";
  graph.node = [...(graph.node ?? []), ...build.nodes];
  graph.initializer = [...(graph.initializer ?? []), ...build.tensors];
  graph.output = [
    output("boxes", float, ["found", 4]),
    output("scores", float, ["found"]),
    output("classes", int64, ["found"]),
    output("kept", int64, ["selected", 3]),
  ];
  return onnx.ModelProto.encode(model).finish();
}

function detections(build: Builder, raw: string, options: DetectorOptions): void {
  const { add, slice, floats, whole } = build;
  const two = floats([], [2]);
  // Predictions are sigmoids: offsets from a cell's corner in cells, and sizes by the square, up to four times an anchor's.
  const { corners: cells, strides, anchors } = gridOf(options.image);
  const table = (values: readonly number[]) => floats([1, values.length / 2, 2], values);
  const offset = add("Sub", [add("Mul", [slice(raw, 0, 2), two]), floats([], [0.5])]);
  const center = add("Mul", [add("Add", [offset, table(cells)]), table(strides)]);
  const size = add("Mul", [add("Pow", [add("Mul", [slice(raw, 2, 4), two]), two]), table(anchors)]);
  const half = add("Div", [size, two]);
  const corners = add("Concat", [add("Sub", [center, half]), add("Add", [center, half])], { axis: 2 });
  const scores = add("Mul", [slice(raw, 4, 5), slice(raw, 5, 85)]);
  const best = add("ReduceMax", [scores], { axes: [2], keepdims: 0 });
  const kind = add("ArgMax", [scores], { axis: 2, keepdims: 0 });
  const [topScores, topPlaces] = build.two("TopK", [best, whole([1], [options.candidates])], { axis: 1 });
  const places = add("Squeeze", [topPlaces, whole([1], [0])]);
  const boxes = add("Gather", [corners, places], { axis: 1 });
  const kinds = add("Gather", [kind, places], { axis: 1 });
  // Boxes of different classes never meet.
  const farther = add("Add", [add("ReduceMax", [boxes], { keepdims: 0 }), floats([], [1])]);
  const apart = add("Mul", [add("Cast", [kinds], { to: float }), farther]);
  const moved = add("Add", [boxes, add("Unsqueeze", [apart, whole([1], [2])])]);
  const limits = [
    whole([1], [options.most]),
    floats([1], [options.overlap]),
    floats([1], [options.threshold]),
  ];
  add("NonMaxSuppression", [moved, add("Unsqueeze", [topScores, whole([1], [1])]), ...limits], {}, "kept");
  const picked = add("Gather", ["kept", whole([], [2])], { axis: 1 });
  const keptScores = add("Gather", [add("Squeeze", [topScores, whole([1], [0])]), picked]);
  const count = add("Min", [add("Shape", [picked]), whole([1], [options.detections])]);
  const [, order] = build.two("TopK", [keptScores, count], {}, "scores");
  const final = add("Gather", [picked, order]);
  add("Gather", [add("Squeeze", [boxes, whole([1], [0])]), final], {}, "boxes");
  add("Gather", [add("Squeeze", [kinds, whole([1], [0])]), final], {}, "classes");
}

/** Of every prediction x and y: its cell, pixels of a cell, pixels of its anchor. By level, anchor, row and column. */
function gridOf(image: number): { corners: number[]; strides: number[]; anchors: number[] } {
  const grid = { corners: [] as number[], strides: [] as number[], anchors: [] as number[] };
  for (const stride of [8, 16, 32])
    for (const shape of [
      [1.5, 2],
      [3, 2.5],
      [4, 6],
    ])
      for (let y = 0; y < image / stride; y++)
        for (let x = 0; x < image / stride; x++) {
          grid.corners.push(x, y);
          grid.strides.push(stride, stride);
          grid.anchors.push(...shape.map((side) => side * stride));
        }
  return grid;
}

type Attributes = Readonly<Record<string, number | readonly number[]>>;

class Builder {
  readonly nodes: types.INodeProto[] = [];
  readonly tensors: types.ITensorProto[] = [];

  readonly add = (opType: string, input: string[], attributes: Attributes = {}, name = this.#name()) => {
    this.#node(opType, input, [name], attributes);
    return name;
  };

  readonly floats = (dims: number[], values: readonly number[]) =>
    this.#tensor(float, dims, Buffer.from(Float32Array.from(values).buffer));

  readonly whole = (dims: number[], values: readonly number[]) =>
    this.#tensor(int64, dims, Buffer.from(BigInt64Array.from(values, BigInt).buffer));

  /** Of the last axis of three. */
  readonly slice = (from: string, start: number, end: number) =>
    this.add("Slice", [from, this.whole([1], [start]), this.whole([1], [end]), this.whole([1], [2])]);

  two(opType: string, input: string[], attributes: Attributes, first = this.#name()): [string, string] {
    const outputs: [string, string] = [first, this.#name()];
    this.#node(opType, input, outputs, attributes);
    return outputs;
  }

  #node(opType: string, input: string[], outputs: string[], attributes: Attributes): void {
    const attribute = Object.entries(attributes).map(([name, value]) =>
      typeof value === "number" ? { name, type: 2, i: value } : { name, type: 7, ints: [...value] },
    );
    this.nodes.push({ opType, name: `detect_${this.nodes.length}`, input, output: outputs, attribute });
  }

  #tensor(dataType: number, dims: number[], rawData: Uint8Array): string {
    const name = this.#name();
    this.tensors.push({ name, dims, dataType, rawData });
    return name;
  }

  #name(): string {
    return `detect/${this.nodes.length}_${this.tensors.length}_${this.#names++}`;
  }

  #names = 0;
}

function output(name: string, elemType: number, dims: readonly (string | number)[]): types.IValueInfoProto {
  const dim = dims.map((size) => (typeof size === "number" ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}
