/** @file One entry of the cache of machine code: a header that says what the content is, then the content. */
import { createHash } from "node:crypto";

/** Bytes of SHA-256, of keys too. */
const hashBytes = 32;

const magic = Buffer.from("TCLCUBIN", "latin1");
const formatVersion = 1;
const versionAt = magic.length;
const keyAt = versionAt + 4;
const lengthAt = keyAt + hashBytes;
const hashAt = lengthAt + 8;
/** Bytes before the content. */
export const headerBytes = hashAt + hashBytes;

/** `key` is what the content was made from: `hashBytes` bytes. */
export function encodeEntry(key: Uint8Array, content: Uint8Array): Buffer {
  const header = Buffer.alloc(headerBytes);
  magic.copy(header);
  header.writeUInt32LE(formatVersion, versionAt);
  header.set(key, keyAt);
  header.writeBigUInt64LE(BigInt(content.length), lengthAt);
  header.set(sha256(content), hashAt);
  return Buffer.concat([header, content]);
}

/** The content of an entry; undefined unless it is whole, for this key and by its own hash. */
export function contentOf(entry: Buffer, key: Uint8Array): Buffer | undefined {
  if (entry.length < headerBytes || !entry.subarray(0, magic.length).equals(magic)) return undefined;
  if (entry.readUInt32LE(versionAt) !== formatVersion) return undefined;
  if (!entry.subarray(keyAt, lengthAt).equals(key)) return undefined;
  const content = entry.subarray(headerBytes);
  if (entry.readBigUInt64LE(lengthAt) !== BigInt(content.length)) return undefined;
  return sha256(content).equals(entry.subarray(hashAt, headerBytes)) ? content : undefined;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
