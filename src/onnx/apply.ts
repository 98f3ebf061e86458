/** @file A patch to the bytes of a new model: edits where the patch says so, copies everywhere else. */
import { invariant } from "../ir/errors.ts";
import type { Graph, Model, ValueType } from "../ir/model.ts";
import type { FunctionSpec, GraphPatch, NodeSpec, Patch, TensorSpec } from "../ir/patch.ts";
import { Cursor } from "../wire/cursor.ts";
import type { ByteSource } from "../wire/source.ts";
import { type Edit, type Segment, splice } from "../wire/splice.ts";
import {
  bytesSegment,
  entry,
  field,
  functionMessage,
  integerField,
  keptTensorFields,
  message,
  nodeMessage,
  opsetMessage,
  type Placement,
  tensorMessage,
  tensorName,
  valueInfoMessage,
} from "./encode.ts";
import {
  entryFields,
  functionFields,
  graphFields,
  modelFields,
  tensorFields,
  valueInfoFields,
} from "./fields.ts";
import { decodeOpset } from "./function.ts";

/** Small tensors stay in the model, as exporters have it. */
const inlineBytes = 1024;
/** ONNX Runtime maps data files: tensors start on pages, so that they can be used in place. */
const dataAlignmentBytes = 4096;

export interface PatchedModel {
  readonly model: readonly Segment[];
  /** Tensors that moved or changed, in the order they lie in the new data file; undefined where there is none. */
  readonly data: readonly Segment[] | undefined;
}

/**
 * The bytes of `model` with `patch` applied. Changed tensors that were external go to a new data file called
 * `dataLocation`; those that were inside stay inside.
 */
export function applyPatch(
  model: Model,
  source: ByteSource,
  patch: Patch,
  dataLocation: string,
): PatchedModel {
  const data = new DataFile(dataLocation);
  const edits = [...patch.graphs].flatMap(([graph, graphPatch]) =>
    new GraphEdits(source, graph, graphPatch, data, fieldsOf(model, graph)).build(),
  );
  edits.push(...modelEdits(source, patch), ...irVersionEdit(model, source, patch));
  return { model: splice(source, edits), data: data.isEmpty ? undefined : data.segments };
}

/** A function's body is a list of nodes in the function itself. */
function fieldsOf(model: Model, graph: Graph): { readonly node: number; readonly valueInfo: number } {
  const isFunction = [...model.functions.values()].some((definition) => definition.graph === graph);
  return isFunction ? functionFields : graphFields;
}

class DataFile {
  readonly segments: Segment[] = [];
  readonly #location: string;
  #offset = 0;

