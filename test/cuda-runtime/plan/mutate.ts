/** @file Small models changed at random into what ONNX forbids: types, ranks, arity, attributes. */
import onnxProto, { type onnx as types } from "onnx-proto";
import type { Random } from "../../../src/verify/random.ts";

const { onnx } = onnxProto;

/** Elements of ONNX's own numbering: floats, whole numbers, bool, string, complex, small floats. */
const elementTypes = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 21];
const wholeNumbers = [
  -(2 ** 53),
  -(2 ** 31),
  -7,
  -3,
  -2,
  -1,
  0,
  1,
  2,
  3,
  4,
  5,
  7,
  9,
  16,
  1000,
  2 ** 31,
  2 ** 40,
];
const sizes = [0, 1, 2, 3, 4, 5, 7, 8, 16, 33];

type Mutation = (graph: types.IGraphProto, random: Random) => void;

/** The model after one to four random changes. */
export function mutated(bytes: Uint8Array, random: Random, operators: readonly string[]): Uint8Array {
  const model = onnx.ModelProto.decode(bytes);
  const graph = model.graph;
  const count = random.integer(1, 4);
  for (let change = 0; change < count && graph; change++) {
    if (random.uniform() < 0.04) opsets(model, random);
    else if (random.uniform() < 0.05) replaceOperator(model, random, operators);
    else pick(mutations, random)?.(graph, random);
  }
  return onnx.ModelProto.encode(model).finish();
}

function pick<Item>(items: readonly Item[] | null | undefined, random: Random): Item | undefined {
  return items == null || items.length === 0 ? undefined : items[random.integer(0, items.length - 1)];
}

function opsets(model: types.IModelProto, random: Random): void {
  const opset = pick(model.opsetImport, random);
  if (opset !== undefined) opset.version = random.integer(7, 23);
}

/** By another operator, of its domain ("com.microsoft::Gelu"). */
function replaceOperator(model: types.IModelProto, random: Random, operators: readonly string[]): void {
  const node = pick(model.graph?.node, random);
  const [type = "", domain = ""] = (pick(operators, random) ?? "").split("::").toReversed();
  if (node === undefined) return;
  Object.assign(node, { opType: type, domain });
  const isKnown = model.opsetImport?.some((opset) => (opset.domain ?? "") === domain) ?? false;
  if (!isKnown) model.opsetImport = [...(model.opsetImport ?? []), { domain, version: 1 }];
}

const mutations: readonly Mutation[] = [
  inputType,
  inputType,
  inputShape,
  inputShape,
  nodeInputs,
  nodeInputs,
  nodeOutputs,
  attribute,
  attribute,
  attribute,
  known,
];

function inputType(graph: types.IGraphProto, random: Random): void {
  const type = pick(graph.input, random)?.type;
  if (type == null) return;
  const elemType = pick(elementTypes, random) ?? 1;
  if (random.uniform() < 0.04) {
    type.sequenceType = { elemType: { tensorType: { elemType } } };
    type.tensorType = null;
  } else if (type.tensorType != null) type.tensorType.elemType = elemType;
}

function inputShape(graph: types.IGraphProto, random: Random): void {
  const dims = pick(graph.input, random)?.type?.tensorType?.shape?.dim;
  if (dims == null) return;
  const at = random.integer(0, Math.max(0, dims.length - 1));
  const size = { dimValue: pick(sizes, random) ?? 1 };
  const choice = random.uniform();
  if (choice < 0.3) dims.splice(at, 1);
  else if (choice < 0.6) dims.splice(at, 0, size);
  else if (choice < 0.7) dims.length = 0;
  else dims[at] = size;
}

function nodeInputs(graph: types.IGraphProto, random: Random): void {
  const input = pick(graph.node, random)?.input;
  if (input == null) return;
  const at = random.integer(0, Math.max(0, input.length - 1));
  const any = pick(graph.input, random)?.name ?? "";
  const choice = random.uniform();
  if (choice < 0.2) input.pop();
  else if (choice < 0.35) input.push(any);
  else if (choice < 0.6) input[at] = "";
  else if (choice < 0.85) input[at] = any;
  else input.reverse();
}

function nodeOutputs(graph: types.IGraphProto, random: Random): void {
  const output = pick(graph.node, random)?.output;
  if (output == null) return;
  if (random.uniform() < 0.5 && output.length > 1) output.pop();
  else output.push(`extra${output.length}`);
}

function attribute(graph: types.IGraphProto, random: Random): void {
  const node = pick(graph.node, random);
  const own = pick(node?.attribute, random);
  const whole = () => pick(wholeNumbers, random) ?? 0;
  const choice = random.uniform();
  if (node == null) return;
  if (own === undefined || choice < 0.25) {
    const name =
      pick(
        ["axis", "axes", "perm", "keepdims", "group", "strides", "pads", "kernel_shape", "to", "dilations"],
        random,
      ) ?? "axis";
    const isList = /s$|perm/.test(name) && name !== "keepdims";
    const values = Array.from({ length: random.integer(0, 5) }, whole);
    const made: types.IAttributeProto = isList
      ? { name, type: 7, ints: values }
      : { name, type: 2, i: whole() };
    node.attribute = [...(node.attribute ?? []).filter((each) => each.name !== name), made];
    return;
  }
  if (choice < 0.4) node.attribute = (node.attribute ?? []).filter((each) => each !== own);
  else if (own.type === 2) own.i = whole();
  else if (own.type === 1) own.f = pick([0, -1, 1e30, Number.NaN, Number.POSITIVE_INFINITY], random) ?? 0;
  else if (own.type === 7 && own.ints != null) {
    if (random.uniform() < 0.4) own.ints[random.integer(0, Math.max(0, own.ints.length - 1))] = whole();
    else if (random.uniform() < 0.5) own.ints.pop();
    else own.ints.push(whole());
  } else if (own.type === 3)
    own.s = Buffer.from(pick(["", "x", "constructor", "NOTSET", "linear", "ij,jk"], random) ?? "");
}

/** An input becomes a small tensor of the file: axes, shapes, weights. */
function known(graph: types.IGraphProto, random: Random): void {
  const input = pick(graph.input, random);
  const name = input?.name;
  const elemType = input?.type?.tensorType?.elemType ?? 7;
  if (name == null || graph.initializer?.some((each) => each.name === name)) return;
  const length = random.integer(0, 6);
  const dims = random.uniform() < 0.2 ? [] : [length];
  const count = dims.length === 0 ? 1 : length;
  const values = Array.from({ length: count }, () => pick(wholeNumbers, random) ?? 0);
  const data = elemType === 1 ? { floatData: values } : { int64Data: values };
  graph.initializer = [
    ...(graph.initializer ?? []),
    { name, dims, dataType: elemType === 1 ? 1 : 7, ...data },
  ];
  graph.input = (graph.input ?? []).filter((each) => each !== input);
}
