/** @file A patch to the bytes of a new model: edits where the patch says so, copies everywhere else. */
import { pushAll } from "../ir/lists.ts";
import type { Graph, Model } from "../ir/model.ts";
import type { FunctionSpec, Patch } from "../ir/patch.ts";
import { Cursor } from "../wire/cursor.ts";
import type { ByteSource } from "../wire/source.ts";
import { type Edit, type Segment, splice } from "../wire/splice.ts";
import {
  bytesSegment,
  entry,
  field,
  functionMessage,
  integerField,
  message,
  opsetMessage,
} from "./encode.ts";
import { entryFields, functionFields, graphFields, modelFields } from "./fields.ts";
import { decodeOpset } from "./function.ts";
import { type ConstantStyle, GraphEdits, type GraphForm, textField } from "./graph-edits.ts";
import { DataFile } from "./new-data.ts";

export interface PatchedModel {
  readonly model: readonly Segment[];
  /** Tensors that moved or changed, in the order they lie in the new data file; undefined where there is none. */
  readonly data: readonly Segment[] | undefined;
}

/**
 * The bytes of `model` with `patch` applied. Changed tensors that were external go to a new data file called
 * `dataLocation`; those that were inside stay inside, unless `takesAll`.
 */
export function applyPatch(
  model: Model,
  source: ByteSource,
  patch: Patch,
  dataLocation: string,
  { takesAll = false }: { readonly takesAll?: boolean } = {},
): PatchedModel {
  const data = new DataFile(dataLocation, takesAll);
  // What its inputs are depends on the IR version.
  if (patch.leastIrVersion > model.irVersion) patch.of(model.graph);
  const edits = [...patch.graphs].flatMap(([graph, graphPatch]) =>
    new GraphEdits(source, graph, graphPatch, data, formOf(model, graph, patch.leastIrVersion)).build(),
  );
  pushAll(edits, modelEdits(source, patch));
  for (const [body, opsets] of patch.functionOpsets) pushAll(edits, functionImports(source, body, opsets));
  pushAll(edits, irVersionEdit(model, source, patch));
  return { model: splice(source, edits), data: data.isEmpty ? undefined : data.segments };
}

/** From this IR version on an initializer need not be an input. Source: onnx.proto. */
const plainInitializersSince = 4;

/** A function's body is a list of nodes in the function itself. */
function formOf(model: Model, graph: Graph, leastIrVersion: number): GraphForm {
  const isFunction = [...model.functions.values()].some((definition) => definition.graph === graph);
  if (isFunction) return { ...functionFields, isGraph: false, constants: "nodes", dropsDefaults: false };
  const wasOld = model.irVersion < plainInitializersSince;
  const isOld = wasOld && leastIrVersion < plainInitializersSince;
  const isMain = graph === model.graph;
  const old: ConstantStyle = isMain ? "inputs" : "nodes";
  return {
    ...graphFields,
    isGraph: true,
    constants: isOld ? old : "initializers",
    dropsDefaults: isMain && wasOld && !isOld,
  };
}

/** Where each occurrence of a field lies, its tag included; the cursor stands on it. */
function* occurrences(cursor: Cursor, wanted: number): Generator<Pick<Edit, "offset" | "length">> {
  while (cursor.next()) {
    if (cursor.field !== wanted) continue;
    const { tagStart: offset, start, length } = cursor;
    yield { offset, length: start + length - offset };
  }
}

/** The IR version raised, where the patch needs a newer one. */
function irVersionEdit(model: Model, source: ByteSource, patch: Patch): Edit[] {
  if (model.irVersion >= patch.leastIrVersion) return [];
  const parent = { offset: 0, length: source.size };
  const replacement = [bytesSegment(integerField(modelFields.irVersion, patch.leastIrVersion))];
  for (const place of occurrences(new Cursor(source), modelFields.irVersion))
    return [{ parent, ...place, replacement }];
  return [{ parent, offset: 0, length: 0, replacement }];
}

/** Domains of the import that a cursor stands on. */
function importedAt(cursor: Cursor): readonly string[] {
  const imported = new Map<string, number>();
  decodeOpset(cursor, imported);
  return [...imported.keys()];
}

/** Imports of domains that the patch gives another version: they go, and the patch's own come at the end. */
function raisedImports(source: ByteSource, patch: Patch): Edit[] {
  const parent = { offset: 0, length: source.size };
  const edits: Edit[] = [];
  const cursor = new Cursor(source);
  for (const place of occurrences(cursor, modelFields.opsetImport))
    if (importedAt(cursor).some((domain) => patch.opsets.has(domain)))
      edits.push({ parent, ...place, replacement: [] });
  return edits;
}

/** Imports of a function in another version, each in its place. */
function functionImports(source: ByteSource, body: Graph, opsets: ReadonlyMap<string, number>): Edit[] {
  const edits: Edit[] = [];
  const cursor = new Cursor(source, body.span.offset, body.span.length);
  for (const place of occurrences(cursor, functionFields.opsetImport)) {
    const replacement = importedAt(cursor).flatMap((domain) => {
      const version = opsets.get(domain);
      if (version === undefined) return [];
      return field(functionFields.opsetImport, [bytesSegment(opsetMessage(domain, version))]);
    });
    if (replacement.length > 0) edits.push({ parent: body.span, ...place, replacement });
  }
  return edits;
}

/** Metadata that the patch gives another value: it goes, and the patch's own comes at the end. */
function replacedMetadata(source: ByteSource, patch: Patch): Edit[] {
  const parent = { offset: 0, length: source.size };
  const edits: Edit[] = [];
  const cursor = new Cursor(source);
  for (const place of occurrences(cursor, modelFields.metadataProps))
    if (patch.metadata.has(textField(source, cursor, entryFields.key)))
      edits.push({ parent, ...place, replacement: [] });
  return edits;
}

/** Functions, opset imports and metadata at the top level. */
function modelEdits(source: ByteSource, patch: Patch): Edit[] {
  const parent = { offset: 0, length: source.size };
  const edits: Edit[] = [];
  if (patch.metadata.size > 0) pushAll(edits, replacedMetadata(source, patch));
  if (patch.opsets.size > 0) pushAll(edits, raisedImports(source, patch));
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
