/** @file Bytes, wherever they are, to a `Model`. Every failure names the source and what was found. */
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import {
  type FunctionDefinition,
  functionKey,
  type Model,
  type ModelReader,
  type Node,
  type TensorRef,
} from "../ir/model.ts";
import { Cursor } from "../wire/cursor.ts";
import { WireError } from "../wire/error.ts";
import { BufferSource, type ByteSource } from "../wire/source.ts";
import { type CopiedNodes, noCopies } from "./copied-nodes.ts";
import { DataFiles } from "./data-files.ts";
import { type DecodeState, decodeGraph, freshState } from "./decode.ts";
import type { DraftGraph } from "./draft.ts";
import { readElements } from "./elements.ts";
import { modelFields, nodeFields } from "./fields.ts";
import { type DraftFunction, decodeFunction, decodeOpset } from "./function.ts";
import { type LinkState, linkGraph } from "./link.ts";
import { oversize } from "./size-limit.ts";
import { rejectForeign } from "./sniff.ts";
import { decodeEntry } from "./tensor.ts";

const maxFunctions = 10_000;
/** Newest IR version whose messages this reader knows. Newer files are read, and said to be newer. */
export const newestIrVersion = 14;
/** Versions of ai.onnx whose operators tc-lint knows. */
const oldestOpset = 7;
const newestOpset = 26;

export interface OpenModel extends Model, Disposable {
  /** Odd, but no error: printed with the report. */
  readonly notices: readonly Notice[];
  readonly source: ByteSource;
  readonly files: DataFiles;
  readonly hasNodeMetadata: boolean;
}

export interface Notice {
  readonly code: string;
  readonly message: string;
}

/** A model held in memory, for instance `onnx.ModelProto.encode(model).finish()` of onnx-proto. Throws InputError. */
export function modelFromBytes(bytes: Uint8Array, name = "model.onnx"): OpenModel {
  return reported(() => readModel(new BufferSource(name, bytes), new DataFiles(undefined), noCopies));
}

/** A model by the source of its bytes, closed with it: of a file, or of what a patch has made, with what that has copied. Throws InputError. */
export function modelFromSource(source: ByteSource, files: DataFiles, copied = noCopies): OpenModel {
  return reported(() => readModel(source, files, copied));
}

/** What `action` gives; a fault of the bytes is one of the input. */
export function reported<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}

interface Draft {
  irVersion: number;
  producerName: string;
  producerVersion: string;
  graph: DraftGraph | undefined;
  hasTraining: boolean;
  readonly opsets: Map<string, number>;
  readonly metadata: Map<string, string>;
  readonly functions: DraftFunction[];
}

function emptyDraft(): Draft {
  return {
    irVersion: 0,
    producerName: "",
    producerVersion: "",
    graph: undefined,
    hasTraining: false,
    opsets: new Map(),
    metadata: new Map(),
    functions: [],
  };
}

function readModel(source: ByteSource, files: DataFiles, copied: CopiedNodes): OpenModel {
  rejectForeign(source);
  const draft = emptyDraft();
  const state = freshState(copied);
  const cursor = new Cursor(source);
  while (cursor.next()) decodeModelField(cursor, draft, state);
  const { graph } = draft;
  if (graph === undefined) {
    throw new WireError(
      "no-graph",
      `${source.name}: holds no graph; this is not an ONNX model, or an empty one`,
    );
  }
  const unknown = draft.irVersion > newestIrVersion ? undefined : state.unknownTypes.refusal();
  if (unknown !== undefined) throw new WireError("bad-dtype", `${source.name}: ${unknown}`);
  const link: LinkState = { path: source.name, values: 0, unsorted: 0 };
  linkGraph(graph, [], link);
  const functions = linkFunctions(draft.functions, link);
  return {
    path: source.name,
    bytes: source.size,
    irVersion: draft.irVersion,
    opsets: draft.opsets,
    producer: { name: draft.producerName, version: draft.producerVersion },
    metadata: draft.metadata,
    graph,
    hasTraining: draft.hasTraining,
    functions,
    valueCount: link.values,
    nodeCount: state.nodes,
    reader: readerOf(source, files, state.hasNodeMetadata),
    notices: noticesOf(draft, state, link, source.size),
    source,
    files,
    hasNodeMetadata: state.hasNodeMetadata,
    [Symbol.dispose]: () => {
      source.close();
      files.close();
    },
  };
}

