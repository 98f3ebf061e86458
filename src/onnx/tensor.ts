/** @file TensorProto headers: type, dims, and where the elements are. The elements stay in the file. */

import { bytesOf, type DType, dtypeOfCode, dtypes } from "../ir/dtype.ts";
import { listText } from "../ir/message.ts";
import type { Span, TensorData, TensorRef, TypedField, TypedSpan } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { exactly } from "./compact.ts";
import { type ExternalEntry, externalData } from "./external.ts";
import { entryFields, tensorFields } from "./fields.ts";

/** Typed fields by number. Source: onnx.proto, TensorProto. */
const typedFields: ReadonlyMap<number, TypedField> = new Map([
  [tensorFields.floatData, "float"],
  [tensorFields.int32Data, "int32"],
  [tensorFields.stringData, "string"],
  [tensorFields.int64Data, "int64"],
  [tensorFields.doubleData, "double"],
  [tensorFields.uint64Data, "uint64"],
]);

/**
 * What a typed field may hold, and how wide one of its numbers is on the wire: undefined for varints, which take at
 * least a byte, and for strings.
 */
const typedRules: Record<TypedField, { readonly bytes: number | undefined; readonly holds: Holds }> = {
  float: {
    bytes: 4,
    holds: ({ kind, bits }) => (kind === "float" && bits === 32) || (kind === "complex" && bits === 64),
  },
  double: {
    bytes: 8,
    holds: ({ kind, bits }) => (kind === "float" && bits === 64) || (kind === "complex" && bits === 128),
  },
  int32: {
    bytes: undefined,
    holds: ({ kind, bits }) => (bits <= 16 ? kind !== "string" : kind === "int" && bits === 32),
  },
  int64: { bytes: undefined, holds: ({ kind, bits }) => kind === "int" && bits === 64 },
  uint64: { bytes: undefined, holds: ({ kind, bits }) => kind === "uint" && bits >= 32 },
  string: { bytes: undefined, holds: ({ kind }) => kind === "string" },
};

type Holds = (row: (typeof dtypes)[DType]) => boolean;

/** Bounds on what a small file can make of memory; no real model comes near them. */
export const maxRank = 256;
const maxTypedSpans = 1 << 16;
const maxExternalEntries = 64;

interface Draft {
  name: string;
  code: number;
  dims: number[];
  raw: Span | undefined;
  typed: { field: TypedField; spans: TypedSpan[] } | undefined;
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
      takeDims(cursor, draft.dims);
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
      if (draft.external.length === maxExternalEntries) {
        throw cursor.error("external-key", `tensor "${draft.name}" has over ${maxExternalEntries} entries`);
      }
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
  const span = { offset: cursor.start, length: cursor.length, packed };
  if (packed && span.length === 0) return;
  if (draft.typed === undefined) draft.typed = { field, spans: [span] };
  else if (draft.typed.field !== field) {
    throw cursor.error(
      "two-data-fields",
      `tensor "${draft.name}" has both ${draft.typed.field}_data and ${field}_data`,
    );
  } else if (!extendsLast(draft.typed.spans, span, cursor)) {
    if (draft.typed.spans.length === maxTypedSpans) {
      throw cursor.error("fragmented-data", `tensor "${draft.name}" is in over ${maxTypedSpans} pieces`);
    }
    draft.typed.spans.push(span);
  }
}

/** Single elements follow one another: one span covers a run of them, tags (and lengths of strings) included. */
function extendsLast(spans: TypedSpan[], span: TypedSpan, { tagStart }: Cursor): boolean {
  const last = spans.at(-1);
  if (last === undefined || last.packed || span.packed) return false;
  if (last.offset + last.length !== tagStart) return false;
  const length = span.offset + span.length - last.offset;
  spans[spans.length - 1] = { offset: last.offset, length, packed: false };
  return true;
}

export function takeDims(cursor: Cursor, dims: number[]): void {
  cursor.repeated("varint", (dim) => {
    if (dims.length === maxRank) throw cursor.error("bad-rank", `a tensor has over ${maxRank} dimensions`);
    dims.push(dim);
  });
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
  const elements = countElements(dims, fail);
  const given = [draft.raw !== undefined, draft.typed !== undefined, draft.isExternal].filter(Boolean).length;
  if (given > 1)
    throw fail("two-data-fields", "has its elements in two places (raw_data, typed data, external data)");
  const data = locate(draft, dtype, elements, fail);
  return { name, dtype, dtypeCode: code, dims: exactly(dims), data, span };
}

type Fail = (code: string, what: string) => Error;

function countElements(dims: readonly number[], fail: Fail): number {
  let elements = 1;
  for (const dim of dims) {
    if (dim < 0) throw fail("negative-dim", `dims [${dims.join(",")}] hold a negative size`);
    elements *= dim;
    if (!Number.isSafeInteger(dim) || !Number.isSafeInteger(elements)) {
      throw fail("dim-overflow", `dims ${listText(dims)} overflow`);
    }
  }
  return elements;
}

function locate(draft: Draft, dtype: DType | undefined, elements: number, fail: Fail): TensorData {
  const expected = dtype === undefined || dtype === "string" ? undefined : bytesOf(dtype, elements);
  if (draft.isExternal) return externalData(draft.external, expected, fail);
  if (draft.raw !== undefined) {
    const { length } = draft.raw;
    if (expected !== undefined && length !== expected) {
      const code = length < expected ? "raw-data-short" : "raw-data-surplus";
      throw fail(
        code,
        `raw_data has ${length} bytes, expected ${expected} for ${elements} elements of ${dtype}`,
      );
    }
    return { kind: "raw", span: draft.raw };
  }
  if (draft.typed !== undefined) {
    checkTyped(draft.typed, dtype, elements, fail);
    return { kind: "typed", ...draft.typed };
  }
  if (elements > 0 && expected !== undefined) {
    throw fail("no-data", `has ${elements} elements by its dims [${draft.dims.join(",")}], but holds none`);
  }
  return { kind: "none" };
}

function checkTyped(
  { field, spans }: { readonly field: TypedField; readonly spans: readonly TypedSpan[] },
  dtype: DType | undefined,
  elements: number,
  fail: Fail,
): void {
  if (dtype === undefined) return;
  const { bytes, holds } = typedRules[field];
  const row = dtypes[dtype];
  if (!holds(row)) throw fail("wrong-data-field", `elements of ${dtype} do not belong in ${field}_data`);
  if (bytes !== undefined) {
    const count = spans.reduce((total, span) => total + numbersIn(span, bytes), 0);
    // A complex number is two.
    const expected = row.kind === "complex" ? 2 * elements : elements;
    if (count === expected) return;
    const code = count < expected ? "typed-data-short" : "typed-data-surplus";
    throw fail(code, `${field}_data holds ${count} numbers, expected ${expected}`);
  }
  if (field === "string") return;
  const length = spans.reduce((total, span) => total + span.length, 0);
  if (length < elements * Math.min(1, row.bits / 8)) {
    throw fail("typed-data-short", `${field}_data has ${length} bytes, too few for ${elements} elements`);
  }
}

/** How many numbers of a fixed width a span holds; between single ones is a tag of one byte. */
function numbersIn({ length, packed }: TypedSpan, bytes: number): number {
  return packed ? length / bytes : (length + 1) / (bytes + 1);
}
