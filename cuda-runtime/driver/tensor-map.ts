/** @file Descriptors of tensors for TMA (sm_90 and later). */
import type { Driver } from "./driver.ts";

const mapBytes = 128;
const mapAlignment = 64;
/** CUtensorMapDataType. */
const dataTypes = { uint8: 0, float16: 6, float32: 7, bfloat16: 9 } as const;
// CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill.
const noInterleave = 0;
const swizzle128 = 3;
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
}

/**
 * The 128 bytes of a CUtensorMap, rows of a box swizzled over 128 bytes. Throws CudaError for sizes and strides that the
 * TMA does not take.
 */
export function encodeTensorMap(driver: Driver, tensor: EncodedTensor): Uint8Array {
  const { type, address, sizes, strides, box } = tensor;
  using block = driver.allocate(mapBytes + mapAlignment);
  const offset = (mapAlignment - Number(block.address % BigInt(mapAlignment))) % mapAlignment;
  driver.call(
    "cuTensorMapEncodeTiled",
    block.address + BigInt(offset),
    dataTypes[type],
    sizes.length,
    address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strides, BigInt),
    Uint32Array.from(box),
    new Uint32Array(sizes.length).fill(1),
    noInterleave,
    swizzle128,
    promote256,
    fillZeros,
  );
  return block.bytes.slice(offset, offset + mapBytes);
}
