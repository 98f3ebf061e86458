/** @file TensorProto headers: type, dims, and where the elements are. The elements stay in the file. */
import { bytesOf, type DType, dtypeOfCode, dtypes } from "../ir/dtype.ts";
import type { Span, TensorData, TensorRef, TypedField } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { type ExternalEntry, externalData } from "./external.ts";
import { entryFields, sparseFields, tensorFields } from "./fields.ts";

/** Which elements each typed field may hold. Source: onnx.proto, TensorProto. */
const typedFields: ReadonlyMap<number, TypedField> = new Map([
  [tensorFields.floatData, "float"],
  [tensorFields.int32Data, "int32"],
  [tensorFields.stringData, "string"],
  [tensorFields.int64Data, "int64"],
  [tensorFields.doubleData, "double"],
  [tensorFields.uint64Data, "uint64"],
]);

/** Fewest bytes one element takes in a typed field: a varint has at least one byte. */
const leastBytes: Record<TypedField, number> = {
  float: 4,
  int32: 1,
  string: 0,
  int64: 1,
  double: 8,
  uint64: 1,
};

interface Draft {
  name: string;
  code: number;
  dims: number[];
  raw: Span | undefined;
  typed: { field: TypedField; spans: Span[]; packed: boolean } | undefined;
  external: ExternalEntry[];
  isExternal: boolean;
}

/** The current field of `cursor` as a TensorProto. Throws WireError for a header that contradicts itself. */
export function decodeTensor(cursor: Cursor): TensorRef {
  const span = { offset: cursor.start, length: cursor.length };
  const draft: Draft = {
    name: "",
    code: 0,
    dims: [],
    raw: undefined,
    typed: undefined,
    external: [],
    isExternal: false,
  };
  const outer = cursor.enter();
  while (cursor.next()) decodeField(cursor, draft);
  cursor.leave(outer);
  return finish(cursor, draft, span);
}

function decodeField(cursor: Cursor, draft: Draft): void {
  switch (cursor.field) {
    case tensorFields.dims:
      cursor.repeated("varint", (dim) => draft.dims.push(dim));
      return;
    case tensorFields.dataType:
      draft.code = cursor.int32();
      return;
    case tensorFields.name:
      draft.name = cursor.text();
      return;
    case tensorFields.rawData:
      cursor.expect(2);
      draft.raw = { offset: cursor.start, length: cursor.length };
      return;
    case tensorFields.segment:
      throw cursor.error(
        "segmented-tensor",
        `tensor "${draft.name}" is stored in segments, which no tool writes or reads`,
      );
    case tensorFields.externalData:
      draft.external.push(decodeEntry(cursor));
      return;
    case tensorFields.dataLocation:
      draft.isExternal = cursor.int32() === 1;
      return;
  }
  const field = typedFields.get(cursor.field);
  if (field !== undefined) addTyped(cursor, draft, field);
}

function addTyped(cursor: Cursor, draft: Draft, field: TypedField): void {
  const packed = cursor.wire === 2 && field !== "string";
  const span = { offset: cursor.start, length: cursor.length };
  if (draft.typed === undefined) draft.typed = { field, spans: [span], packed };
  else if (draft.typed.field !== field) {
    throw cursor.error(
      "two-data-fields",
      `tensor "${draft.name}" has both ${draft.typed.field}_data and ${field}_data`,
    );
  } else appendSpan(draft.typed.spans, span, packed);
}

/** Unpacked elements follow one another: one span covers a run of them, tags included. */
function appendSpan(spans: Span[], span: Span, packed: boolean): void {
  const last = spans.at(-1);
  const gap = last === undefined ? -1 : span.offset - (last.offset + last.length);
  // A tag below field 16 is one byte; string elements carry their length as well and are never read.
  if (!packed && last !== undefined && gap === 1) {
    spans[spans.length - 1] = { offset: last.offset, length: last.length + 1 + span.length };
  } else spans.push(span);
}

