/** @file Products of codes of a byte on Tensor Cores: which kernel, its operands as it takes them, and its launch. */
import type { Emitter } from "../../ir/emitter.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { TensorMap } from "../../ir/params.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { type StorageType, storageTypes } from "../../ir/storage.ts";
import { elementCount, sliced, type View } from "../../ir/view.ts";
import type { divisorStruct } from "../common/params.table.ts";
import { divisorOf } from "../movement/walk.ts";
import { addendOf, wideZeros } from "./code-addend.ts";
import { canWalkCodes, walkMaps, walkSizeOf, windowFields } from "./code-walk.ts";
import { codeRange, isCodeType } from "./codes.ts";
import {
  cheapestTile,
  codeProductMicroseconds,
  type ProductSize,
  stepsOfBlock,
  type TileChoice,
} from "./cost.ts";
import { codeMapsStruct, codeProductStruct } from "./params.table.ts";
import { type CodeTail, hasTail, tailFields } from "./tail.ts";
import { nameOfTile, type Tile } from "./tiles.ts";

/** As entries name them. */
const codeNames: Readonly<Partial<Record<StorageType, string>>> = {
  int8: "s8",
  uint8: "u8",
  float8e4m3fn: "e4m3",
  float8e5m2: "e5m2",
};

/** What becomes of the sums. All views are packed and have float32 elements, one a column, unless said otherwise. */
export interface CodeEpilogue {
  /** Sums times this; of one element or one a column. Undefined: `to` takes the integer sums. */
  readonly scale?: View | undefined;
  readonly bias?: View | undefined;
  /** One code of `to`'s type, or of that of codes between. */
  readonly zeroOut?: View | undefined;
  /** Codes that sums may be rounded to; their type's unless given. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** Of integers alone. */
  readonly tail?: CodeTail | undefined;
}

export interface CodeProductRequest {
  /** [m, k] or [batch, m, k]. */
  readonly a: View;
  /** [k, n] or [batch, k, n]. */
  readonly b: View;
  /** [m, n] or [batch, m, n], unit stride along n: codes, int32 without a scale, or floats. */
  readonly to: View;
  /** One element of a's type, and one or [n] of b's; undefined: 0. Of integers alone. */
  readonly zeroA?: View | undefined;
  readonly zeroB?: View | undefined;
  /** int32, [n]: added to integer sums. */
  readonly addend?: View | undefined;
  readonly epilogue: CodeEpilogue;
  /** Narrows the choice of a kernel, for measurements. */
  readonly accepts?: ((choice: TileChoice) => boolean) | undefined;
}

/** A convolution of [N, C, H, W], as a product. */
export interface CodeWindow {
  /** Channels innermost, a multiple of 16 of them. */
  readonly x: View;
  /** [K, C, taps Y, taps X], of as many channels or fewer. */
  readonly w: View;
  /** [N, K, Y, X], channels innermost. */
  readonly to: View;
  readonly strides: readonly [number, number];
  readonly dilations: readonly [number, number];
  readonly pads: readonly [number, number];
}

/** Whether the GPU multiplies these, and sums them in int32 or float32. */
export function multipliesCodes(a: StorageType, b: StorageType, target: PlanTarget): boolean {
  const [first, second] = [codeNames[a], codeNames[b]];
  if (first === undefined || second === undefined) return false;
  const isFloat = (name: string) => name.startsWith("e");
  if (isFloat(first) !== isFloat(second)) return false;
  return isFloat(first) ? target.features.float8 : target.features.int8;
}

export function emitCodeProduct(emitter: Emitter, request: CodeProductRequest): void {
  const { to } = request;
  if (elementCount(to.shape) === 0) return;
  const batched = (view: View): View =>
    view.shape.length === 3 ? view : { ...view, shape: [1, ...view.shape], strides: [0, ...view.strides] };
  const a = alongK(emitter, batched(request.a));
  const b = alongK(emitter, turned(batched(request.b)));
  const d = batched(to);
  const [batch = 1, m = 1, k = 1] = a.shape;
  const n = b.shape[1] ?? 1;
  const epilogue = withResidual(request.epilogue, batched);
  launchProduct(emitter, { ...request, epilogue }, { a, b, d, size: { m, n, k, batch }, window: undefined });
}