function decodeModelField(cursor: Cursor, draft: Draft, state: DecodeState): void {
  switch (cursor.field) {
    case modelFields.irVersion:
      draft.irVersion = cursor.integer();
      return;
    case modelFields.producerName:
      draft.producerName = cursor.text();
      return;
    case modelFields.producerVersion:
      draft.producerVersion = cursor.text();
      return;
    case modelFields.opsetImport:
      decodeOpset(cursor, draft.opsets);
      return;
    case modelFields.metadataProps: {
      const { key, value } = decodeEntry(cursor);
      draft.metadata.set(key, value);
      return;
    }
    case modelFields.trainingInfo:
      draft.hasTraining = true;
      return;
    case modelFields.functions:
      if (draft.functions.length >= maxFunctions) {
        throw cursor.error("too-many-functions", `the model has more than ${maxFunctions} local functions`);
      }
      draft.functions.push(decodeFunction(cursor, state));
      return;
    case modelFields.graph:
      // Readers disagree on a repeated message (last one wins, or both merged): two tools would see two models.
      if (draft.graph !== undefined) throw cursor.error("duplicate-graph", "the model holds two graphs");
      draft.graph = decodeGraph(cursor, undefined, state);
      return;
  }
}

function linkFunctions(drafts: readonly DraftFunction[], link: LinkState): Map<string, FunctionDefinition> {
  const functions = new Map<string, FunctionDefinition>();
  for (const draft of drafts) {
    const key = functionKey(draft.domain, draft.name, draft.overload);
    if (functions.has(key)) {
      throw new WireError(
        "duplicate-function",
        `${link.path}: function "${draft.domain}::${draft.name}" is defined twice`,
      );
    }
    linkGraph(draft.graph, [], link);
    functions.set(key, draft);
  }
  return functions;
}

function noticesOf(draft: Draft, { unknownTypes }: DecodeState, link: LinkState, bytes: number): Notice[] {
  const notices: Notice[] = [];
  const tooLarge = oversize(bytes);
  if (tooLarge !== undefined) notices.push({ code: "too-large", message: tooLarge });
  if (draft.irVersion > newestIrVersion || draft.irVersion < 3) {
    notices.push({
      code: "ir-version",
      message: `IR version ${draft.irVersion} is outside 3 to ${newestIrVersion}: fields newer than this reader are not looked at`,
    });
  }
  const opset = draft.opsets.get("");
  if (draft.opsets.size === 0) {
    notices.push({
      code: "no-opset",
      message: "the model imports no opset: operators are read as of version 1",
    });
  } else if (opset !== undefined && (opset < oldestOpset || opset > newestOpset)) {
    notices.push({
      code: "opset-version",
      message: `opset ${opset} is outside ${oldestOpset} to ${newestOpset}: operators may mean something else in it`,
    });
  }
  const newer = unknownTypes.notice();
  if (newer !== undefined) notices.push({ code: "unknown-dtype", message: newer });
  if (link.unsorted > 0) {
    notices.push({
      code: "unsorted",
      message: `${counted(link.unsorted, "graph lists", "graphs list")} a node before the nodes it needs`,
    });
  }
  return notices;
}

const noMetadata: ReadonlyMap<string, string> = new Map();

function readerOf(source: ByteSource, files: DataFiles, hasNodeMetadata: boolean): ModelReader {
  return {
    elements: (tensor: TensorRef, limit: number) =>
      whereThere(() => reported(() => readElements(source, files, tensor, limit))),
    nodeMetadata: (node: Node) => (hasNodeMetadata ? reported(() => readMetadata(source, node)) : noMetadata),
  };
}

/** A tensor that a patch computes from external data that is not there is not there either. */
function whereThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return undefined;
    throw error;
  }
}

function readMetadata(source: ByteSource, { span }: Node): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  const cursor = new Cursor(source, span.offset, span.length);
  while (cursor.next()) {
    if (cursor.field !== nodeFields.metadataProps) continue;
    const { key, value } = decodeEntry(cursor);
    metadata.set(key, value);
  }
  return metadata;
}
