/** @file Products run on the CPU by the meaning of their parameter structs, and a context that lowers into them. */

import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import { type Epilogue, type PendingProduct, plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { matchEpilogue } from "../../../cuda-runtime/ir/epilogue-match.ts";
import type { Expr } from "../../../cuda-runtime/ir/expr.ts";
import {
  binaryValue,
  compareValue,
  narrowValue,
  unaryValue,
  valueAs,
} from "../../../cuda-runtime/ir/expr-value.ts";
import { productsIn } from "../../../cuda-runtime/ir/expr-walk.ts";
import { byteOffsetOf, type TensorMap, tensorMapBytes } from "../../../cuda-runtime/ir/params.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { bytesOfType, type StorageType, storageTypes } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, expanded, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { gemmStruct, genericStruct } from "../../../cuda-runtime/kernels/gemm/params.table.ts";
import { hopperStruct } from "../../../cuda-runtime/kernels/gemm-hopper/params.table.ts";
import { thinStruct } from "../../../cuda-runtime/kernels/gemm-thin/params.table.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import { runCodeKernel } from "../kernels/code-machine.ts";
import { MachineContext, type Memory } from "./movement-machine.ts";

/** Elements behind a pointer, of the type that the kernel was told. Reading outside of the buffer throws. */
class Elements {
  readonly #bytes: Uint8Array;
  readonly #type: StorageType;
  readonly #first: number;

  constructor(bytes: Uint8Array, first: number, type: StorageType) {
    this.#bytes = bytes;
    this.#type = type;
    this.#first = first;
  }

  get(index: number): number {
    const at = this.#place(index);
    return decodeValues(this.#type, this.#bytes.subarray(at, at + bytesOfType(this.#type)))[0] ?? Number.NaN;
  }

  set(index: number, value: number): void {
    this.#bytes.set(encodeValues(this.#type, [value]), this.#place(index));
  }

  #place(index: number): number {
    const size = bytesOfType(this.#type);
    const at = this.#first + index * size;
    if (at < 0 || at + size > this.#bytes.length)
      throw new Error(`element ${index} is outside of its buffer`);
    return at;
  }
}

class Struct {
  readonly #launch: Launch;
  readonly #memory: Memory;
  readonly #data: DataView;
  #at = 0;

  constructor(launch: Launch, memory: Memory, bytes: number) {
    this.#launch = launch;
    this.#memory = memory;
    const block = launch.params.bytes;
    // Descriptors stand in front.
    const isHopper = launch.params.tensorMaps !== undefined;
    this.#at = isHopper ? 4 * tensorMapBytes : 0;
    const { kernel } = launch;
    const isThin = kernel.kind === "built" && kernel.family === "gemm-thin";
    const expected = isThin ? thinStruct.bytes : isHopper ? hopperStruct.bytes : bytes;
    if (block.length !== expected) throw new Error(`a struct of ${block.length} bytes, not ${expected}`);
    this.#data = new DataView(block.buffer, block.byteOffset);
  }

  pointer(): (type: StorageType) => Elements | undefined {
    const at = this.#at;
    this.#at += 8;
    const slot = this.#launch.params.pointers.find((each) => each.at === at);
    return (type) =>
      slot && new Elements(this.#memory.bytesOf(slot.view.buffer), byteOffsetOf(slot.view), type);
  }

  long(): number {
    this.#at += 8;
    return Number(this.#data.getBigInt64(this.#at - 8, true));
  }

  ints(count: number): number[] {
    return Array.from({ length: count }, () => {
      this.#at += 4;
      return this.#data.getInt32(this.#at - 4, true);
    });
  }

  floats(count: number): number[] {
    return Array.from({ length: count }, () => {
      this.#at += 4;
      return this.#data.getFloat32(this.#at - 4, true);
    });
  }
}

function typeOfCode(code: number | undefined): StorageType {
  for (const name of Object.keys(storageTypes) as StorageType[])
    if (storageTypes[name].code === code) return name;
  throw new Error(`no type has the code ${code}`);
}

/** Coordinates of all elements, the last axis innermost. */
function* positions(shape: readonly number[]): Generator<number[]> {
  const strides = stridesOf(shape);
  for (let index = 0; index < elementCount(shape); index++) {
    yield shape.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size);
  }
}

function along(position: readonly number[], strides: readonly number[]): number {
  return position.reduce((total, at, axis) => total + at * (strides[axis] ?? 0), 0);
}

/** An operand as TMA reads it: zeros beyond its edges, and every axis at a multiple of 16 bytes. */
class BoxOperand {
  readonly #map: TensorMap;
  readonly #elements: Elements;

  constructor(map: TensorMap, memory: Memory) {
    const bytes = bytesOfType(map.view.type);
    for (const stride of [map.view.offset, ...map.strides])
      if (stride < 0 || (stride * bytes) % 16 !== 0) throw new Error(`a stride of ${stride} elements`);
    if (map.box.length !== map.sizes.length || map.strides.length !== map.sizes.length - 1)
      throw new Error("a map of several ranks");
    if ((map.sizes[1] ?? 1) > 1 && (map.strides[0] ?? 0) < (map.sizes[0] ?? 0))
      throw new Error(`rows ${map.strides[0]} elements apart`);
    this.#map = map;
    this.#elements = new Elements(memory.bytesOf(map.view.buffer), byteOffsetOf(map.view), map.view.type);
  }

  /** Coordinates, the innermost axis first; of the batch as many as the map has, one of an axis that is shared is 0. */
  get(k: number, row: number, batch: readonly number[], strides: readonly number[]): number {
    const at = this.indexOf(k, row, batch, strides);
    return at === undefined ? 0 : this.#elements.get(at);
  }

  /** Elements from the view's first one on; undefined beyond an edge. */
  indexOf(k: number, row: number, batch: readonly number[], strides: readonly number[]): number | undefined {
    const { sizes } = this.#map;
    const own = batch.map((at, axis) => (strides[axis] === 0 ? 0 : at)).reverse();
    const at = [k, row, ...own].slice(0, sizes.length);
    if (at.some((coordinate, axis) => coordinate >= (sizes[axis] ?? 0))) return undefined;
    return along(at, [1, ...this.#map.strides]);
  }
}

/** Every kernel on GemmParams: tiles decide who computes an element, not what it is. Relu and limits are all it activates. */
function runGemm(launch: Launch, memory: Memory): void {
  const struct = new Struct(launch, memory, gemmStruct.bytes);
  const [a, b, d, residual, scale, bias] = Array.from({ length: 6 }, () => struct.pointer());
  const splitStride = struct.long();
  const [m = 0, n = 0, k = 0] = struct.ints(3);
  const [tilesM = 0, tilesN = 0, , splits = 1, kPerSplit = 0] = struct.ints(5);
  const batch = struct.ints(3);
  const [aBatch, bBatch, dBatch, rBatch] = Array.from({ length: 4 }, () => struct.ints(3));
  const [aM = 0, aK = 0, bK = 0, bN = 0, dM = 0, dN = 0, rM = 0, rN = 0] = struct.ints(8);
  struct.ints(2);
  const [aType, bType, dType, rType] = struct.ints(4).map(typeOfCode);
  const [, channelOnM] = struct.ints(3);
  const [alpha = 1] = struct.floats(1);
  const [kind] = struct.ints(1);
  struct.floats(2);
  const [lastKind] = struct.ints(1);
  struct.floats(2);
  const [firstLow = 0, firstHigh = 0, lastLow = 0, lastHigh = 0] = struct.floats(4);
  if (kind !== 0 || lastKind !== 0) throw new Error("an activation that the interpreter lacks");
  const isSum = launch.kernel.entry === "sum_splits";
  const tiles = tilesM * tilesN * splits * elementCount(batch);
  const [mapA, mapB, mapD, mapR] = [0, 1, 2, 3].map((slot) => {
    const map = launch.params.tensorMaps?.find((each) => each.at === slot * tensorMapBytes);
    return map && new BoxOperand(map, memory);
  });
  // Blocks that TMA feeds take several tiles each.
  // A cluster's blocks have a split of k each, and add up.
  const team = launch.cluster?.[0] ?? 1;
  if (team > 1 && (kPerSplit * team < k || kPerSplit * (team - 1) >= k)) throw new Error("a wrong split");
  const most = team * tiles;
  if (!isSum && (mapA === undefined || team > 1 ? most !== launch.grid[0] : launch.grid[0] > most))
    throw new Error("a wrong grid");

  const [x, y] = [a?.(isSum ? "float32" : (aType ?? "float32")), b?.(bType ?? "float32")];
  const [to, added] = [d?.(dType ?? "float32"), residual?.(rType ?? "float32")];
  const [scales, biases] = [scale?.("float32"), bias?.("float32")];
  for (const position of positions([...batch, m, n])) {
    const [i = 0, j = 0] = position.slice(3);
    const [atA, atB, atD, atR] = [aBatch, bBatch, dBatch, rBatch].map((strides) =>
      along(position, strides ?? []),
    );
    const places = position.slice(0, 3);
    // What goes by boxes goes where the strides say.
    if (mapD && mapD.indexOf(j, i, places, dBatch ?? []) !== (atD ?? 0) + i * dM + j * dN)
      throw new Error("a wrong map of the output");
    if (mapR && mapR.indexOf(j, i, places, rBatch ?? []) !== (atR ?? 0) + i * rM + j * rN)
      throw new Error("a wrong map of the residual");
    const finish = (sum: number, split: number) => {
      const channel = channelOnM === 1 ? i : j;
      const scaled = sum * alpha * (scales?.get(channel) ?? 1) + (biases?.get(channel) ?? 0);
      const first = Math.min(Math.max(scaled, firstLow), firstHigh);
      const v = first + (added?.get((atR ?? 0) + i * rM + j * rN) ?? 0);
      to?.set((atD ?? 0) + split * splitStride + i * dM + j * dN, Math.min(Math.max(v, lastLow), lastHigh));
    };
    if (isSum) {
      const index = along(position, stridesOf([...batch, m, n]));
      let sum = 0;
      for (let split = 0; split < splits; split++) sum += x?.get(split * splitStride + index) ?? Number.NaN;
      finish(sum, 0);
      continue;
    }
    for (let split = 0; split < splits; split++) {
      let sum = 0;
      for (let q = split * kPerSplit; q < Math.min(k, (split + team) * kPerSplit); q++) {
        const left =
          mapA?.get(q, i, places, aBatch ?? []) ?? x?.get((atA ?? 0) + i * aM + q * aK) ?? Number.NaN;
        const right =
          mapB?.get(q, j, places, bBatch ?? []) ?? y?.get((atB ?? 0) + q * bK + j * bN) ?? Number.NaN;
        sum += left * right;
      }
      finish(sum, split);
    }
  }
}

function runGeneric(launch: Launch, memory: Memory): void {
  const struct = new Struct(launch, memory, genericStruct.bytes);
  const pointers = Array.from({ length: 5 }, () => struct.pointer());
  const [m = 0, n = 0, k = 0] = struct.ints(5);
  const batch = struct.ints(3);
  const strides = Array.from({ length: 5 }, () => struct.ints(3));
  const [aM = 0, aK = 0, bK = 0, bN = 0, dM = 0, dN = 0, zeroAM = 0, zeroBN = 0] = struct.ints(8);
  const types = struct.ints(5).map(typeOfCode);
  const [aType, bType, zeroAType, zeroBType, dType] = types;
  const ordered = [aType, bType, dType, zeroAType, zeroBType];
  const [a, b, d, zeroA, zeroB] = pointers.map((pointer, index) => pointer(ordered[index] ?? "int32"));
  for (const position of positions([...batch, m, n])) {
    const [i = 0, j = 0] = position.slice(3);
    const [atA = 0, atB = 0, atD = 0, atZeroA = 0, atZeroB = 0] = strides.map((each) =>
      along(position, each),
    );
    let sum = 0;
    for (let q = 0; q < k; q++) {
      const left = (a?.get(atA + i * aM + q * aK) ?? 0) - (zeroA?.get(atZeroA + i * zeroAM) ?? 0);
      sum += left * ((b?.get(atB + q * bK + j * bN) ?? 0) - (zeroB?.get(atZeroB + j * zeroBN) ?? 0));
    }
    d?.set(atD + i * dM + j * dN, sum);
  }
}

export function runProduct(launch: Launch, memory: Memory): void {
  const { kernel } = launch;
  if (kernel.kind !== "built" || !kernel.family.startsWith("gemm"))
    throw new Error(`no definition of ${kernel.entry}`);
  if (kernel.entry.startsWith("code")) runCodeKernel(launch, memory);
  else if (kernel.entry.startsWith("generic_")) runGeneric(launch, memory);
  else runGemm(launch, memory);
}

/** Takes products as the planner does: with what the epilogue can do of the expression behind them. */
export class ProductContext extends MachineContext {
  override setProduct(index = 0, product?: PendingProduct): void {
    if (product === undefined) throw new Error("no product");
    product.emit(plainEpilogue, this.output(index));
  }

  override setExpr(index: number, expr: Expr): void {
    if (productsIn(expr).length === 0) return super.setExpr(index, expr);
    const match = matchEpilogue(expr, this.outputShape(index));
    if (match === undefined) throw new Error("the product cannot take all of the expression");
    const { product, activation, last } = match;
    const vector = (each: Expr | undefined) => {
      if (each === undefined) return undefined;
      const { shape, channelAxis } = product;
      const view = this.evaluate(
        each,
        shape.map((size, axis) => (axis === channelAxis ? size : 1)),
        "float32",
      );
      return { ...view, shape: [elementCount(view.shape)], strides: [1] };
    };
    const epilogue: Epilogue = {
      scale: vector(match.scale),
      bias: vector(match.bias),
      activation,
      residual: match.residual && this.evaluate(match.residual, product.shape, "float32"),
      last,
    };
    product.emit(epilogue, this.output(index));
  }

  override evaluateInto(expr: Expr, to: View): void {
    const values = [...positions(to.shape)].map((position) => this.#value(expr, position));
    this.machine.write(to, values);
  }

  #value(expr: Expr, position: readonly number[]): number {
    const value = (arg: Expr) => this.#value(arg, position);
    switch (expr.kind) {
      case "load": {
        const { strides, offset } = expanded(
          expr.view,
          position.map((_, axis) => expr.view.shape[axis - position.length + expr.view.shape.length] ?? 1),
        );
        const own = position.map((at, axis) =>
          (expr.view.shape[axis - position.length + expr.view.shape.length] ?? 1) === 1 ? 0 : at,
        );
        const element = { ...expr.view, shape: [1], strides: [1], offset: offset + along(own, strides) };
        return this.machine.read(element)[0] ?? Number.NaN;
      }
      case "constant":
        return expr.value;
      case "unary":
        return unaryValue(expr.op, expr.type, value(expr.arg));
      case "binary":
        return binaryValue(expr.op, expr.type, value(expr.args[0]), value(expr.args[1]));
      case "compare":
        return compareValue(expr.op, value(expr.args[0]), value(expr.args[1]));
      case "select":
        return value(expr.condition) !== 0 ? value(expr.args[0]) : value(expr.args[1]);
      case "convert":
        return valueAs(expr.type, value(expr.arg));
      case "narrow":
        return narrowValue(expr.to, value(expr.arg));
      default:
        throw new Error(`an expression of kind ${expr.kind}`);
    }
  }
}
