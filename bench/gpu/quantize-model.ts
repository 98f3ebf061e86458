/**
 * @file Makes a QDQ model of one that is in FP32, for measurements: weights by channel and symmetric, activations by tensor
 * with ranges from runs on drawn inputs.
 *
 *     node scripts/run.mjs bench/gpu/quantize-model.ts --runs 4 --activations int8 --dim batch=1 FROM.onnx TO.onnx
 *
 * Inputs of Conv without groups, and of MatMul and Gemm with weights, are quantized; of networks of images also what Add and
 * MaxPool read, so that everything between convolutions lies in memory as codes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import onnxProto, { type onnx as types } from "onnx-proto";
import { InferenceSession, Tensor } from "onnxruntime-node";

const { onnx } = onnxProto;
const [float32, int64, uint8, int8, int32] = [1, 7, 2, 3, 6] as const;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "4" },
    activations: { type: "string", default: "int8" },
    dim: { type: "string", multiple: true, default: [] },
  },
});
const [from, to] = positionals;
if (from === undefined || to === undefined) throw new Error("FROM.onnx TO.onnx are missing");
if (options.activations !== "int8" && options.activations !== "uint8")
  throw new Error("--activations is int8 or uint8");
const isSigned = options.activations === "int8";
const sizes = new Map(options.dim.map((each) => each.split("=")).map(([name, size]) => [name, Number(size)]));

const model = onnx.ModelProto.decode(readFileSync(from));
const graph = model.graph;
if (graph === undefined || graph === null) throw new Error(`${from} has no graph`);
const nodes = graph.node ?? [];
const initializers = new Map((graph.initializer ?? []).map((tensor) => [tensor.name ?? "", tensor]));

function isWeight(name: string | undefined): boolean {
  return name !== undefined && initializers.has(name);
}

/** A tensor's bytes, wherever they are, as raw data from now on. */
function embed(tensor: types.ITensorProto, folder: string): void {
  if (tensor.dataLocation !== onnx.TensorProto.DataLocation.EXTERNAL) return;
  const entries = new Map((tensor.externalData ?? []).map(({ key, value }) => [key, value]));
  const file = readFileSync(path.join(folder, entries.get("location") ?? ""));
  const start = Number(entries.get("offset") ?? 0);
  const length = Number(entries.get("length") ?? file.length - start);
  tensor.rawData = Uint8Array.from(file.subarray(start, start + length));
  tensor.externalData = [];
  tensor.dataLocation = onnx.TensorProto.DataLocation.DEFAULT;
}

const folder = path.dirname(from);
for (const tensor of initializers.values()) embed(tensor, folder);

function floatsOf(tensor: types.ITensorProto): Float32Array {
  const raw = tensor.rawData;
  if (raw === undefined || raw === null || raw.length === 0) return Float32Array.from(tensor.floatData ?? []);
  return new Float32Array(Uint8Array.from(raw).buffer);
}

function dimsOf(tensor: types.ITensorProto): number[] {
  return (tensor.dims ?? []).map(Number);
}

function intOf(node: types.INodeProto, name: string, fallback: number): number {
  const found = node.attribute?.find((each) => each.name === name);
  return found === undefined ? fallback : Number(found.i ?? 0);
}

/** Products whose weights are stored, in FP32. */
const products = nodes.filter((node) => {
  const weight = initializers.get(node.input?.[1] ?? "");
  if (weight?.dataType !== float32) return false;
  if (node.opType === "Conv") return intOf(node, "group", 1) === 1;
  if (node.opType === "Gemm") return intOf(node, "transA", 0) === 0;
  return node.opType === "MatMul" && dimsOf(weight).length === 2;
});
const producers = new Map(nodes.flatMap((node) => (node.output ?? []).map((name) => [name, node] as const)));
const ofImages = new Set(["Conv", "Relu", "MaxPool", "Add", "Clip"]);
const hasImages = products.some(({ opType }) => opType === "Conv");

