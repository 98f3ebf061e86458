/** @file Random protobuf messages as trees, encoded by protobufjs: the oracle for reading and for editing. */
import fc from "fast-check";
import protobuf from "protobufjs/minimal.js";

export type Field =
  | { readonly field: number; readonly kind: "varint"; readonly value: bigint }
  | { readonly field: number; readonly kind: "fixed32" | "fixed64"; readonly bytes: Uint8Array }
  | { readonly field: number; readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly field: number; readonly kind: "message"; readonly fields: readonly Field[] };

export const wireTypeOf = { varint: 0, fixed64: 1, bytes: 2, message: 2, fixed32: 5 } as const;

const fieldNumber = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 29 - 1 }));
const blob = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

export const fields = fc.letrec<{ field: Field; fields: Field[] }>((tie) => ({
  field: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    fc.record({
      field: fieldNumber,
      kind: fc.constant("varint" as const),
      value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    }),
    fc.record({ field: fieldNumber, kind: fc.constant("fixed32" as const), bytes: blob(4) }),
    fc.record({ field: fieldNumber, kind: fc.constant("fixed64" as const), bytes: blob(8) }),
    fc.record({
      field: fieldNumber,
      kind: fc.constant("bytes" as const),
      bytes: fc.uint8Array({ maxLength: 300 }),
    }),
    fc.record({ field: fieldNumber, kind: fc.constant("message" as const), fields: tie("fields") }),
  ),
  fields: fc.array(tie("field"), { maxLength: 8 }),
})).fields;

/** The bytes of one field, tag included. */
export function encodeField(field: Field): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(((field.field << 3) | wireTypeOf[field.kind]) >>> 0);
  if (field.kind === "varint") {
    writer.uint64(field.value.toString());
  } else if (field.kind === "bytes") writer.bytes(field.bytes);
  else if (field.kind === "message") writer.bytes(encode(field.fields));
  else return Buffer.concat([writer.finish(), field.bytes]);
  return writer.finish();
}

export function encode(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(fields.map(encodeField));
}
