/** @file Tensors, attributes, nodes, types and functions to wire bytes. Weights stay references. */
import { type Dim, isUnknown } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Node, ValueType } from "../ir/model.ts";
import type { AttributeSpec, FunctionSpec, NodeSpec, TensorSpec } from "../ir/patch.ts";
import { Cursor } from "../wire/cursor.ts";
import type { ByteSource } from "../wire/source.ts";
import { lengthPrefixed, type Segment, segmentsLength } from "../wire/splice.ts";
import { Writer } from "../wire/writer.ts";
import {
  attributeFields,
  dimFields,
  entryFields,
  functionFields,
  nodeFields,
  opsetFields,
  shapeFields,
  tensorFields,
  tensorTypeFields,
  typeFields,
  valueInfoFields,
} from "./fields.ts";

type Fields = (writer: Writer) => void;

/** Bytes of a message whose fields `fields` writes. */
export function message(fields: Fields): Uint8Array {
  const writer = new Writer();
  fields(writer);
  return writer.finish();
}

/** A length-delimited field around segments. */
export function field(number: number, body: readonly Segment[]): Segment[] {
  return [{ kind: "bytes", bytes: lengthPrefixed(number, segmentsLength(body)) }, ...body];
}

export function bytesSegment(bytes: Uint8Array): Segment {
  return { kind: "bytes", bytes };
}

function nested(writer: Writer, number: number, fields: Fields): void {
  writer.bytes(number, message(fields));
}

/** A field that holds one integer. */
export function integerField(number: number, value: number): Uint8Array {
  return message((writer) => writer.integer(number, value));
}

/** Where a tensor's elements go: into the message, or into a data file at an offset. */
export type Placement =
  | { readonly kind: "inline" }
  | { readonly kind: "external"; readonly location: string; readonly offset: number };

/** Fields of a TensorProto that say what it holds; all others are kept when it is rewritten. */
const contentFields: ReadonlySet<number> = new Set([
  tensorFields.dims,
  tensorFields.dataType,
  tensorFields.segment,
  tensorFields.floatData,
  tensorFields.int32Data,
  tensorFields.stringData,
  tensorFields.int64Data,
  tensorFields.rawData,
  tensorFields.doubleData,
  tensorFields.uint64Data,
  tensorFields.externalData,
  tensorFields.dataLocation,
]);

/** Payload of a TensorProto. `kept` are fields to carry over (at least its name). */
export function tensorMessage(spec: TensorSpec, kept: readonly Segment[], placement: Placement): Segment[] {
  const head = message((writer) => {
    writer.integers(tensorFields.dims, spec.dims);
    writer.integer(tensorFields.dataType, dtypes[spec.dtype].code);
  });
  if (placement.kind === "inline") {
    const body: Segment = { kind: "copy", source: asSource(spec), offset: 0, length: spec.bytes.size };
    return [bytesSegment(head), ...kept, ...field(tensorFields.rawData, [body])];
  }
  const entries = message((writer) => {
    const pairs = {
      location: placement.location,
      offset: String(placement.offset),
      length: String(spec.bytes.size),
    };
    for (const [key, value] of Object.entries(pairs)) entry(writer, tensorFields.externalData, key, value);
    writer.integer(tensorFields.dataLocation, 1);
  });
  return [bytesSegment(head), ...kept, bytesSegment(entries)];
}

export function tensorName(name: string): Segment {
  return bytesSegment(message((writer) => writer.text(tensorFields.name, name)));
}

/** What a rewritten TensorProto, the current field, keeps of the old one: its name, documentation, metadata and unknown fields. */
export function keptTensorFields(cursor: Cursor): Segment[] {
  const outer = cursor.enter();
  const kept = keepFields(cursor, () => !contentFields.has(cursor.field));
  cursor.leave(outer);
  return kept;
}

export function entry(writer: Writer, number: number, key: string, value: string): void {
  nested(writer, number, (inner) => {
    inner.text(entryFields.key, key);
    inner.text(entryFields.value, value);
  });
}

/** Computed where they are read. */
export function asSource({ bytes }: TensorSpec): ByteSource {
  return {
    name: "tensor",
    size: bytes.size,
    isComputed: true,
    readInto: (offset, target) => bytes.readInto(offset, target),
    close: () => {},
  };
}

/** Of the message that `cursor` is in. */
function keepFields(cursor: Cursor, isKept: () => boolean): Segment[] {
  const kept: Segment[] = [];
  while (cursor.next()) {
    const { source, tagStart: offset, start, length } = cursor;
    if (isKept()) kept.push({ kind: "copy", source, offset, length: start + length - offset });
  }
  return kept;
}

type PlainSpec = Exclude<AttributeSpec, { type: "tensor" | "reference" }>;

/** AttributeProto.AttributeType of each kind. */
const attributeKinds: { readonly [T in PlainSpec["type"] | "tensor"]: number } = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  floats: 6,
  ints: 7,
};

