/** @file A model file with its weights inside, as most are: of one with external data beside it. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";

const { onnx } = onnxProto;

/** The same model as one file; metadata of nodes is not carried over. */
export function inlined(file: string): Uint8Array {
  const model = onnx.ModelProto.decode(readFileSync(file));
  const graph = model.graph ?? {};
  const constants = (graph.node ?? []).flatMap(({ attribute }) =>
    (attribute ?? []).flatMap(({ t }) => t ?? []),
  );
  for (const tensor of [...(graph.initializer ?? []), ...constants]) bringIn(tensor, path.dirname(file));
  return onnx.ModelProto.encode(model).finish();
}

function bringIn(tensor: types.ITensorProto, folder: string): void {
  const said = new Map((tensor.externalData ?? []).map(({ key, value }) => [key, value ?? ""]));
  const location = said.get("location");
  if (location === undefined) return;
  tensor.rawData = bytesIn(
    path.join(folder, location),
    Number(said.get("offset")),
    Number(said.get("length")),
  );
  tensor.externalData = [];
  tensor.dataLocation = onnx.TensorProto.DataLocation.DEFAULT;
}

function bytesIn(file: string, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const opened = openSync(file, "r");
  readSync(opened, bytes, 0, length, offset);
  closeSync(opened);
  return bytes;
}
