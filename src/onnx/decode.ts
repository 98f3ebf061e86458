/** @file GraphProto, NodeProto and AttributeProto to drafts, one pass over their bytes. */
import type { Attribute, TensorRef } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { type AttributeDraft, attributeValue, lenientText, maxTextBytes } from "./attribute.ts";
import { exactly, intern } from "./compact.ts";
import { type CopiedNodes, draftOfCopy, isPlace } from "./copied-nodes.ts";
import { DraftGraph, DraftNode, type NamedType } from "./draft.ts";
import { annotationFields, attributeFields, graphFields, nodeFields } from "./fields.ts";
import { decodeSparse } from "./sparse.ts";
import { decodeEntry, decodeTensor } from "./tensor.ts";
import { type Anonymous, decodeValueInfo } from "./type.ts";
import { UnknownTypes } from "./unknown-types.ts";

/** Real models nest a handful of levels; recursion deeper than this is an attack on the stack. */
const maxGraphDepth = 48;
/** An empty subgraph takes two bytes of a file and hundreds of memory. */
const maxSubgraphs = 100_000;
const maxSharedBytes = 128;
const maxShared = 4096;

/** Hands out ids, and bounds nesting, over one model. */
export interface DecodeState {
  nodes: number;
  subgraphs: number;
  depth: number;
  /** Whether any node has metadata_props. */
  hasNodeMetadata: boolean;
  /** By their bytes. */
  readonly attributes: Map<string, Attribute>;
  /** Of the main graph. */
  readonly copied: CopiedNodes;
  readonly unknownTypes: UnknownTypes;
}

export function freshState(copied: CopiedNodes): DecodeState {
  const { hasNodeMetadata } = copied;
  return {
    ...{ nodes: 0, subgraphs: 0, depth: 0 },
    ...{ hasNodeMetadata, attributes: new Map(), copied, unknownTypes: new UnknownTypes() },
  };
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
      graph.initializers.push(knownOf(decodeTensor(cursor), state));
      return;
    case graphFields.sparseInitializer:
      graph.initializers.push(knownOf(decodeSparse(cursor), state));
      return;
    case graphFields.input: {
      // Only the caller of the whole model can bind a symbol; a body's input takes what the loop passes.
      const anonymous: Anonymous = graph.owner === undefined ? "symbol" : "unknown";
      graph.inputInfos.push(named(cursor, "input", decodeInfo(cursor, anonymous, state)));
      return;
    }
    case graphFields.output:
      graph.outputInfos.push(named(cursor, "output", decodeInfo(cursor, "unknown", state)));
      return;
    case graphFields.valueInfo: {
      const info = decodeInfo(cursor, "unknown", state);
      if (info.name !== "") graph.valueInfos.push(info);
      return;
    }
    case graphFields.quantizationAnnotation:
      decodeAnnotation(cursor, graph);
      return;
  }
}

function knownOf(tensor: TensorRef, { unknownTypes }: DecodeState): TensorRef {
  unknownTypes.noteTensor(tensor);
  return tensor;
}

/** The current field as a ValueInfoProto. */
export function decodeInfo(cursor: Cursor, anonymous: Anonymous, { unknownTypes }: DecodeState): NamedType {
  const info = decodeValueInfo(cursor, anonymous);
  unknownTypes.noteDeclared(info.name, info.type);
  return info;
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

/** The current field as a NodeProto. */
export function decodeNode(cursor: Cursor, graph: DraftGraph, state: DecodeState): DraftNode {
  const id = state.nodes;
  state.nodes += 1;
  const copy = draftOfCopy(state.copied, { offset: cursor.start, length: cursor.length }, id, graph);
  if (copy !== undefined) return copy;
  const node = new DraftNode(id, graph, { offset: cursor.start, length: cursor.length });
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
        attributes.push(sharedAttribute(cursor, node, state));
        break;
      case nodeFields.metadataProps:
        state.hasNodeMetadata = true;
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
  if (attributes.length > 0) node.attributes = exactly(attributes);
  return node;
}

/** "ai.onnx" and "" are one domain. */
export function normalizeDomain(domain: string): string {
  return domain === "ai.onnx" ? "" : domain;
}

/** Attributes of a few bytes stand in every layer alike: equal bytes are decoded once, and are one object. */
function sharedAttribute(cursor: Cursor, node: DraftNode, state: DecodeState): Attribute {
  if (cursor.length > maxSharedBytes) return decodeAttribute(cursor, node, state);
  const key = cursor.key();
  const known = state.attributes.get(key);
  if (known !== undefined) return known;
  const attribute = decodeAttribute(cursor, node, state);
  if (!isPlace(attribute) && state.attributes.size < maxShared) state.attributes.set(key, attribute);
  return attribute;
}

/** The current field as an AttributeProto of `node`. */
export function decodeAttribute(cursor: Cursor, node: DraftNode, state: DecodeState): Attribute {
  const draft: AttributeDraft = { name: "", code: 0, reference: "", number: 0, seen: 0 };
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
      draft.unreadBytes = cursor.length > maxTextBytes ? cursor.length : undefined;
      draft.text = lenientText(cursor);
      break;
    case attributeFields.t:
      draft.tensor = decodeTensor(cursor);
      state.unknownTypes.noteTensor(draft.tensor, `a tensor of node "${node.name}" (${node.opType})`);
      break;
    case attributeFields.g:
      draft.graph = decodeSubgraph(cursor, node, state);
      break;
    case attributeFields.floats: {
      draft.floats ??= [];
      const { floats } = draft;
      cursor.repeated("fixed32", (value) => floats.push(value));
      break;
    }
    case attributeFields.ints: {
      draft.integers ??= [];
      const { integers } = draft;
      cursor.repeated("varint", (value) => integers.push(value));
      break;
    }
    case attributeFields.strings:
      draft.strings ??= [];
      draft.strings.push(lenientText(cursor) ?? "");
      break;
    case attributeFields.graphs:
      draft.graphs ??= [];
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