/** Read as codes: by the node at the input. */
function* quantizedReads(): Generator<readonly [types.INodeProto, number]> {
  const isProduct = new Set(products);
  for (const node of nodes) {
    if (isProduct.has(node)) yield [node, 0];
    else if (hasImages && (node.opType === "Add" || node.opType === "MaxPool")) {
      for (const [index, name] of (node.input ?? []).entries()) {
        if (ofImages.has(producers.get(name)?.opType ?? "")) yield [node, index];
      }
    }
  }
}

const reads = [...quantizedReads()];
const wanted = [...new Set(reads.map(([node, index]) => node.input?.[index] ?? ""))].filter(
  (name) => name !== "" && !isWeight(name),
);

function drawn(count: number, seed: number): Float32Array {
  let state = seed * 2_654_435_761 + 1;
  return Float32Array.from({ length: count }, () => {
    let sum = 0;
    for (let i = 0; i < 4; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      sum += state / 2 ** 32 - 0.5;
    }
    return sum * Math.sqrt(3);
  });
}

function inputTensor(input: types.IValueInfoProto, index: number, seed: number): Tensor {
  const type = input.type?.tensorType;
  const dims = (type?.shape?.dim ?? []).map(
    (dim) => Number(dim.dimValue ?? 0) || (sizes.get(dim.dimParam ?? "") ?? 1),
  );
  const count = dims.reduce((product, size) => product * size, 1);
  if (type?.elemType === float32) return new Tensor("float32", drawn(count, seed), dims);
  if (type?.elemType !== int64) throw new Error(`input ${input.name} is neither float32 nor int64`);
  // The first are words, the others masks.
  const words = drawn(count, seed).map((value) => (index === 0 ? Math.abs(Math.trunc(value * 50)) : 1));
  return new Tensor("int64", BigInt64Array.from(Array.from(words, BigInt)), dims);
}

async function ranges(): Promise<Map<string, [number, number]>> {
  const outputs = new Set((graph?.output ?? []).map(({ name }) => name));
  const inputs = (graph?.input ?? []).filter(({ name }) => !isWeight(name ?? undefined));
  const inputNames = new Set(inputs.map(({ name }) => name));
  const watched = wanted.filter((name) => !outputs.has(name) && !inputNames.has(name));
  const all = {
    ...model,
    graph: { ...graph, output: [...(graph?.output ?? []), ...watched.map((name) => ({ name }))] },
  };
  const session = await InferenceSession.create(onnx.ModelProto.encode(all).finish(), {
    graphOptimizationLevel: "disabled",
  });
  const found = new Map<string, [number, number]>();
  for (let run = 0; run < Number(options.runs); run++) {
    const feeds = Object.fromEntries(
      inputs.map((input, index) => [input.name ?? "", inputTensor(input, index, run * 31 + index + 1)]),
    );
    const results = { ...feeds, ...(await session.run(feeds)) };
    for (const name of wanted) {
      const data = results[name]?.data;
      if (!(data instanceof Float32Array)) throw new Error(`${name} is not float32`);
      let [low, high] = found.get(name) ?? [0, 0];
      for (const value of data) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
      found.set(name, [low, high]);
    }
  }
  await session.release();
  return found;
}

const added: types.INodeProto[] = [];
const tensors: types.ITensorProto[] = [];

function store(name: string, dataType: number, dims: number[], array: ArrayBufferView): string {
  const rawData = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  tensors.push({ name, dataType, dims, rawData });
  return name;
}

/** Codes with a scale of each slice of `axis`, symmetric; the dequantized value's name. */
function weight(name: string, axis: number): { name: string; scales: Float32Array } {
  const tensor = initializers.get(name);
  if (tensor === undefined) throw new Error(`no weight ${name}`);
  const [values, dims] = [floatsOf(tensor), dimsOf(tensor)];
  const inner = dims.slice(axis + 1).reduce((product, size) => product * size, 1);
  const channels = dims[axis] ?? 1;
  const scales = new Float32Array(channels).fill(1e-9);
  const channelOf = (index: number) => Math.floor(index / inner) % channels;
  for (const [index, value] of values.entries()) {
    const channel = channelOf(index);
    scales[channel] = Math.max(scales[channel] ?? 0, Math.abs(value) / 127);
  }
  const codes = Int8Array.from(values, (value, index) => Math.round(value / (scales[channelOf(index)] ?? 1)));
  const made = `${name}_dequantized_${axis}`;
  if (!tensors.some((each) => each.name === `${name}_codes_${axis}`)) {
    const input = [
      store(`${name}_codes_${axis}`, int8, dims, codes),
      store(`${name}_scales_${axis}`, float32, [channels], scales),
      store(`${name}_zeros_${axis}`, int8, [channels], new Int8Array(channels)),
    ];
    added.push({
      opType: "DequantizeLinear",
      input,
      output: [made],
      name: made,
      attribute: [{ name: "axis", type: 2, i: axis }],
    });
  }
  return { name: made, scales };
}

