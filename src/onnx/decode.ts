/** @file GraphProto, NodeProto and AttributeProto to drafts, one pass over their bytes. */
import type { Attribute, AttributeValue, Graph, TensorRef } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { DraftGraph, DraftNode, type NamedType } from "./draft.ts";
import { annotationFields, attributeFields, graphFields, nodeFields } from "./fields.ts";
import { decodeSparse } from "./sparse.ts";
import { decodeEntry, decodeTensor } from "./tensor.ts";
import { type Anonymous, decodeValueInfo } from "./type.ts";

/** Real models nest a handful of levels; recursion deeper than this is an attack on the stack. */
const maxGraphDepth = 48;
/** An empty subgraph takes two bytes of a file and hundreds of memory. */
const maxSubgraphs = 100_000;

/** Hands out ids, and bounds nesting, over one model. */
export interface DecodeState {
  nodes: number;
  subgraphs: number;
  depth: number;
}

/** The current field as a GraphProto. */
export function decodeGraph(cursor: Cursor, owner: DraftNode | undefined, state: DecodeState): DraftGraph {
  state.depth += 1;
  if (state.depth > maxGraphDepth)
    throw cursor.error("too-deep", `subgraphs nest beyond ${maxGraphDepth} levels`);
  const graph = new DraftGraph(owner, { offset: cursor.start, length: cursor.length });
  const outer = cursor.enter();
  while (cursor.next()) decodeGraphField(cursor, graph, state);
  cursor.leave(outer);
  state.depth -= 1;
  return graph;
}

function decodeGraphField(cursor: Cursor, graph: DraftGraph, state: DecodeState): void {
  switch (cursor.field) {
    case graphFields.node:
      graph.nodes.push(decodeNode(cursor, graph, state));
      return;
    case graphFields.name:
      graph.name = cursor.text();
      return;
    case graphFields.initializer:
      graph.initializers.push(decodeTensor(cursor));
      return;
    case graphFields.sparseInitializer:
      graph.initializers.push(decodeSparse(cursor));
      return;
    case graphFields.input: {
      // Only the caller of the whole model can bind a symbol; a body's input takes what the loop passes.
      const anonymous: Anonymous = graph.owner === undefined ? "symbol" : "unknown";
      graph.inputInfos.push(named(cursor, "input", decodeValueInfo(cursor, anonymous)));
      return;
    }
    case graphFields.output:
      graph.outputInfos.push(named(cursor, "output", decodeValueInfo(cursor, "unknown")));
      return;
    case graphFields.valueInfo: {
      const info = decodeValueInfo(cursor, "unknown");
      if (info.name !== "") graph.valueInfos.push(info);
      return;
    }
    case graphFields.quantizationAnnotation:
      decodeAnnotation(cursor, graph);
      return;
  }
}

/** The current field as a TensorAnnotation: it names a tensor, and those of its scale and zero point. */
function decodeAnnotation(cursor: Cursor, graph: DraftGraph): void {
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === annotationFields.tensor) graph.annotate(cursor.text());
    else if (cursor.field === annotationFields.parameters) graph.annotate(decodeEntry(cursor).value);
  }
  cursor.leave(outer);
}

/** Refused at once: an empty entry takes two bytes of a file, and much more of memory. */
function named(cursor: Cursor, what: string, info: NamedType): NamedType {
  if (info.name === "") throw cursor.error("no-name", `an ${what} of a graph has no name`);
  return info;
}

/** Operator and domain names repeat a million times: one string each. */
const interned = new Map<string, string>();
const maxInterned = 4096;

function intern(text: string): string {
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size < maxInterned) interned.set(text, text);
  return text;
}

/** The current field as a NodeProto. */
export function decodeNode(cursor: Cursor, graph: DraftGraph, state: DecodeState): DraftNode {
  const node = new DraftNode(state.nodes, graph, { offset: cursor.start, length: cursor.length });
  state.nodes += 1;
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: Attribute[] = [];
  const outer = cursor.enter();
  while (cursor.next()) {
    switch (cursor.field) {
      case nodeFields.input:
        inputs.push(cursor.text());
        break;
      case nodeFields.output:
        outputs.push(cursor.text());
        break;
      case nodeFields.name:
        node.name = cursor.text();
        break;
      case nodeFields.opType:
        node.opType = intern(cursor.text());
        break;
      case nodeFields.domain:
        node.domain = normalizeDomain(intern(cursor.text()));
        break;
      case nodeFields.overload:
        node.overload = intern(cursor.text());
        break;
      case nodeFields.attribute:
        attributes.push(decodeAttribute(cursor, node, state));
        break;
    }
  }
  if (node.opType === "") {
    throw cursor.error(
      "no-operator",
      `node ${node.id} ("${node.name}") names no operator (op_type is empty)`,
    );
  }
  cursor.leave(outer);
  node.inputNames = inputs;
  node.outputNames = outputs;
  if (attributes.length > 0) node.attributes = attributes;
  return node;
}