/** Σ over taps and channels; positions outside of x are `zeroA`. */
export function emitCodeConv(
  emitter: Emitter,
  window: CodeWindow,
  request: Omit<CodeProductRequest, "a" | "b" | "to">,
): void {
  const { x, w, to } = window;
  const [filters = 1, , tapsY = 1, tapsX = 1] = w.shape;
  const [images = 1, channels = 1] = x.shape;
  if (elementCount(to.shape) === 0) return;
  const packed = packedFilters(emitter, w, channels);
  const k = channels * tapsY * tapsX;
  const b: View = { ...packed, shape: [1, filters, k], strides: [0, k, 1] };
  const m = images * (to.shape[2] ?? 1) * (to.shape[3] ?? 1);
  const rows = (view: View): View => ({
    ...view,
    shape: [1, m, filters],
    strides: [0, view.strides[3] ?? 1, 1],
  });
  const [d, epilogue] = [rows(to), withResidual(request.epilogue, rows)];
  launchProduct(
    emitter,
    { ...request, to, epilogue },
    { a: x, b, d, size: { m, n: filters, k, batch: 1 }, window },
  );
}

/** The same of a residual that is seen in another way. */
export function withResidual(epilogue: CodeEpilogue, seen: (view: View) => View): CodeEpilogue {
  const residual = epilogue.tail?.residual;
  if (epilogue.tail === undefined || residual === undefined) return epilogue;
  return { ...epilogue, tail: { ...epilogue.tail, residual: { ...residual, view: seen(residual.view) } } };
}

/** [K, taps, C] with as many channels as x has, those beyond w's own zero. */
function packedFilters(emitter: Emitter, w: View, channels: number): View {
  const [filters = 1, own = 1, tapsY = 1, tapsX = 1] = w.shape;
  const packed = emitter.temporary(w.type, [filters, channels, tapsY, tapsX], [0, 2, 3, 1]);
  if (own < channels) emitter.clear({ ...packed });
  emitter.copy(w, sliced(packed, 1, 0, own));
  return packed;
}

interface Operands {
  /** Unit stride along k, rows at multiples of 16 bytes: [batch, rows, k]; of a convolution its input. */
  readonly a: View;
  readonly b: View;
  readonly d: View;
  readonly size: ProductSize;
  readonly window: CodeWindow | undefined;
}

function turned(view: View): View {
  const [batch = 1, k = 1, n = 1] = view.shape;
  const [stepBatch = 0, stepK = 0, stepN = 0] = view.strides;
  return { ...view, shape: [batch, n, k], strides: [stepBatch, stepN, stepK] };
}

/** The view itself where a kernel takes it, else a copy whose rows begin at multiples of 16. */
function alongK(emitter: Emitter, view: View): View {
  const [batch = 1, rows = 1, k = 1] = view.shape;
  const [stepBatch = 0, stepRow = 0, stepK = 0] = view.strides;
  const isWhole = (step: number, count: number) => count === 1 || (step >= 0 && step % 16 === 0);
  const isTaken = (stepK === 1 || k === 1) && isWhole(stepRow, rows) && isWhole(stepBatch, batch);
  if (isTaken && view.offset % 16 === 0) return view;
  const pitch = Math.ceil(k / 16) * 16;
  const once = stepBatch === 0 ? 1 : batch;
  const copy = sliced(emitter.temporary(view.type, [once, rows, pitch]), 2, 0, k);
  emitter.copy({ ...view, shape: [once, rows, k] }, copy);
  return { ...copy, shape: view.shape, strides: once === batch ? copy.strides : copy.strides.with(0, 0) };
}

