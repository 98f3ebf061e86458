/** @file FunctionProto and OperatorSetIdProto to drafts. */
import type { Attribute } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { type DecodeState, decodeAttribute, decodeInfo, decodeNode, normalizeDomain } from "./decode.ts";
import { DraftGraph, DraftNode } from "./draft.ts";
import { functionFields, opsetFields } from "./fields.ts";

export interface DraftFunction {
  name: string;
  domain: string;
  overload: string;
  readonly graph: DraftGraph;
  readonly opsets: Map<string, number>;
  readonly defaults: Attribute[];
}

/** The current field as a FunctionProto. */
export function decodeFunction(cursor: Cursor, state: DecodeState): DraftFunction {
  const graph = new DraftGraph(undefined, { offset: cursor.start, length: cursor.length });
  const result: DraftFunction = {
    name: "",
    domain: "",
    overload: "",
    graph,
    opsets: new Map(),
    defaults: [],
  };
  const holder = new DraftNode(-1, graph, { offset: cursor.start, length: cursor.length });
  const outer = cursor.enter();
  while (cursor.next()) decodeFunctionField(cursor, result, holder, state);
  cursor.leave(outer);
  graph.name = result.name;
  return result;
}

function decodeFunctionField(
  cursor: Cursor,
  result: DraftFunction,
  holder: DraftNode,
  state: DecodeState,
): void {
  const { graph } = result;
  switch (cursor.field) {
    case functionFields.name:
      result.name = cursor.text();
      return;
    case functionFields.domain:
      result.domain = normalizeDomain(cursor.text());
      return;
    case functionFields.overload:
      result.overload = cursor.text();
      return;
    case functionFields.input:
      graph.inputInfos.push({ name: cursor.text(), type: undefined });
      return;
    case functionFields.output:
      graph.outputInfos.push({ name: cursor.text(), type: undefined });
      return;
    case functionFields.node:
      graph.nodes.push(decodeNode(cursor, graph, state));
      return;
    case functionFields.opsetImport:
      decodeOpset(cursor, result.opsets);
      return;
    case functionFields.attributeProto:
      result.defaults.push(decodeAttribute(cursor, holder, state));
      return;
    case functionFields.valueInfo:
      graph.valueInfos.push(decodeInfo(cursor, "unknown", state));
      return;
  }
}

/** The current field as an OperatorSetIdProto, added to `opsets`. Versions of ONNX's own operators begin at 1: no runtime has any of an earlier one. */
export function decodeOpset(cursor: Cursor, opsets: Map<string, number>): void {
  let domain = "";
  let version = 0;
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === opsetFields.domain) domain = normalizeDomain(cursor.text());
    else if (cursor.field === opsetFields.version) version = cursor.integer();
  }
  cursor.leave(outer);
  if (domain === "" && version < 1)
    throw cursor.error("bad-opset", `opset ${version} of ai.onnx is imported, expected 1 or later`);
  opsets.set(domain, version);
}