/** "ai.onnx" and "" are one domain. */
export function normalizeDomain(domain: string): string {
  return domain === "ai.onnx" ? "" : domain;
}

interface AttributeDraft {
  name: string;
  code: number;
  reference: string;
  number: number;
  text: string | undefined;
  tensor: TensorRef | undefined;
  graph: Graph | undefined;
  floats: number[];
  integers: number[];
  strings: string[];
  graphs: Graph[];
  /** The value field seen last: tells the type where an old file leaves `type` out. */
  seen: number;
}

/** The current field as an AttributeProto of `node`. */
export function decodeAttribute(cursor: Cursor, node: DraftNode, state: DecodeState): Attribute {
  const draft: AttributeDraft = {
    name: "",
    code: 0,
    reference: "",
    number: 0,
    text: undefined,
    tensor: undefined,
    graph: undefined,
    floats: [],
    integers: [],
    strings: [],
    graphs: [],
    seen: 0,
  };
  const outer = cursor.enter();
  while (cursor.next()) decodeAttributeField(cursor, draft, node, state);
  cursor.leave(outer);
  if (draft.name === "")
    throw cursor.error("no-name", `an attribute of node "${node.name}" (${node.opType}) has no name`);
  return { name: draft.name, value: attributeValue(draft) };
}

function decodeAttributeField(
  cursor: Cursor,
  draft: AttributeDraft,
  node: DraftNode,
  state: DecodeState,
): void {
  const { field } = cursor;
  switch (field) {
    case attributeFields.name:
      draft.name = intern(cursor.text());
      return;
    case attributeFields.type:
      draft.code = cursor.int32();
      return;
    case attributeFields.refAttrName:
      draft.reference = cursor.text();
      return;
    case attributeFields.f:
      draft.number = cursor.float();
      break;
    case attributeFields.i:
      draft.number = cursor.integer();
      break;
    case attributeFields.s:
      draft.text = lenientText(cursor);
      break;
    case attributeFields.t:
      draft.tensor = decodeTensor(cursor);
      break;
    case attributeFields.g:
      draft.graph = decodeSubgraph(cursor, node, state);
      break;
    case attributeFields.floats:
      cursor.repeated("fixed32", (value) => draft.floats.push(value));
      break;
    case attributeFields.ints:
      cursor.repeated("varint", (value) => draft.integers.push(value));
      break;
    case attributeFields.strings:
      draft.strings.push(lenientText(cursor) ?? "");
      break;
    case attributeFields.graphs:
      draft.graphs.push(decodeSubgraph(cursor, node, state));
      break;
    default:
      return;
  }
  draft.seen = field;
}

function decodeSubgraph(cursor: Cursor, node: DraftNode, state: DecodeState): DraftGraph {
  state.subgraphs += 1;
  if (state.subgraphs > maxSubgraphs) {
    throw cursor.error("too-many-subgraphs", `the model has more than ${maxSubgraphs} subgraphs`);
  }
  const graph = decodeGraph(cursor, node, state);
  node.addSubgraph(graph);
  return graph;
}

/** String attributes are bytes by the schema (a serialized engine may sit in one): long or non-text ones stay unread. */
function lenientText(cursor: Cursor): string | undefined {
  const maxTextBytes = 1 << 16;
  return cursor.length > maxTextBytes ? undefined : cursor.textOrUndefined();
}

/** AttributeProto.AttributeType to the field that holds its value. */
const fieldOfCode: ReadonlyMap<number, number> = new Map([
  [1, attributeFields.f],
  [2, attributeFields.i],
  [3, attributeFields.s],
  [4, attributeFields.t],
  [5, attributeFields.g],
  [6, attributeFields.floats],
  [7, attributeFields.ints],
  [8, attributeFields.strings],
  [10, attributeFields.graphs],
]);

function attributeValue(draft: AttributeDraft): AttributeValue {
  if (draft.reference !== "") return { type: "reference", to: draft.reference };
  const other: AttributeValue = { type: "other", code: draft.code };
  switch (draft.code === 0 ? draft.seen : fieldOfCode.get(draft.code)) {
    case attributeFields.f:
      return { type: "float", value: draft.number };
    case attributeFields.i:
      return { type: "int", value: draft.number };
    case attributeFields.s:
      return draft.text === undefined && draft.seen !== 0
        ? other
        : { type: "string", value: draft.text ?? "" };
    case attributeFields.t:
      return draft.tensor === undefined ? other : { type: "tensor", tensor: draft.tensor };
    case attributeFields.g:
      return draft.graph === undefined ? other : { type: "graph", graph: draft.graph };
    case attributeFields.floats:
      return { type: "floats", values: draft.floats };
    case attributeFields.ints:
      return { type: "ints", values: draft.integers };
    case attributeFields.strings:
      return { type: "strings", values: draft.strings };
    case attributeFields.graphs:
      return { type: "graphs", graphs: draft.graphs };
    default:
      return other;
  }
}
