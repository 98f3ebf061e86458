/** @file resample.cu on the CPU: its blocks, its search and its accesses, in float32, on memory that ends where a tensor does. */
import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { type StorageType, storageTypes } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { resampleStruct } from "../../../cuda-runtime/kernels/resample/params.table.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";

/** Elements of a view's buffer, of its type. */
export type Memory = (view: View) => Float64Array;

const threads = 256;
const pieceRows = 128;
const floatTypes = ["float32", "float16", "bfloat16"] as const;
const { fround } = Math;

const members = new Map(resampleStruct.members.map((member) => [member.name, member]));

class Params {
  readonly #launch: Launch;
  readonly #data: DataView;

  constructor(launch: Launch) {
    const { bytes } = launch.params;
    this.#launch = launch;
    this.#data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  number(name: string, within = 0): number {
    const { type, offset } = this.#member(name);
    return type === "float"
      ? this.#data.getFloat32(offset, true)
      : this.#data.getInt32(offset + 4 * within, true);
  }

  view(name: string): View {
    const { offset } = this.#member(name);
    const slot = this.#launch.params.pointers.find(({ at }) => at === offset);
    if (slot === undefined) throw new Error(`${name} is no pointer`);
    return slot.view;
  }

  #member(name: string) {
    const member = members.get(name);
    if (member === undefined) throw new Error(`there is no ${name}`);
    return member;
  }
}

export function emulate(launch: Launch, memory: Memory): void {
  const params = new Params(launch);
  const [blocks, slices] = launch.grid;
  const all = params.number("batch") * params.number("target");
  for (let slice = 0; slice < slices; slice++)
    for (let block = 0; block < blocks; block++) {
      const end = Math.floor((all * (block + 1)) / blocks);
      for (let row = Math.floor((all * block) / blocks); row < end; )
        row += movePiece(params, memory, row, end, slice);
    }
}

/** The rows of one batch that a block does together. */
function movePiece(params: Params, memory: Memory, row: number, end: number, slice: number): number {
  const target = params.number("target");
  const batch = Math.floor(row / target);
  const first = row % target;
  const rows = Math.min(pieceRows, end - row, target - first);
  const table = Array.from({ length: rows }, (_, at) => lookUp(params, memory, batch, first + at));
  const [x, y] = [params.view("x"), params.view("y")];
  const [chunks, sliceChunks] = [params.number("chunks"), params.number("slice")];
  const width = (y.shape[2] ?? 0) / chunks;
  const total = rows * sliceChunks;
  const blend = blends[params.number("blend")] ?? blends[0];
  const [from, to] = [memory(x), memory(y)];
  const rowOf = (view: View, name: string, at: number) =>
    view.offset + batch * params.number(`stride${name}Batch`) + at * params.number(`stride${name}Row`);
  // A thread's accesses behind the end are loads of the last one.
  for (let at = 0; at < Math.ceil(total / threads) * threads; at++) {
    const place = Math.min(at, total - 1);
    const own = Math.floor(place / sliceChunks);
    const asked = slice * sliceChunks + (place % sliceChunks);
    const chunk = Math.min(asked, chunks - 1);
    const found = table[own];
    if (found === undefined) throw new Error(`row ${own} of ${rows}`);
    const [low, high] = [rowOf(x, "X", found.low) + chunk * width, rowOf(x, "X", found.high) + chunk * width];
    const target = rowOf(y, "Y", first + own) + chunk * width;
    for (let e = 0; e < width; e++) {
      const value = blend(read(from, low + e), read(from, high + e), found.weight);
      if (at < total && asked === chunk) to[target + e] = value;
    }
  }
  return rows;
}

interface TableRow {
  readonly low: number;
  readonly high: number;
  readonly weight: number;
}

function lookUp(params: Params, memory: Memory, batch: number, row: number): TableRow {
  const source = params.number("source");
  const [times, targets] = [params.view("times"), params.view("targets")];
  const timeAt = (at: number) => {
    if (at < 0 || at >= source) throw new Error(`time ${at} of ${source}`);
    const place = batch * params.number("strideTimesBatch") + at * params.number("strideTimes");
    return read(memory(times), times.offset + place);
  };
  const place = batch * params.number("strideTargetsBatch") + row * params.number("strideTargets");
  const target = read(memory(targets), targets.offset + place);
  const isCounted = (at: number) =>
    params.number("isInclusive") === 1 ? timeAt(at) <= target : timeAt(at) < target;
  const isSorted = Array.from({ length: source - 1 }, (_, at) => [timeAt(at), timeAt(at + 1)] as const).every(
    ([time, next]) => Number.isNaN(next) || time <= next,
  );
  const count = isSorted
    ? countSorted(source, params.number("lanes"), isCounted)
    : Array.from({ length: source }, (_, at) => isCounted(at)).filter(Boolean).length;
  const [low = 0, high = 0] = ["low", "high"].map((name) => {
    const [shift, least, most] = [0, 1, 2].map((within) => params.number(name, within));
    const at = Math.min(Math.max(count + (shift ?? 0), least ?? 0), most ?? 0);
    return at < 0 ? at + source : at;
  });
  return { low, high, weight: weightOf(params, timeAt(low), timeAt(high), target) };
}

/** Each round every lane asks one time, and the votes leave one part of so many. */
export function countSorted(source: number, lanes: number, isCounted: (at: number) => boolean): number {
  let [begin, end] = [0, source];
  for (let span = source; span > 0; ) {
    const step = Math.ceil(span / lanes);
    const asked = Array.from({ length: lanes }, (_, lane) => begin + (lane + 1) * step - 1);
    const parts = asked.filter((at) => at < end && isCounted(at)).length;
    end = Math.min(end, begin + (parts + 1) * step - 1);
    begin = Math.min(end, begin + parts * step);
    span = step - 1;
  }
  return begin;
}

function weightOf(params: Params, left: number, right: number, target: number): number {
  const between = fround(right - left);
  let span = Math.max(fround(between + params.number("spanAdd")), params.number("spanLeast"));
  if (span === 0) span = params.number("zeroSpan");
  let weight = fround(fround(target - left) / span);
  const kind = params.number("emptyKind");
  if (kind === 1 ? between === 0 : kind === 2 && !(between > 0)) weight = params.number("emptyWeight");
  weight = Math.min(Math.max(weight, params.number("weightLeast")), params.number("weightMost"));
  const type = floatTypes.find((each) => storageTypes[each].code === params.number("weightType"));
  return roundedTo(type ?? "float32", [weight])[0] ?? Number.NaN;
}

/** As the compiler has them: a product that is added is not rounded. */
const blends = [
  (low: number, high: number, weight: number) => fround(low + weight * fround(high - low)),
  (low: number, high: number, weight: number) => fround(fround(1 - weight) * low + fround(weight * high)),
  (low: number, high: number, weight: number) => {
    const between = fround(high - low);
    return weight < 0.5 ? fround(low + weight * between) : fround(high - between * fround(1 - weight));
  },
] as const;

export function roundedTo(type: StorageType, values: ArrayLike<number>): Float64Array {
  return decodeValues(type, encodeValues(type, Float64Array.from(values)));
}

function read(memory: Float64Array, at: number): number {
  const value = memory[at];
  if (value === undefined) throw new Error(`element ${at} of ${memory.length} is read`);
  return value;
}
