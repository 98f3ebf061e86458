/** @file Descriptors of tensors for the copy engine of sm_90 and later. */
import type { TensorMap } from "../plan/params.ts";
import { bytesOfType, type StorageType } from "../plan/storage.ts";
import type { Driver } from "./driver.ts";

const mapBytes = 128;
const mapAlignment = 64;
/** CUtensorMapDataType. */
const dataTypes: Partial<Record<StorageType, number>> = { float16: 6, float32: 7, bfloat16: 9 };
// CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill.
const noInterleave = 0;
const swizzle128 = 3;
const promote256 = 3;
const fillZeros = 0;

/**
 * The 128 bytes of a CUtensorMap for a tensor at `address` (a multiple of 16), rows of a box swizzled over 128 bytes.
 * Throws CudaError for sizes and strides that the copy engine does not take.
 */
export function encodeTensorMap(driver: Driver, map: TensorMap, address: number): Uint8Array {
  const { view, sizes, strides, box } = map;
  const type = dataTypes[view.type];
  if (type === undefined) throw new Error(`tc-lint bug: no tensor map of ${view.type}`);
  const bytes = bytesOfType(view.type);
  using block = driver.allocate(mapBytes + mapAlignment);
  const offset = (mapAlignment - Number(block.address % BigInt(mapAlignment))) % mapAlignment;
  driver.call(
    "cuTensorMapEncodeTiled",
    block.address + BigInt(offset),
    type,
    sizes.length,
    address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strides, (stride) => BigInt(stride * bytes)),
    Uint32Array.from(box),
    new Uint32Array(sizes.length).fill(1),
    noInterleave,
    swizzle128,
    promote256,
    fillZeros,
  );
  return block.bytes.slice(offset, offset + mapBytes);
}
