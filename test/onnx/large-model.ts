/** @file A model of gigabytes that takes up no disk. */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import protobuf from "protobufjs/minimal.js";
import { field, float, info, int64, join, onnx, varint } from "./build.ts";

/** A tag and a length, for a payload that is not at hand. */
function head(number: number, length: number): Uint8Array {
  return protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .uint64(length)
    .finish();
}

/**
 * Writes x + w → y, whose float initializer "w" has `weightBytes` of zeros inside the file. The graph goes on behind
 * them: node, inputs, outputs, and an int64 initializer "k" of 42.
 */
export function writeLargeModel(file: string, weightBytes: number): void {
  const elements = weightBytes / 4;
  const tensorHead = join(field(8, "w"), varint(1, elements), varint(2, float), head(9, weightBytes));
  const tensorBytes = tensorHead.length + weightBytes;
  const typed = join(field(8, "k"), varint(2, int64), varint(7, 42));
  const behind = join(
    field(5, typed),
    field(1, field(1, "x"), field(1, "w"), field(2, "y"), field(4, "Add")),
    field(11, onnx.ValueInfoProto.encode(info("x", [elements])).finish()),
    field(12, onnx.ValueInfoProto.encode(info("y", [elements])).finish()),
    field(2, "behind"),
  );
  const initializer = head(5, tensorBytes);
  const graphHead = head(7, initializer.length + tensorBytes + behind.length);
  const start = join(varint(1, 8), graphHead, initializer, tensorHead);
  const end = join(behind, field(8, field(1, ""), varint(2, 17)));
  const descriptor = openSync(file, "w");
  // The zeros between are a hole: no disk holds them.
  ftruncateSync(descriptor, start.length + weightBytes + end.length);
  writeSync(descriptor, start, 0, start.length, 0);
  writeSync(descriptor, end, 0, end.length, start.length + weightBytes);
  closeSync(descriptor);
}
