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

/** Outputs `boxes` [found, 4], `scores` [found], `classes` [found] and `kept` [selected, 3] in place of the raw predictions. */
export function detectorOf(file: string, options: DetectorOptions): Uint8Array {
  const model = onnx.ModelProto.decode(readFileSync(file));
  const { graph } = model;
  const raw = graph?.output?.[0]?.name;
  if (graph == null || raw == null) throw new Error(`${file} has no output`);
  const build = new Builder();
  detections(build, raw, options);
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
  const [image, two] = [floats([], [options.image]), floats([], [2])];
  // Predictions are sigmoids: centers in the image, and sizes as anchors of 16 pixels, quartered to four times as large.
  const center = add("Mul", [slice(raw, 0, 2), image]);
  const size = add("Mul", [add("Pow", [add("Mul", [slice(raw, 2, 4), two]), two]), floats([], [16])]);
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