function bias(name: string, xScale: number, scales: Float32Array, to: string): string {
  const tensor = initializers.get(name);
  if (tensor === undefined) return name;
  const units = scales.map((scale) => Math.fround(scale * xScale));
  const codes = Int32Array.from(floatsOf(tensor), (value, channel) =>
    Math.round(value / (units[channel] ?? 1)),
  );
  const input = [
    store(`${to}_bias_codes`, int32, [codes.length], codes),
    store(`${to}_bias_scales`, float32, [codes.length], units),
    store(`${to}_bias_zeros`, int32, [codes.length], new Int32Array(codes.length)),
  ];
  const output = `${to}_bias`;
  added.push({
    opType: "DequantizeLinear",
    input,
    output: [output],
    name: output,
    attribute: [{ name: "axis", type: 2, i: 0 }],
  });
  return output;
}

const scaleOfActivation = new Map<string, number>();
const pairsBehind = new Map<string, types.INodeProto[]>();

function activation(name: string, [low, high]: readonly [number, number]): void {
  const scale = Math.fround(Math.max(isSigned ? Math.max(-low, high) / 127 : (high - low) / 255, 1e-9));
  const zero = isSigned ? 0 : Math.min(255, Math.max(0, Math.round(-low / scale)));
  scaleOfActivation.set(name, scale);
  const parameters = [
    store(`${name}_scale`, float32, [], Float32Array.of(scale)),
    store(`${name}_zero`, isSigned ? int8 : uint8, [], isSigned ? Int8Array.of(zero) : Uint8Array.of(zero)),
  ];
  const [codes, back] = [`${name}_codes`, `${name}_real`];
  pairsBehind.set(name, [
    { opType: "QuantizeLinear", input: [name, ...parameters], output: [codes], name: codes },
    { opType: "DequantizeLinear", input: [codes, ...parameters], output: [back], name: back },
  ]);
}

for (const [name, range] of await ranges()) activation(name, range);
for (const [node, index] of reads) {
  const name = node.input?.[index] ?? "";
  if (!pairsBehind.has(name)) continue;
  node.input = (node.input ?? []).with(index, `${name}_real`);
  if (!products.includes(node)) continue;
  const isTurned = node.opType === "Gemm" && intOf(node, "transB", 0) === 1;
  const axis = node.opType === "Conv" || isTurned ? 0 : 1;
  const made = weight(node.input[1] ?? "", axis);
  node.input = node.input.with(1, made.name);
  const own = node.input[2];
  if (own !== undefined && own !== "")
    node.input = node.input.with(
      2,
      bias(own, scaleOfActivation.get(name) ?? 1, made.scales, node.output?.[0] ?? ""),
    );
}
const inputPairs = (graph.input ?? []).flatMap(({ name }) => pairsBehind.get(name ?? "") ?? []);
graph.node = [
  ...added,
  ...inputPairs,
  ...nodes.flatMap((node) => [node, ...(node.output ?? []).flatMap((name) => pairsBehind.get(name) ?? [])]),
];
const used = new Set(graph.node.flatMap(({ input }) => input ?? []));
graph.initializer = [...(graph.initializer ?? []), ...tensors].filter(({ name }) => used.has(name ?? ""));
graph.valueInfo = [];
writeFileSync(to, onnx.ModelProto.encode(model).finish());
console.log(`${to}: ${products.length} products and ${pairsBehind.size} activations quantized`);
