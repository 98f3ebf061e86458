/** @file Models that are well-formed protobuf and nonsense otherwise: attributes, names, operators and sizes changed. */
import { onnx, type types } from "./build.ts";

const oddIntegers = [-(2 ** 53), -1000, -2, -1, 0, 1, 2, 3, 7, 1000, 2 ** 31, 2 ** 40, 2 ** 53 - 1];
const oddFloats = [Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 0.5, 1e30];
const oddTexts = [
  "",
  "NOTSET",
  "SAME_UPPER",
  "VALID",
  "bij,bjk->bik",
  "ii->",
  "a...,...->",
  "linear",
  "__proto__",
];

/** One to four changes to a decoded model, encoded again. */
export function rewire(bytes: Uint8Array, random: () => number): Uint8Array {
  const model = onnx.ModelProto.decode(bytes);
  const graphs = [model.graph, ...(model.functions ?? [])].flatMap((graph) => graph ?? []);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[] | null | undefined): T | undefined => list?.[below(list.length)];
  for (let count = 1 + below(4); count > 0; count--) {
    const graph = pick(graphs);
    const node = pick(graph?.node);
    const other = pick(graph?.node);
    if (node === undefined || other === undefined) continue;
    const changes = [
      () => changeAttribute(pick(node.attribute), pick, below),
      () => changeAttribute(pick(node.attribute), pick, below),
      () => changeInputs(node, other, below),
      () => {
        node.opType = other.opType ?? "";
      },
      () => {
        node.attribute = [...(node.attribute ?? []), ...(other.attribute ?? [])];
      },
      () => changeSizes(pick(model.graph?.input), pick, below),
      () => changeTensor(pick(model.graph?.initializer), pick),
      () => {
        const opset = pick(model.opsetImport);
        if (opset !== undefined) opset.version = below(40);
      },
    ];
    pick(changes)?.();
  }
  return onnx.ModelProto.encode(model).finish();
}

type Pick = <T>(list: readonly T[] | null | undefined) => T | undefined;
type Below = (limit: number) => number;

function changeAttribute(attribute: types.IAttributeProto | undefined, pick: Pick, below: Below): void {
  if (attribute === undefined) return;
  attribute.i = pick(oddIntegers) ?? 0;
  attribute.f = pick(oddFloats) ?? 0;
  attribute.s = Buffer.from(pick(oddTexts) ?? "");
  const ints = [...(attribute.ints ?? [])];
  if (below(2) === 0) ints.splice(below(ints.length + 1), below(2), pick(oddIntegers) ?? 0);
  else if (below(4) === 0) ints.length = 0;
  else ints[below(ints.length + 1)] = pick(oddIntegers) ?? 0;
  attribute.ints = [...ints].map((value) => value ?? 0);
}

function changeInputs(node: types.INodeProto, other: types.INodeProto, below: Below): void {
  const inputs = [...(node.input ?? [])];
  const at = below(inputs.length + 1);
  const candidates = [...(other.input ?? []), ...(other.output ?? []), ""];
  const name = candidates[below(candidates.length)] ?? "";
  const action = below(3);
  if (action === 0) inputs.splice(at, 1);
  else if (action === 1) inputs.splice(at, 0, name);
  else inputs[Math.min(at, Math.max(0, inputs.length - 1))] = name;
  node.input = inputs;
}

function changeSizes(info: types.IValueInfoProto | undefined, pick: Pick, below: Below): void {
  const shape = info?.type?.tensorType?.shape;
  if (!shape?.dim) return;
  const size = pick(oddIntegers) ?? 0;
  const dims = [...shape.dim];
  const dim = below(2) === 0 ? { dimValue: size } : { dimParam: "N" };
  dims.splice(below(dims.length + 1), below(2), dim);
  shape.dim = dims;
  if (info?.type?.tensorType && below(4) === 0) info.type.tensorType.elemType = below(27);
}

/** Another shape. Data that was outside stays there, without a length to contradict it. */
function changeTensor(tensor: types.ITensorProto | undefined, pick: Pick): void {
  if (tensor === undefined) return;
  const dims = [...(tensor.dims ?? [])];
  dims.push(pick([1, 2, 3, 8]) ?? 1);
  if (tensor.dataLocation === 1) {
    tensor.dims = dims.reverse();
    tensor.externalData = (tensor.externalData ?? []).filter(({ key }) => key === "location");
  } else tensor.dims = [...dims.slice(0, -1), 1];
}
