/** @file Inflating at once: what browsers have of it answers later (RFC 1951). */

/** Where the bits of the input are, and what has come out. */
interface Stream {
  readonly input: Uint8Array;
  /** In bits. */
  at: number;
  readonly output: Uint8Array;
  length: number;
}

/** Codes by how long they are: how many there are of each length, and their symbols in order. */
interface Codes {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

const lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const distanceBits = [
  0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
];
const lengthStarts = [...startsOf(lengthBits.slice(0, -1), 3), 258];
const distanceStarts = startsOf(distanceBits, 1);
/** In which order the lengths of the codes for lengths stand. */
const orderOfLengths = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const endOfBlock = 256;
const longestCode = 15;

export function inflateRawSync(
  input: Uint8Array,
  { maxOutputLength }: { readonly maxOutputLength: number },
): Uint8Array {
  const stream: Stream = { input, at: 0, output: new Uint8Array(maxOutputLength), length: 0 };
  for (let isLast = false; !isLast; ) {
    isLast = bits(stream, 1) === 1;
    const kind = bits(stream, 2);
    if (kind === 0) copyStored(stream);
    else if (kind === 1) inflateBlock(stream, fixed.literals, fixed.distances);
    else if (kind === 2) inflateBlock(stream, ...dynamicCodes(stream));
    else throw broken();
  }
  return stream.output.slice(0, stream.length);
}

function broken(): Error {
  return new Error("deflated data is broken");
}

function bits(stream: Stream, count: number): number {
  let value = 0;
  for (let index = 0; index < count; index++, stream.at++) {
    const byte = stream.input[stream.at >> 3];
    if (byte === undefined) throw broken();
    value |= ((byte >> (stream.at & 7)) & 1) << index;
  }
  return value;
}

function put(stream: Stream, byte: number): void {
  if (stream.length === stream.output.length) throw new RangeError("deflated data is larger than it may be");
  stream.output[stream.length++] = byte;
}

function copyStored(stream: Stream): void {
  stream.at = (stream.at + 7) & ~7;
  const length = bits(stream, 16);
  if (bits(stream, 16) !== (~length & 0xffff)) throw broken();
  for (let index = 0; index < length; index++) put(stream, bits(stream, 8));
}

function inflateBlock(stream: Stream, literals: Codes, distances: Codes): void {
  for (;;) {
    const symbol = decode(stream, literals);
    if (symbol === endOfBlock) return;
    if (symbol < endOfBlock) put(stream, symbol);
    else copyBack(stream, symbol - endOfBlock - 1, distances);
  }
}

/** Bytes that came out before, once more. */
function copyBack(stream: Stream, lengthCode: number, distances: Codes): void {
  const length = ranged(stream, lengthCode, lengthStarts, lengthBits);
  const distance = ranged(stream, decode(stream, distances), distanceStarts, distanceBits);
  if (distance > stream.length) throw broken();
  for (let index = 0; index < length; index++) put(stream, stream.output[stream.length - distance] ?? 0);
}

/** The value that a code begins, with its bits added. */
function ranged(stream: Stream, code: number, starts: readonly number[], widths: readonly number[]): number {
  const start = starts[code];
  if (start === undefined) throw broken();
  return start + bits(stream, widths[code] ?? 0);
}

function decode(stream: Stream, { counts, symbols }: Codes): number {
  let [code, first, index] = [0, 0, 0];
  for (let length = 1; length <= longestCode; length++) {
    code |= bits(stream, 1);
    const count = counts[length] ?? 0;
    if (code - first < count) return symbols[index + code - first] ?? 0;
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  throw broken();
}

function codesOf(lengths: readonly number[]): Codes {
  const counts = new Uint16Array(longestCode + 1);
  for (const length of lengths) if (length > 0) counts[length] = (counts[length] ?? 0) + 1;
  const starts = new Uint16Array(longestCode + 2);
  for (let length = 1; length <= longestCode; length++)
    starts[length + 1] = (starts[length] ?? 0) + (counts[length] ?? 0);
  const symbols = new Uint16Array(lengths.length);
  for (const [symbol, length] of lengths.entries()) {
    if (length === 0) continue;
    const at = starts[length] ?? 0;
    symbols[at] = symbol;
    starts[length] = at + 1;
  }
  return { counts, symbols };
}

const fixed = {
  literals: codesOf(Array.from({ length: 288 }, (_, symbol) => fixedLength(symbol))),
  distances: codesOf(new Array<number>(30).fill(5)),
};

function fixedLength(symbol: number): number {
  if (symbol < 144) return 8;
  if (symbol < 256) return 9;
  return symbol < 280 ? 7 : 8;
}

function dynamicCodes(stream: Stream): [Codes, Codes] {
  const literals = bits(stream, 5) + 257;
  const distances = bits(stream, 5) + 1;
  const given = bits(stream, 4) + 4;
  const ofLengths = new Array<number>(orderOfLengths.length).fill(0);
  for (const symbol of orderOfLengths.slice(0, given)) ofLengths[symbol] = bits(stream, 3);
  const codes = codesOf(ofLengths);
  const lengths: number[] = [];
  while (lengths.length < literals + distances) {
    const symbol = decode(stream, codes);
    if (symbol < 16) lengths.push(symbol);
    else {
      const repeated = symbol === 16 ? lengths.at(-1) : 0;
      if (repeated === undefined) throw broken();
      const count =
        symbol === 16 ? 3 + bits(stream, 2) : symbol === 17 ? 3 + bits(stream, 3) : 11 + bits(stream, 7);
      for (let index = 0; index < count; index++) lengths.push(repeated);
    }
  }
  return [codesOf(lengths.slice(0, literals)), codesOf(lengths.slice(literals, literals + distances))];
}

/** The least of each range of values: a code stands for as many as its bits tell apart. */
function startsOf(widths: readonly number[], least: number): number[] {
  let next = least;
  return widths.map((width) => {
    const start = next;
    next += 1 << width;
    return start;
  });
}