function attributeMessage(name: string, spec: AttributeSpec): Segment[] {
  const head = message((writer) => writer.text(attributeFields.name, name));
  const kind = spec.type === "reference" ? spec.of : spec.type;
  const tail = message((writer) => writer.integer(attributeFields.type, attributeKinds[kind]));
  return [bytesSegment(head), ...attributeBody(spec), bytesSegment(tail)];
}

function attributeBody(spec: AttributeSpec): Segment[] {
  if (spec.type === "tensor")
    return field(attributeFields.t, tensorMessage(spec.tensor, [], { kind: "inline" }));
  if (spec.type === "reference") {
    return [bytesSegment(message((writer) => writer.text(attributeFields.refAttrName, spec.to)))];
  }
  return [bytesSegment(message((writer) => attributeValue(writer, spec)))];
}

function attributeValue(writer: Writer, spec: PlainSpec): void {
  switch (spec.type) {
    case "float":
      writer.float(attributeFields.f, spec.value);
      return;
    case "int":
      writer.integer(attributeFields.i, spec.value);
      return;
    case "string":
      writer.text(attributeFields.s, spec.value);
      return;
    case "floats":
      for (const value of spec.values) writer.float(attributeFields.floats, value);
      return;
    case "ints":
      for (const value of spec.values) writer.integer(attributeFields.ints, value);
  }
}

/** Payload of a NodeProto. What the spec does not name is copied from its base, unknown fields included. */
export function nodeMessage(source: ByteSource, spec: NodeSpec): Segment[] {
  const replaced = new Set<number>();
  const head = message((writer) => {
    const set = (number: number, values: readonly string[] | undefined) => {
      if (values === undefined) return;
      replaced.add(number);
      for (const value of values) writer.text(number, value);
    };
    const one = (value: string | undefined) => (value === undefined ? undefined : [value]);
    set(nodeFields.input, spec.inputs);
    set(nodeFields.output, spec.outputs);
    set(nodeFields.name, one(spec.name));
    set(nodeFields.opType, one(spec.opType));
    set(nodeFields.domain, one(spec.domain));
  });
  const attributes = spec.attributes ?? new Map<string, AttributeSpec | null>();
  const kept = spec.base === undefined ? [] : keptNodeFields(source, spec.base, replaced, attributes);
  const added = [...attributes].flatMap(([name, value]) =>
    value === null ? [] : field(nodeFields.attribute, attributeMessage(name, value)),
  );
  return [bytesSegment(head), ...kept, ...added];
}

function keptNodeFields(
  source: ByteSource,
  { span }: Node,
  replaced: ReadonlySet<number>,
  attributes: ReadonlyMap<string, unknown>,
): Segment[] {
  const cursor = new Cursor(source, span.offset, span.length);
  return keepFields(cursor, () => {
    if (cursor.field !== nodeFields.attribute) return !replaced.has(cursor.field);
    return !attributes.has(nameOfAttribute(source, cursor.start, cursor.length));
  });
}

function nameOfAttribute(source: ByteSource, offset: number, length: number): string {
  const cursor = new Cursor(source, offset, length);
  while (cursor.next()) if (cursor.field === attributeFields.name) return cursor.text();
  return "";
}

/** Payload of a ValueInfoProto. */
export function valueInfoMessage(name: string, type: ValueType): Uint8Array {
  return message((writer) => {
    writer.text(valueInfoFields.name, name);
    if (type.kind !== "tensor") return;
    nested(writer, valueInfoFields.type, (outer) =>
      nested(outer, typeFields.tensor, (inner) => tensorType(inner, type)),
    );
  });
}

function tensorType(writer: Writer, type: Extract<ValueType, { kind: "tensor" }>): void {
  if (type.dtype !== undefined) {
    writer.integer(tensorTypeFields.elementType, dtypes[type.dtype].code);
  }
  const { shape } = type;
  if (shape === undefined) return;
  nested(writer, tensorTypeFields.shape, (inner) => {
    for (const dim of shape) nested(inner, shapeFields.dim, (each) => dimension(each, dim));
  });
}

function dimension(writer: Writer, dim: Dim): void {
  if (typeof dim === "number") writer.integer(dimFields.value, dim);
  else if (!isUnknown(dim)) writer.text(dimFields.parameter, dim.key);
}

export function opsetMessage(domain: string, version: number): Uint8Array {
  return message((writer) => {
    writer.text(opsetFields.domain, domain);
    writer.integer(opsetFields.version, version);
  });
}

/** Payload of a FunctionProto. */
export function functionMessage(source: ByteSource, spec: FunctionSpec): Segment[] {
  const head = message((writer) => {
    writer.text(functionFields.name, spec.name);
    for (const name of spec.inputs) writer.text(functionFields.input, name);
    for (const name of spec.outputs) writer.text(functionFields.output, name);
    for (const name of spec.attributes) writer.text(functionFields.attribute, name);
    for (const [domain, version] of spec.opsets) {
      writer.bytes(functionFields.opsetImport, opsetMessage(domain, version));
    }
    writer.text(functionFields.domain, spec.domain);
  });
  return [
    bytesSegment(head),
    ...spec.nodes.flatMap((node) => field(functionFields.node, nodeMessage(source, node))),
  ];
}