function launchProduct(
  emitter: Emitter,
  request: Omit<CodeProductRequest, "a" | "b">,
  operands: Operands,
): void {
  const { a, b, d, size, window } = operands;
  const { scale, bias, zeroOut, low, high, tail } = request.epilogue;
  const zeroB = request.zeroB && wideZeros(emitter, request.zeroB, size.n);
  const addend = addendOf(emitter, request, operands, zeroB);
  const fill = window === undefined ? undefined : request.zeroA;
  const mayFetch = window === undefined && zeroB === undefined && isFetched(a) && isFetched(b);
  const result = { type: request.to.type, tail };
  const isWalked =
    zeroB === undefined &&
    fill === undefined &&
    hasTail(a.type, b.type) &&
    (tail !== undefined || isCodeType(result.type));
  const walk = window && isWalked && canWalkCodes(window) ? walkSizeOf(window) : undefined;
  const maySum = hasTail(a.type, b.type);
  const isStored =
    isCodeType(result.type) || tail !== undefined || (result.type === "float32" && scale !== undefined);
  const hasMany = maySum && isStored;
  const ways = { ...emitter.target, mayFetch, maySum, hasMany, walk };
  const choice = cheapestTile(size, result, ways, request.accepts);
  const { tile, parts, splits } = choice;
  const [tilesM, tilesN] = [Math.ceil(size.m / tile.m), Math.ceil(size.n / tile.n)];
  const codeType = tail?.between?.type ?? request.to.type;
  const [least, most] = codeRange(codeType);
  const step = (view: View, axis: number) => ((view.shape[axis] ?? 1) === 1 ? 0 : (view.strides[axis] ?? 0));
  const residual = tail?.residual?.view;
  const reads = [a, b, addend, zeroB, scale, bias, zeroOut, fill, residual].filter(
    (each) => each !== undefined,
  );
  const params: ValuesOf<typeof codeProductStruct> = {
    ...{ a, b, d: request.to, addend, zeroB, scale, bias, zeroOut, fill },
    ...{ m: size.m, n: size.n, k: size.k, batch: size.batch, tilesM, tilesN },
    aBatch: window === undefined ? step(a, 0) : 0,
    bBatch: step(b, 0),
    dBatch: step(d, 0),
    aM: window === undefined ? step(a, 1) : 0,
    bN: step(b, 1),
    dM: step(d, 1),
    scaleStep: scale === undefined || elementCount(scale.shape) === 1 ? 0 : 1,
    dType: storageTypes[request.to.type].code,
    codeType: storageTypes[codeType].code,
    low: Math.max(low ?? least, least),
    high: Math.min(high ?? most, most),
    ...windowFields(window),
    tail: tailFields(tail, bias !== undefined, step),
  };
  const isHopper = tile.kind !== "mma";
  const maps =
    window === undefined || !isHopper
      ? { a: mapOf(a, tile.m), b: mapOf(b, tile.n), taps: 0, boxesOfTap: 0 }
      : walkMaps(window, b, tile, parts);
  const name = `${codeNames[a.type]}${codeNames[b.type]}_${nameOfTile(tile)}`;
  const variant = window !== undefined && isHopper ? `_${parts}` : "";
  const kind = tile.kind === "many" && variant === "" ? "-codes" : isHopper ? "-hopper" : "";
  const family = `${variant === "" ? "gemm" : "conv"}-int8${kind}`;
  const blocks = tilesM * tilesN * size.batch;
  emitter.launch({
    kernel: { kind: "built", family, entry: `codes_${window === undefined ? "" : "conv_"}${name}${variant}` },
    grid: [blocksOf(tile, blocks, splits, emitter.target), 1, 1],
    cluster: splits > 1 ? [splits, 1, 1] : undefined,
    block: [tile.threads, 1, 1],
    sharedBytes: tile.sharedBytes,
    params: isHopper
      ? writeParams(codeMapsStruct, {
          ...{ ...maps, p: params, stepsOfBlock: stepsOfBlock(size.k, choice) },
          ofBatch: divisor(tilesM * tilesN),
          ofGroup: divisor(rowsOfGroup * tilesN),
        })
      : writeParams(codeProductStruct, params),
    reads,
    writes: [request.to],
    flops: 2 * size.m * size.n * size.k * size.batch,
    predictedMicroseconds: codeProductMicroseconds(size, choice, result, emitter.target),
    detail: `${size.m}x${size.n}x${size.k}${splits > 1 ? `, ${splits} splits in a cluster` : ""}`,
  });
}

/** Rows of tiles whose columns blocks share in L2. */
const rowsOfGroup = 8;

function divisor(size: number): ValuesOf<typeof divisorStruct> {
  return { size, ...divisorOf(size) };
}

/** Blocks that stay: as many as multiprocessors hold, where there are tiles for all. */
function blocksOf(tile: Tile, tiles: number, splits: number, { multiprocessors }: PlanTarget): number {
  if (tile.kind === "mma" || tile.kind === "sum") return tiles * splits;
  return Math.min(tiles, multiprocessors * tile.resident);
}

/** Axes k, rows, batch; a box is one tile of 128 bytes a row. */
function mapOf(view: View, rows: number): TensorMap {
  const [batch = 1, count = 1, k = 1] = view.shape;
  const [stepBatch = 0, stepRow = 0] = view.strides;
  const packed = Math.ceil(k / 16) * 16;
  return {
    view,
    sizes: [k, count, stepBatch === 0 ? 1 : batch],
    strides: [count === 1 ? packed : stepRow, stepBatch === 0 || batch === 1 ? packed * count : stepBatch],
    box: [128, rows, 1],
  };
}

/** Whether TMA takes it: strides and address are multiples of 16 (`alongK` has seen to it), and rows do not repeat. */
function isFetched({ shape, strides }: View): boolean {
  return shape[1] === 1 || (strides[1] ?? 0) > 0;
}
