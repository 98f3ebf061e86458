/** @file ZIP archives as NumPy writes them: stored or deflated, ZIP64 sizes where given. Source: APPNOTE.TXT 6.3. */
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { InputError } from "../ir/errors.ts";

export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const signatures = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50 } as const;
const endBytes = 22;
const centralBytes = 46;
const localBytes = 30;
/** A comment behind the end record takes up to 64 KiB. */
const maxCommentBytes = 0xffff;
const maxEntries = 10_000;
const methods = { stored: 0, deflated: 8 } as const;
/** What a 32-bit field holds where the true size is in a ZIP64 field. */
const moved = 0xffffffff;
const zip64Field = 1;

/** Entries in the archive's order. Throws InputError `bad-npz`; nothing is unpacked beyond `maxBytes` in all. */
export function readZip(archive: Uint8Array, name: string, maxBytes: number): ZipEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const reader = new ZipReader(bytes, name);
  let left = maxBytes;
  return reader.directory().map((record) => {
    if (record.size > left) throw reader.error(`unpacks to more than ${maxBytes} bytes`);
    left -= record.size;
    return { name: record.name, bytes: reader.unpack(record) };
  });
}

interface CentralRecord {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  readonly offset: number;
}

class ZipReader {
  readonly #bytes: Buffer;
  readonly #name: string;

  constructor(bytes: Buffer, name: string) {
    this.#bytes = bytes;
    this.#name = name;
  }

  error(what: string): InputError {
    return new InputError("bad-npz", `${this.#name}: ${what}`);
  }

  directory(): CentralRecord[] {
    const end = this.#findEnd();
    const count = this.#bytes.readUInt16LE(end + 10);
    if (count > maxEntries) throw this.error(`has more than ${maxEntries} entries`);
    const records: CentralRecord[] = [];
    let offset = this.#bytes.readUInt32LE(end + 16);
    for (let index = 0; index < count; index++) {
      this.#need(offset, centralBytes, signatures.central);
      records.push(this.#centralRecord(offset));
      const lengths = [28, 30, 32].map((at) => this.#bytes.readUInt16LE(offset + at));
      offset += centralBytes + lengths.reduce((total, length) => total + length, 0);
    }
    return records;
  }

  unpack(record: CentralRecord): Buffer {
    const { offset, packedSize, size, method, name } = record;
    this.#need(offset, localBytes, signatures.local);
    const start =
      offset + localBytes + this.#bytes.readUInt16LE(offset + 26) + this.#bytes.readUInt16LE(offset + 28);
    if (start + packedSize > this.#bytes.length) throw this.error(`entry "${name}" goes past the end`);
    const packed = this.#bytes.subarray(start, start + packedSize);
    const bytes = this.#inflate(packed, method, size, name);
    if (bytes.length !== size)
      throw this.error(`entry "${name}" has ${bytes.length} bytes, expected ${size}`);
    if (crc32(bytes) !== record.crc) throw this.error(`entry "${name}" is damaged (its checksum differs)`);
    return bytes;
  }

  #inflate(packed: Buffer, method: number, size: number, name: string): Buffer {
    if (method === methods.stored) return packed;
    if (method !== methods.deflated) throw this.error(`entry "${name}" is packed by method ${method}`);
    try {
      return inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) });
    } catch (error) {
      throw new InputError(
        "bad-npz",
        `${this.#name}: entry "${name}" cannot be unpacked (${String(error)})`,
        {
          cause: error,
        },
      );
    }
  }

  #findEnd(): number {
    const last = this.#bytes.length - endBytes;
    for (let at = last; at >= Math.max(0, last - maxCommentBytes); at--) {
      if (this.#bytes.readUInt32LE(at) === signatures.end) return at;
    }
    throw this.error("is no ZIP archive, as .npz files are");
  }

  #centralRecord(offset: number): CentralRecord {
    const nameLength = this.#bytes.readUInt16LE(offset + 28);
    const extraLength = this.#bytes.readUInt16LE(offset + 30);
    const start = offset + centralBytes;
    if (start + nameLength + extraLength > this.#bytes.length) throw this.error("its directory is cut off");
    const name = this.#bytes.toString("utf8", start, start + nameLength);
    const extra = this.#bytes.subarray(start + nameLength, start + nameLength + extraLength);
    // In this order, each only where its 32-bit field is full.
    const fields = [24, 20, 42].map((at) => this.#bytes.readUInt32LE(offset + at));
    const [size = 0, packedSize = 0, localOffset = 0] = this.#widen(fields, extra, name);
    return {
      name,
      method: this.#bytes.readUInt16LE(offset + 10),
      crc: this.#bytes.readUInt32LE(offset + 16),
      size,
      packedSize,
      offset: localOffset,
    };
  }

  #widen(fields: readonly number[], extra: Buffer, name: string): number[] {
    const wide = zip64Numbers(extra);
    return fields.map((value) => {
      if (value !== moved) return value;
      const [next] = wide.splice(0, 1);
      if (next === undefined) throw this.error(`entry "${name}" does not say how large it is`);
      return next;
    });
  }

  #need(offset: number, length: number, signature: number): void {
    const isThere = offset + length <= this.#bytes.length && this.#bytes.readUInt32LE(offset) === signature;
    if (!isThere) throw this.error(`byte ${offset}: a record of the archive is missing or damaged`);
  }
}

function zip64Numbers(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === zip64Field && at + 4 + length <= extra.length) {
      return Array.from({ length: Math.floor(length / 8) }, (_, i) =>
        Number(extra.readBigUInt64LE(at + 4 + 8 * i)),
      );
    }
    at += 4 + length;
  }
  return [];
}

/** An archive that NumPy, and any other reader, opens. Up to 4 GiB in all. */
export function writeZip(entries: readonly ZipEntry[], compress: boolean): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const body = compress ? deflateRawSync(bytes) : Buffer.from(bytes);
    const title = Buffer.from(name);
    const common = commonFields(title.length, body.length, bytes, compress);
    const local = Buffer.concat([uint32(signatures.local), common, title, body]);
    const central = Buffer.concat([
      uint32(signatures.central),
      uint16(20),
      common,
      // Comment, disk, attributes: none.
      Buffer.alloc(10),
      uint32(offset),
      title,
    ]);
    parts.push(local);
    directory.push(central);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const count = uint16(entries.length);
  const end = [
    uint32(signatures.end),
    Buffer.alloc(4),
    count,
    count,
    uint32(index.length),
    uint32(offset),
    uint16(0),
  ];
  return Buffer.concat([...parts, index, ...end]);
}

/** Version needed to extra length: the same in local and central records. The date is ZIP's first: 1 January 1980. */
function commonFields(nameLength: number, packedSize: number, bytes: Uint8Array, compress: boolean): Buffer {
  const utf8Names = 1 << 11;
  const method = compress ? methods.deflated : methods.stored;
  return Buffer.concat([
    ...[20, utf8Names, method, 0, 0x21].map(uint16),
    ...[crc32(bytes), packedSize, bytes.length].map(uint32),
    ...[nameLength, 0].map(uint16),
  ]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