/** A StringStringEntryProto. */
export function decodeEntry(cursor: Cursor): ExternalEntry {
  let key = "";
  let value = "";
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === entryFields.key) key = cursor.text();
    else if (cursor.field === entryFields.value) value = cursor.text();
  }
  cursor.leave(outer);
  return { key, value };
}

function finish(cursor: Cursor, draft: Draft, span: Span): TensorRef {
  const { name, code, dims } = draft;
  const fail = (kind: string, what: string) => cursor.error(kind, `tensor "${name}": ${what}`);
  if (code === 0) throw fail("bad-dtype", "has no element type (data_type 0)");
  const dtype = dtypeOfCode(code);
  let elements = 1;
  for (const dim of dims) {
    if (dim < 0) throw fail("negative-dim", `dims [${dims.join(",")}] hold a negative size`);
    elements *= dim;
    if (!Number.isSafeInteger(elements)) throw fail("dim-overflow", `dims [${dims.join(",")}] overflow`);
  }
  const given = [draft.raw !== undefined, draft.typed !== undefined, draft.isExternal].filter(Boolean).length;
  if (given > 1)
    throw fail("two-data-fields", "has its elements in two places (raw_data, typed data, external data)");
  const data = locate(draft, dtype, elements, fail);
  return { name, dtype, dtypeCode: code, dims, data, span };
}

function locate(
  draft: Draft,
  dtype: DType | undefined,
  elements: number,
  fail: (code: string, what: string) => Error,
): TensorData {
  const expected = dtype === undefined || dtype === "string" ? undefined : bytesOf(dtype, elements);
  if (draft.isExternal) return externalData(draft.external, expected, fail);
  if (draft.raw !== undefined) {
    const { length } = draft.raw;
    if (expected !== undefined && length !== expected) {
      const code = length < expected ? "raw-data-short" : "raw-data-surplus";
      throw fail(code, `raw_data has ${length} bytes, but ${elements} elements of ${dtype} take ${expected}`);
    }
    return { kind: "raw", span: draft.raw };
  }
  if (draft.typed !== undefined) {
    const { field, spans } = draft.typed;
    const bytes = spans.reduce((total, { length }) => total + length, 0);
    const perElement =
      dtype !== undefined && dtypes[dtype].bits < 8 ? dtypes[dtype].bits / 8 : leastBytes[field];
    if (bytes < elements * perElement) {
      throw fail("typed-data-short", `${field}_data has ${bytes} bytes, too few for ${elements} elements`);
    }
    return { kind: "typed", ...draft.typed };
  }
  if (elements > 0 && expected !== undefined) {
    throw fail("no-data", `has ${elements} elements by its dims [${draft.dims.join(",")}], but holds none`);
  }
  return { kind: "none" };
}

/** The current field as a SparseTensorProto: its dense type and dims; the elements are never read. */
export function decodeSparse(cursor: Cursor): TensorRef {
  const span = { offset: cursor.start, length: cursor.length };
  let values: TensorRef | undefined;
  const dims: number[] = [];
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === sparseFields.values) values = decodeTensor(cursor);
    else if (cursor.field === sparseFields.dims) cursor.repeated("varint", (dim) => dims.push(dim));
    else if (cursor.field === sparseFields.indices) checkIndices(cursor);
  }
  cursor.leave(outer);
  if (values === undefined) throw cursor.error("sparse-tensor", "a sparse tensor has no values");
  const { name, dtype, dtypeCode } = values;
  if (dims.some((dim) => dim < 0))
    throw cursor.error("negative-dim", `tensor "${name}": dims [${dims.join(",")}]`);
  return { name, dtype, dtypeCode, dims, data: { kind: "none" }, span };
}

function checkIndices(cursor: Cursor): void {
  const indices = decodeTensor(cursor);
  if (indices.dtype !== "int64") {
    throw cursor.error(
      "sparse-tensor",
      `the indices of a sparse tensor are ${indices.dtype}, expected int64`,
    );
  }
}
