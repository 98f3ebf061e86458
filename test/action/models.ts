/** @file Exports of the zoo with other widths, as a change of the network gives them: Python lines and names stay. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import onnxProto, { type onnx as types } from "onnx-proto";
import { Cursor } from "../../src/wire/cursor.ts";
import { BufferSource } from "../../src/wire/source.ts";
import { lengthPrefixed } from "../../src/wire/splice.ts";

const { onnx } = onnxProto;
const zoo = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "fixtures", "zoo");

export function zooModel(name: string): Buffer {
  return readFileSync(path.join(zoo, `${name}.onnx`));
}

/** Every dimension of one size gets another; `producer` alone makes another file of the same network. */
export function resized(
  name: string,
  sizes: Readonly<Record<number, number>>,
  producer?: string,
): Uint8Array {
  const original = zooModel(name);
  const model = onnx.ModelProto.decode(original);
  const graph = model.graph ?? fail(name);
  const sizeOf = (size: number | Long | null | undefined) => sizes[Number(size)] ?? Number(size);
  for (const tensor of graph.initializer ?? []) {
    const dims = (tensor.dims ?? []).map(sizeOf);
    if (dims.join() === (tensor.dims ?? []).map(Number).join()) continue;
    tensor.dims = dims;
    const bytes = 4 * dims.reduce((product, size) => product * size, 1);
    if ((tensor.externalData?.length ?? 0) === 0) tensor.rawData = new Uint8Array(bytes);
    for (const entry of tensor.externalData ?? []) if (entry.key === "length") entry.value = String(bytes);
  }
  for (const value of [...(graph.input ?? []), ...(graph.output ?? []), ...(graph.valueInfo ?? [])])
    for (const dim of value.type?.tensorType?.shape?.dim ?? [])
      if (dim.dimParam == null || dim.dimParam === "") dim.dimValue = sizeOf(dim.dimValue);
  if (producer !== undefined) model.producerName = producer;
  return withNodesOf(original, onnx.ModelProto.encode(model).finish());
}

const fieldOf = { graph: 7, node: 1 } as const;

/** onnx-proto knows no metadata of nodes, where exporters leave their lines of Python: nodes stay as their bytes are. */
function withNodesOf(original: Uint8Array, made: Uint8Array): Uint8Array {
  const graphOf = (bytes: Uint8Array) =>
    fieldsIn(bytes).find(({ number }) => number === fieldOf.graph) ?? fail("a model");
  const isNode = ({ number }: Field) => number === fieldOf.node;
  const graph = Buffer.concat(
    [
      ...fieldsIn(graphOf(original).payload).filter(isNode),
      ...fieldsIn(graphOf(made).payload).filter((field) => !isNode(field)),
    ].map(({ whole }) => whole),
  );
  return Buffer.concat([
    ...fieldsIn(made)
      .filter(({ number }) => number !== fieldOf.graph)
      .map(({ whole }) => whole),
    lengthPrefixed(fieldOf.graph, graph.length),
    graph,
  ]);
}

interface Field {
  readonly number: number;
  readonly whole: Uint8Array;
  readonly payload: Uint8Array;
}

function fieldsIn(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  const cursor = new Cursor(new BufferSource("a model", Buffer.from(bytes)));
  while (cursor.next()) {
    const end = cursor.start + cursor.length;
    const [whole, payload] = [bytes.subarray(cursor.tagStart, end), bytes.subarray(cursor.start, end)];
    fields.push({ number: cursor.field, whole, payload });
  }
  return fields;
}

type Long = NonNullable<types.ITensorProto["dims"]>[number];

function fail(name: string): never {
  throw new Error(`${name} has no graph`);
}
