/** @file Descriptors of tensors for TMA (sm_90 and later). */
import type { ImageWalk } from "../ir/params.ts";
import { bytesOfType } from "../ir/storage.ts";
import type { Driver } from "./driver.ts";

const mapBytes = 128;
const mapAlignment = 64;
/** CUtensorMapDataType. */
const dataTypes = { uint8: 0, float16: 6, float32: 7, bfloat16: 9 } as const;
// CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill.
const noInterleave = 0;
const noSwizzle = 0;
/** By the bytes of a box' row. */
const swizzles: Readonly<Record<number, number>> = { 32: 1, 64: 2, 128: 3 };
const promote256 = 3;
const fillZeros = 0;

export interface EncodedTensor {
  readonly type: keyof typeof dataTypes;
  /** On the device, a multiple of 16. */
  readonly address: number;
  /** Elements along each axis, the innermost first. */
  readonly sizes: readonly number[];
  /** In bytes, of the axes behind the innermost: multiples of 16. */
  readonly strides: readonly number[];
  /** What one copy takes, in elements. */
  readonly box: readonly number[];
  readonly steps?: readonly number[] | undefined;
  readonly walk?: ImageWalk | undefined;
}

/**
 * The 128 bytes of a CUtensorMap, rows of a box swizzled over their length, of 32, 64 or 128 bytes; of other lengths they lie as they are.
 * Throws CudaError for sizes and strides that the TMA does not take.
 */
export function encodeTensorMap(driver: Driver, tensor: EncodedTensor): Uint8Array {
  using block = driver.allocate(mapBytes + mapAlignment);
  const offset = (mapAlignment - Number(block.address % BigInt(mapAlignment))) % mapAlignment;
  const to = block.address + BigInt(offset);
  if (tensor.walk === undefined) encodeTiled(driver, to, tensor);
  else encodeWalk(driver, to, tensor, tensor.walk);
  return block.bytes.slice(offset, offset + mapBytes);
}

function swizzleOf({ type, box }: EncodedTensor): number {
  const bytes = (box[0] ?? 0) * bytesOfType(type);
  if (bytes === 0 || bytes % 16 !== 0) throw new Error(`tc-lint bug: rows of ${box[0]} elements in a box`);
  return swizzles[bytes] ?? noSwizzle;
}

function encodeTiled(driver: Driver, to: bigint, tensor: EncodedTensor): void {
  const { type, address, sizes, strides, box, steps = sizes.map(() => 1) } = tensor;
  driver.call(
    "cuTensorMapEncodeTiled",
    to,
    dataTypes[type],
    sizes.length,
    address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strides, BigInt),
    Uint32Array.from(box),
    Uint32Array.from(steps),
    noInterleave,
    swizzleOf(tensor),
    promote256,
    fillZeros,
  );
}

function encodeWalk(driver: Driver, to: bigint, tensor: EncodedTensor, walk: ImageWalk): void {
  const { type, address, sizes, strides, box } = tensor;
  const [channels = 0, positions = 0] = box;
  driver.call(
    "cuTensorMapEncodeIm2col",
    to,
    dataTypes[type],
    sizes.length,
    address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strides, BigInt),
    Int32Array.from(walk.lower),
    Int32Array.from(walk.upper),
    channels,
    positions,
    // Along channels and batch by one.
    Uint32Array.from([1, ...walk.strides, 1]),
    noInterleave,
    swizzleOf(tensor),
    promote256,
    fillZeros,
  );
}
