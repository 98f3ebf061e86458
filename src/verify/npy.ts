/** @file One array in NumPy's own format. Source: numpy.lib.format, versions 1 to 3. */
import { InputError } from "../ir/errors.ts";
import { type ArrayType, arrays, countOf, type NumberArray, type Tensor } from "./tensor.ts";

const magic = "\x93NUMPY";
const maxHeaderBytes = 1 << 16;
const maxRank = 64;
/** NumPy pads the header so that elements start on multiples of this. */
const alignmentBytes = 64;

/** NumPy's names of types, without the byte order. bfloat16 has none: ml_dtypes stores it as two opaque bytes. */
const dtypesOfCode: ReadonlyMap<string, ArrayType> = new Map([
  ["f2", "float16"],
  ["f4", "float32"],
  ["f8", "float64"],
  ["i1", "int8"],
  ["i2", "int16"],
  ["i4", "int32"],
  ["i8", "int64"],
  ["u1", "uint8"],
  ["u2", "uint16"],
  ["u4", "uint32"],
  ["u8", "uint64"],
  ["b1", "bool"],
  ["V2", "bfloat16"],
]);

/** Throws InputError `bad-npy` naming the file and what was found. */
export function readNpy(file: Uint8Array, name: string): Tensor {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const fail = (what: string) => new InputError("bad-npy", `${name}: ${what}`);
  if (bytes.length < 10 || bytes.toString("latin1", 0, 6) !== magic) throw fail("is no NumPy array");
  const version = bytes.readUInt8(6);
  if (version < 1 || version > 3) throw fail(`is version ${version} of the format, expected 1 to 3`);
  const start = version === 1 ? 10 : 12;
  if (bytes.length < start) throw fail("is cut off");
  const length = version === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
  if (length > maxHeaderBytes || start + length > bytes.length)
    throw fail("its header is cut off or too long");
  const header = parseHeader(bytes.toString("latin1", start, start + length), fail);
  const { dtype, dims } = header;
  const count = countOf(dims);
  const body = bytes.subarray(start + length);
  const width = arrays[dtype].BYTES_PER_ELEMENT;
  if (!Number.isSafeInteger(count) || body.length !== count * width) {
    throw fail(`holds ${body.length} bytes, but [${dims.join(",")}] of ${dtype} takes ${count * width}`);
  }
  return { dtype, dims, data: elementsOf(body, header) };
}

interface Header {
  readonly dtype: ArrayType;
  readonly isBigEndian: boolean;
  readonly isFortran: boolean;
  readonly dims: readonly number[];
}

/** The header is a Python dictionary with three keys. */
function parseHeader(text: string, fail: (what: string) => InputError): Header {
  const [, descr] = /'descr'\s*:\s*'([^']*)'/.exec(text) ?? [];
  const [, order] = /'fortran_order'\s*:\s*(True|False)/.exec(text) ?? [];
  const [, shape] = /'shape'\s*:\s*\(([\d\s,L]*)\)/.exec(text) ?? [];
  if (descr === undefined || order === undefined || shape === undefined) {
    throw fail(`its header is "${text.slice(0, 80).trim()}", expected descr, fortran_order and shape`);
  }
  const dtype = dtypesOfCode.get(descr.replace(/^[<>|=]/, ""));
  if (dtype === undefined) throw fail(`its elements are "${descr}", which no model takes`);
  const dims = shape.split(",").map((size) => size.trim().replace(/L$/, ""));
  if (dims.length > maxRank) throw fail(`has more than ${maxRank} axes`);
  return {
    dtype,
    isBigEndian: descr.startsWith(">"),
    isFortran: order === "True",
    dims: dims.filter((size) => size !== "").map(Number),
  };
}

/** The elements in row-major order, in an array of their own: a file's bytes need not lie on their multiples. */
function elementsOf(body: Buffer, { dtype, isBigEndian, isFortran, dims }: Header): NumberArray {
  const width = arrays[dtype].BYTES_PER_ELEMENT;
  const bytes = isFortran && dims.length > 1 ? toRowMajor(body, dims, width) : Buffer.from(body);
  if (isBigEndian && width === 2) bytes.swap16();
  if (isBigEndian && width === 4) bytes.swap32();
  if (isBigEndian && width === 8) bytes.swap64();
  if (dtype === "bool") for (const [index, byte] of bytes.entries()) bytes[index] = byte === 0 ? 0 : 1;
  return new arrays[dtype](new Uint8Array(bytes).buffer);
}

/** Column-major elements of `width` bytes to row-major ones. */
function toRowMajor(body: Buffer, dims: readonly number[], width: number): Buffer {
  const result = Buffer.alloc(body.length);
  const index = new Array<number>(dims.length).fill(0);
  const strides: number[] = [];
  for (let axis = 0, stride = width; axis < dims.length; stride *= dims[axis] ?? 1, axis++)
    strides.push(stride);
  for (let at = 0; at < body.length; at += width) {
    const from = index.reduce((total, position, axis) => total + position * (strides[axis] ?? 0), 0);
    body.copy(result, at, from, from + width);
    advance(index, dims);
  }
  return result;
}

/** The next index in row-major order. */
function advance(index: number[], dims: readonly number[]): void {
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    const next = (index[axis] ?? 0) + 1;
    const isWithin = next < (dims[axis] ?? 0);
    index[axis] = isWithin ? next : 0;
    if (isWithin) return;
  }
}

/** Row-major, little-endian. Throws on strings. */
export function writeNpy(tensor: Tensor): Buffer {
  const { dtype, dims, data } = tensor;
  if (dtype === "string") throw new Error("tc-lint bug: strings are not written as NumPy arrays");
  const code = [...dtypesOfCode].find(([, each]) => each === dtype)?.[0] ?? "";
  const order = code.endsWith("1") ? "|" : "<";
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(", ");
  const text = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${shape}), }`;
  const start = 10;
  const length = alignmentBytes * Math.ceil((start + text.length + 1) / alignmentBytes) - start;
  const head = Buffer.alloc(start + length, " ");
  head.write(`${magic}\x01\x00`, "latin1");
  head.writeUInt16LE(length, 8);
  head.write(text, start, "latin1");
  head.write("\n", start + length - 1);
  return Buffer.concat([head, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}
