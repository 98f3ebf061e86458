/** @file Files that are not ONNX but are named so: said by name, with what to do. */
import { Buffer } from "node:buffer";
import { WireError } from "../wire/error.ts";
import { type ByteSource, readRange } from "../wire/source.ts";

const maxPointerBytes = 1024;
const pointerPrefix = "version https://git-lfs.github.com/spec/";

/** Magic numbers, with what the file is. The offset is 0 unless given. */
const signatures: readonly { readonly magic: Buffer; readonly offset?: number; readonly what: string }[] = [
  { magic: Buffer.from([0x1f, 0x8b]), what: "gzip data; unpack it first" },
  {
    magic: Buffer.from("PK\u0003\u0004"),
    what: "a zip archive (a PyTorch checkpoint, perhaps); export it to ONNX first",
  },
  {
    magic: Buffer.from("ORTM"),
    offset: 4,
    what: "ONNX Runtime's .ort format; lint the .onnx it was made from",
  },
  { magic: Buffer.from("ftrt"), what: "a TensorRT engine; lint the .onnx it was built from" },
  { magic: Buffer.from("ptrt"), what: "a TensorRT engine; lint the .onnx it was built from" },
  { magic: Buffer.from("TFL3"), offset: 4, what: "a TensorFlow Lite model" },
  { magic: Buffer.from("\u0089HDF"), what: "an HDF5 file" },
];

/** Throws WireError where the first bytes belong to something that is no ONNX model. */
export function rejectForeign(source: ByteSource): void {
  const { name, size } = source;
  if (size === 0) throw new WireError("empty", `${name}: is empty (0 bytes)`);
  const most = Math.min(size, maxPointerBytes);
  const head = readRange(source, 0, source.ready?.(0, most) ?? most);
  if (size < maxPointerBytes && head.toString("latin1").startsWith(pointerPrefix))
    throw pointer(name, head.toString("utf8"));
  for (const { magic, offset = 0, what } of signatures) {
    if (head.subarray(offset, offset + magic.length).equals(magic)) {
      throw new WireError("not-onnx", `${name}: is ${what}`);
    }
  }
  if (isText(head)) {
    const what = `is text${kindOfText(head)}, expected a binary ONNX model`;
    throw new WireError("not-onnx", `${name}: ${what}`);
  }
}

/** Nothing of the text itself: a link in a downloaded folder may lead to a secret, and a report to a public log. */
function kindOfText(head: Buffer): string {
  const [first] = head.toString("latin1").trimStart();
  if (first === "<") return " (HTML or XML; a download that was refused, perhaps)";
  return first === "{" || first === "[" ? " (JSON, it seems)" : "";
}

function pointer(name: string, text: string): WireError {
  const oid = /^oid sha256:([0-9a-f]+)$/m.exec(text)?.[1] ?? "unknown";
  const bytes = /^size (\d+)$/m.exec(text)?.[1] ?? "unknown";
  return new WireError(
    "lfs-pointer",
    `${name}: is a Git LFS pointer (${bytes} bytes, sha256 ${oid.slice(0, 12)}), not the model; run: git lfs pull --include="${name}"`,
  );
}

/** A model starts with a small binary tag; text starts with printable characters only. */
function isText(head: Buffer): boolean {
  const start = head.subarray(0, 64);
  return (
    start.length >= 2 &&
    start.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d))
  );
}