  constructor(location: string) {
    this.#location = location;
  }

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  place(spec: TensorSpec): Placement {
    const gap = (dataAlignmentBytes - (this.#offset % dataAlignmentBytes)) % dataAlignmentBytes;
    if (gap > 0) this.segments.push(bytesSegment(new Uint8Array(gap)));
    const offset = this.#offset + gap;
    const { bytes } = spec;
    const source = {
      name: "tensor",
      size: bytes.size,
      readInto: bytes.readInto.bind(bytes),
      close: () => {},
    };
    this.segments.push({ kind: "copy", source, offset: 0, length: bytes.size });
    this.#offset = offset + bytes.size;
    return { kind: "external", location: this.#location, offset };
  }
}

/** The edits of one graph, found in one walk over its fields. */
class GraphEdits {
  readonly #source: ByteSource;
  readonly #graph: Graph;
  readonly #patch: GraphPatch;
  readonly #data: DataFile;
  readonly #fields: { readonly node: number; readonly valueInfo: number };
  readonly #nodes: ReadonlyMap<number, readonly NodeSpec[]>;
  readonly #edits: Edit[] = [];

  constructor(
    source: ByteSource,
    graph: Graph,
    patch: GraphPatch,
    data: DataFile,
    fields: { readonly node: number; readonly valueInfo: number },
  ) {
    this.#source = source;
    this.#graph = graph;
    this.#patch = patch;
    this.#data = data;
    this.#fields = fields;
    this.#nodes = new Map([...patch.nodes].map(([node, specs]) => [node.span.offset, specs]));
  }

  build(): readonly Edit[] {
    const { offset, length } = this.#graph.span;
    const cursor = new Cursor(this.#source, offset, length);
    let started = false;
    while (cursor.next()) {
      if (cursor.field === this.#fields.node && !started) {
        started = true;
        this.#insert(cursor.tagStart, [...this.#addedTensors(), ...this.#nodeFields(this.#patch.first)]);
      }
      const specs = cursor.field === this.#fields.node ? this.#nodes.get(cursor.start) : undefined;
      if (specs !== undefined) this.#placeNodes(cursor, specs);
      const replacement = this.#replacementOf(cursor);
      if (replacement !== undefined) this.#replace(cursor, replacement);
    }
    const behind = [...(started ? [] : [...this.#addedTensors(), ...this.#nodeFields(this.#patch.first)])];
    this.#insert(offset + length, [...behind, ...this.#nodeFields(this.#patch.last)]);
    return this.#edits;
  }

  /** A node that only gets neighbours is not rewritten: graphs inside it may have edits of their own. */
  #placeNodes(cursor: Cursor, specs: readonly NodeSpec[]): void {
    const kept = specs.findIndex((spec) => isUnchanged(spec) && spec.base?.span.offset === cursor.start);
    if (kept < 0) {
      this.#replace(cursor, this.#nodeFields(specs));
      return;
    }
    this.#insert(cursor.tagStart, this.#nodeFields(specs.slice(0, kept)));
    this.#insert(cursor.start + cursor.length, this.#nodeFields(specs.slice(kept + 1)));
  }

  #replacementOf(cursor: Cursor): readonly Segment[] | undefined {
    const { node, valueInfo } = this.#fields;
    if (cursor.field === valueInfo) return this.#valueInfo(cursor, this.#patch.declared);
    const isEdge = cursor.field === graphFields.input || cursor.field === graphFields.output;
    if (isEdge && node === graphFields.node) return this.#valueInfo(cursor, this.#patch.edges);
    if (cursor.field === graphFields.initializer && node === graphFields.node)
      return this.#initializer(cursor);
    return undefined;
  }

  #valueInfo(cursor: Cursor, types: ReadonlyMap<string, ValueType | null>): readonly Segment[] | undefined {
    if (types.size === 0) return undefined;
    const name = textField(this.#source, cursor, valueInfoFields.name);
    const type = types.get(name);
    if (type === undefined) return undefined;
    return type === null ? [] : field(cursor.field, [bytesSegment(valueInfoMessage(name, type))]);
  }

  #initializer(cursor: Cursor): readonly Segment[] | undefined {
    if (this.#patch.tensors.size === 0) return undefined;
    const name = textField(this.#source, cursor, tensorFields.name);
    const spec = this.#patch.tensors.get(name);
    if (spec === undefined) return undefined;
    if (spec === null) return [];
    const old = this.#graph.values.get(name)?.initializer;
    invariant(old !== undefined, `a patch changes "${name}", which is no initializer`);
    const placement: Placement = old.data.kind === "external" ? this.#data.place(spec) : { kind: "inline" };
    return field(
      graphFields.initializer,
      tensorMessage(spec, keptTensorFields(this.#source, old.span), placement),
    );
  }

  #addedTensors(): readonly Segment[] {
    return [...this.#patch.added].flatMap(([name, spec]) => {
      const placement: Placement = this.#isExternal(spec) ? this.#data.place(spec) : { kind: "inline" };
      return field(graphFields.initializer, tensorMessage(spec, [tensorName(name)], placement));
    });
  }

  /** A new tensor goes where the graph keeps its other large ones. */
  #isExternal(spec: TensorSpec): boolean {
    if (spec.bytes.size <= inlineBytes) return false;
    for (const { initializer } of this.#graph.values.values())
      if (initializer?.data.kind === "external") return true;
    return false;
  }

  #nodeFields(specs: readonly NodeSpec[]): Segment[] {
    return specs.flatMap((spec) => field(this.#fields.node, nodeMessage(this.#source, spec)));
  }

  #replace(cursor: Cursor, replacement: readonly Segment[]): void {
    const offset = cursor.tagStart;
    const length = cursor.start + cursor.length - offset;
    this.#edits.push({ parent: this.#graph.span, offset, length, replacement });
  }

  #insert(offset: number, replacement: readonly Segment[]): void {
    if (replacement.length > 0)
      this.#edits.push({ parent: this.#graph.span, offset, length: 0, replacement });
  }
}

/** A spec that says nothing but which node. */
function isUnchanged(spec: NodeSpec): boolean {
  return Object.entries(spec).every(([key, value]) => key === "base" || value === undefined);
}

/** A text field of the message under the cursor. */
function textField(source: ByteSource, { start, length }: Cursor, number: number): string {
  const cursor = new Cursor(source, start, length);
  while (cursor.next()) if (cursor.field === number) return cursor.text();
  return "";
}

/** The IR version raised, where the patch needs a newer one. */
function irVersionEdit(model: Model, source: ByteSource, patch: Patch): Edit[] {
  if (model.irVersion >= patch.leastIrVersion) return [];
  const parent = { offset: 0, length: source.size };
  const replacement = [bytesSegment(integerField(modelFields.irVersion, patch.leastIrVersion))];
  const cursor = new Cursor(source);
  while (cursor.next()) {
    if (cursor.field !== modelFields.irVersion) continue;
    const length = cursor.start + cursor.length - cursor.tagStart;
    return [{ parent, offset: cursor.tagStart, length, replacement }];
  }
  return [{ parent, offset: 0, length: 0, replacement }];
}

/** Imports of domains that the patch gives another version: they go, and the patch's own come at the end. */
function raisedImports(source: ByteSource, patch: Patch): Edit[] {
  const parent = { offset: 0, length: source.size };
  const edits: Edit[] = [];
  const cursor = new Cursor(source);
  while (cursor.next()) {
    if (cursor.field !== modelFields.opsetImport) continue;
    const offset = cursor.tagStart;
    const length = cursor.start + cursor.length - offset;
    const imported = new Map<string, number>();
    decodeOpset(cursor, imported);
    const isReplaced = [...imported.keys()].some((domain) => patch.opsets.has(domain));
    if (isReplaced) edits.push({ parent, offset, length, replacement: [] });
  }
  return edits;
}

/** Functions, opset imports and metadata at the top level. */
function modelEdits(source: ByteSource, patch: Patch): Edit[] {
  const parent = { offset: 0, length: source.size };
  const edits: Edit[] = [];
  if (patch.metadata.size > 0) {
    const cursor = new Cursor(source);
    while (cursor.next()) {
      if (cursor.field !== modelFields.metadataProps) continue;
      if (!patch.metadata.has(textField(source, cursor, entryFields.key))) continue;
      edits.push({
        parent,
        offset: cursor.tagStart,
        length: cursor.start + cursor.length - cursor.tagStart,
        replacement: [],
      });
    }
  }
  if (patch.opsets.size > 0) edits.push(...raisedImports(source, patch));
  const tail: Segment[] = [...patch.opsets].flatMap(([domain, version]) =>
    field(modelFields.opsetImport, [bytesSegment(opsetMessage(domain, version))]),
  );
  const metadata = message((writer) => {
    for (const [key, value] of patch.metadata) entry(writer, modelFields.metadataProps, key, value);
  });
  const functions = patch.functions.flatMap((spec: FunctionSpec) =>
    field(modelFields.functions, functionMessage(source, spec)),
  );
  const added = [...tail, bytesSegment(metadata), ...functions];
  if (patch.opsets.size + patch.metadata.size + patch.functions.length > 0) {
    edits.push({ parent, offset: source.size, length: 0, replacement: added });
  }
  return edits;
}
