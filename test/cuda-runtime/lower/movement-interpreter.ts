/** @file The kernels of movement.cu by their definitions, reading parameters at the places where the struct has them. */
import { byteOffsetOf, maxRank } from "../../../cuda-runtime/ir/params.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { Memory, Runner } from "./movement-machine.ts";

/** Reads fields in the order of the C struct. */
class StructReader {
  readonly #launch: Launch;
  readonly #memory: Memory;
  #at = 0;

  constructor(launch: Launch, memory: Memory) {
    this.#launch = launch;
    this.#memory = memory;
  }

  pointer(): Bytes | undefined {
    this.#at = Math.ceil(this.#at / 8) * 8;
    const slot = this.#launch.params.pointers.find(({ at }) => at === this.#at);
    this.#at += 8;
    return slot && new Bytes(this.#memory.bytesOf(slot.view.buffer), byteOffsetOf(slot.view));
  }

  int(): number {
    const { buffer, byteOffset } = this.#launch.params.bytes;
    const value = new DataView(buffer, byteOffset).getInt32(this.#at, true);
    this.#at += 4;
    return value;
  }

  ints(count = maxRank): number[] {
    return Array.from({ length: count }, () => this.int());
  }
}

/** Memory from an address on; reading or writing outside of the buffer throws. */
class Bytes {
  readonly #view: DataView;
  readonly #base: number;

  constructor(bytes: Uint8Array, base: number) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#base = base;
  }

  int(index: number, bytes: number): number {
    const at = this.#base + index * bytes;
    return bytes === 8 ? Number(this.#view.getBigInt64(at, true)) : this.#view.getInt32(at, true);
  }

  setInt(index: number, value: number): void {
    this.#view.setInt32(this.#base + index * 4, value, true);
  }

  byte(at: number): number {
    return this.#view.getUint8(this.#base + at);
  }

  setByte(at: number, value: number): void {
    this.#view.setUint8(this.#base + at, value);
  }

  float(index: number): number {
    return this.#view.getFloat32(this.#base + index * 4, true);
  }

  setFloat(index: number, value: number): void {
    this.#view.setFloat32(this.#base + index * 4, value, true);
  }
}

interface Walk {
  readonly count: number;
  readonly sizes: readonly number[];
}

function readWalk(struct: StructReader): Walk {
  const count = struct.int();
  const rank = struct.int();
  const sizes = struct.ints().slice(0, rank);
  struct.ints(2 * maxRank);
  return { count, sizes };
}

function positionsOf({ count, sizes }: Walk): number[][] {
  if (count !== sizes.reduce((total, size) => total * size, 1))
    throw new Error("the count is not the product");
  return Array.from({ length: count }, (_, index) => {
    let rest = index;
    return sizes
      .toReversed()
      .map((size) => {
        const coordinate = rest % size;
        rest = Math.floor(rest / size);
        return coordinate;
      })
      .reverse();
  });
}

function along(position: readonly number[], strides: readonly number[]): number {
  return position.reduce((sum, coordinate, axis) => sum + coordinate * (strides[axis] ?? 0), 0);
}

interface Lookup {
  readonly depth: number;
  readonly indexBytes: number;
  readonly depthStride: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

function readLookup(struct: StructReader): Lookup {
  const [depth = 0, indexBytes = 0, depthStride = 0] = struct.ints(3);
  return { depth, indexBytes, depthStride, sizes: struct.ints(), strides: struct.ints() };
}

function lookedUp(indices: Bytes | undefined, at: number, lookup: Lookup): number[] {
  return Array.from({ length: lookup.depth }, (_, k) => {
    const size = lookup.sizes[k] ?? 0;
    const index = indices?.int(at + k * lookup.depthStride, lookup.indexBytes) ?? 0;
    return Math.min(size - 1, Math.max(0, index < 0 ? index + size : index));
  });
}

function move(
  from: Bytes | undefined,
  at: number,
  to: Bytes | undefined,
  target: number,
  width: number,
): void {
  for (let byte = 0; byte < width; byte++) {
    to?.setByte(target * width + byte, from?.byte(at * width + byte) ?? 0);
  }
}

function select(struct: StructReader, width: number): void {
  const [from, to, tables, fill] = [struct.pointer(), struct.pointer(), struct.pointer(), struct.pointer()];
  const walk = readWalk(struct);
  const [fromStrides, toStrides, tableAt] = [struct.ints(), struct.ints(), struct.ints()];
  const fillBytes = struct.int();
  for (const position of positionsOf(walk)) {
    const source = position.map((coordinate, axis) => {
      const table = tableAt[axis] ?? -1;
      return table < 0 ? coordinate : (tables?.int(table + coordinate, 4) ?? 0);
    });
    const target = along(position, toStrides);
    if (source.every((coordinate) => coordinate >= 0))
      move(from, along(source, fromStrides), to, target, width);
    else
      for (let byte = 0; byte < width; byte++) {
        to?.setByte(target * width + byte, fill?.byte(byte % fillBytes) ?? 0);
      }
  }
}

function gather(struct: StructReader, width: number): void {
  const [from, indices, to] = [struct.pointer(), struct.pointer(), struct.pointer()];
  const walk = readWalk(struct);
  const [fromStrides, indexStrides, toStrides] = [struct.ints(), struct.ints(), struct.ints()];
  const lookup = readLookup(struct);
  for (const position of positionsOf(walk)) {
    const places = lookedUp(indices, along(position, indexStrides), lookup);
    const at = along(position, fromStrides) + along(places, lookup.strides);
    move(from, at, to, along(position, toStrides), width);
  }
}

function scatter(struct: StructReader, width: number | undefined): void {
  const [updates, indices, to, winners] = [
    struct.pointer(),
    struct.pointer(),
    struct.pointer(),
    struct.pointer(),
  ];
  const walk = readWalk(struct);
  const [updateStrides, indexStrides, toStrides] = [struct.ints(), struct.ints(), struct.ints()];
  const [winnerStrides, rowStrides] = [struct.ints(), struct.ints()];
  const lookup = readLookup(struct);
  const winnerLookup = struct.ints();
  // Backwards, so that only the winners keep the last update.
  for (const position of positionsOf(walk).reverse()) {
    const places = lookedUp(indices, along(position, indexStrides), lookup);
    const winner = along(position, winnerStrides) + along(places, winnerLookup);
    const row = along(position, rowStrides) + 1;
    if (width === undefined) winners?.setInt(winner, Math.max(row, winners.int(winner, 4)));
    else if (winners === undefined || winners.int(winner, 4) === row) {
      const target = along(position, toStrides) + along(places, lookup.strides);
      move(updates, along(position, updateStrides), to, target, width);
    }
  }
}

const reductions = [
  (before: number, update: number) => before + update,
  (before: number, update: number) => before * update,
  Math.min,
  Math.max,
];

/** Of float32. */
function scatterReduce(struct: StructReader): void {
  const [updates, indices, to] = [struct.pointer(), struct.pointer(), struct.pointer()];
  const walk = readWalk(struct);
  const [updateStrides, indexStrides, toStrides] = [struct.ints(), struct.ints(), struct.ints()];
  const lookup = readLookup(struct);
  const [steps = 0, updateStep = 0, indexStep = 0, reduction = 0] = struct.ints(4);
  for (const position of positionsOf(walk)) {
    for (let step = 0; step < steps; step++) {
      const places = lookedUp(indices, along(position, indexStrides) + step * indexStep, lookup);
      const target = along(position, toStrides) + along(places, lookup.strides);
      const update = updates?.float(along(position, updateStrides) + step * updateStep) ?? 0;
      to?.setFloat(target, reductions[reduction]?.(to.float(target), update) ?? 0);
    }
  }
}

export const interpret: Runner = (launch, memory) => {
  if (launch.kernel.kind !== "built" || launch.kernel.family !== "movement") {
    throw new Error(`no definition of ${launch.kernel.entry}`);
  }
  const struct = new StructReader(launch, memory);
  const { entry } = launch.kernel;
  const width = Number(/_w(\d+)$/.exec(entry)?.[1]);
  if (entry.startsWith("select_")) select(struct, width);
  else if (entry.startsWith("gather_")) gather(struct, width);
  else if (entry === "scatter_claim") scatter(struct, undefined);
  else if (entry === "scatter_reduce_float32") scatterReduce(struct);
  else if (entry.startsWith("scatter_w")) scatter(struct, width);
  else throw new Error(`no definition of ${entry}`);
};
