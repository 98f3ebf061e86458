/** @file Tensors in memory, in the arrays that ONNX Runtime takes and gives. */
import { type DType, dtypes } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import { bfloatBits, halfBits } from "../ir/half.ts";
import type { TensorSpec } from "../ir/patch.ts";
import { exponentValue, isSmallFloat, type SmallFloatType, smallFloatValue } from "../ir/small-float.ts";
import { bfloatToNumber, halfToNumber } from "../onnx/elements.ts";

/** Of each type that can be given to a model or compared: halves as their bits, bool as 0 and 1. */
export const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  // A byte for each element: floats as their codes.
  int4: Int8Array,
  uint4: Uint8Array,
  int2: Int8Array,
  uint2: Uint8Array,
  float8e4m3fn: Uint8Array,
  float8e4m3fnuz: Uint8Array,
  float8e5m2: Uint8Array,
  float8e5m2fnuz: Uint8Array,
  float8e8m0: Uint8Array,
  float4e2m1: Uint8Array,
} as const satisfies Partial<Record<DType, unknown>>;

export type ArrayType = keyof typeof arrays;
/** Of what a model is patched with. */
type NumberType = "float32" | "int32" | "uint8" | "int8";
type SharedType = Exclude<ArrayType, "int4" | "uint4" | "int2" | "uint2" | SmallFloatType | "float8e8m0">;
export type NumberArray = InstanceType<(typeof arrays)[ArrayType]>;

export type Tensor =
  | { readonly dtype: ArrayType; readonly dims: readonly number[]; readonly data: NumberArray }
  | { readonly dtype: "string"; readonly dims: readonly number[]; readonly data: readonly string[] };

/** Types that lie in memory a byte for each element, as no other runtime takes them. */
const unpacked = new Set<string>([
  "int4",
  "uint4",
  "int2",
  "uint2",
  "float8e4m3fn",
  "float8e4m3fnuz",
  "float8e5m2",
  "float8e5m2fnuz",
  "float8e8m0",
  "float4e2m1",
] satisfies ArrayType[]);

/** Whether ONNX Runtime's arrays have the type too. */
export function isSharedType(dtype: string | undefined): dtype is SharedType {
  return isArrayType(dtype) && !unpacked.has(dtype);
}

/** By name of the input or output. */
export type Tensors = ReadonlyMap<string, Tensor>;

export function isArrayType(dtype: string | undefined): dtype is ArrayType {
  return dtype !== undefined && Object.hasOwn(arrays, dtype);
}

export function countOf(dims: readonly number[]): number {
  return dims.reduce((total, dim) => total * dim, 1);
}

/** Whether its elements are compared within a tolerance. */
export function isFloatTensor(tensor: Tensor): boolean {
  return dtypes[tensor.dtype].kind === "float";
}

/** Elements as numbers, exact for everything but integers of 64 bits. Throws on strings. */
export function numbersOf(tensor: Tensor): ArrayLike<number> {
  const { dtype, data } = tensor;
  if (dtype === "string") throw new Error("tc-lint bug: strings are no numbers");
  if (dtype === "float16" || dtype === "bfloat16") {
    const values = valuesOfBits(dtype);
    const numbers = new Float32Array(data.length);
    for (let i = 0; i < numbers.length; i++) numbers[i] = values[Number(data[i])] ?? Number.NaN;
    return numbers;
  }
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return Float64Array.from(data, Number);
  if (isSmallFloat(dtype)) return Float64Array.from(data, (code) => smallFloatValue(dtype, code));
  return dtype === "float8e8m0" ? Float64Array.from(data, exponentValue) : data;
}

const tables = new Map<string, Float32Array>();

/** What each of the 65,536 patterns stands for. */
function valuesOfBits(dtype: "float16" | "bfloat16"): Float32Array {
  const known = tables.get(dtype);
  if (known !== undefined) return known;
  const convert = dtype === "float16" ? halfToNumber : bfloatToNumber;
  const table = Float32Array.from({ length: 1 << 16 }, (_, bits) => convert(bits));
  tables.set(dtype, table);
  return table;
}

/** A tensor of `dtype` from numbers: rounded to nearest for floats, truncated and wrapped for integers. */
export function tensorOf(dtype: ArrayType, dims: readonly number[], numbers: ArrayLike<number>): Tensor {
  return { dtype, dims, data: arrayOf(dtype, numbers) };
}

function arrayOf(dtype: ArrayType, numbers: ArrayLike<number>): NumberArray {
  switch (dtype) {
    case "float16":
      return Uint16Array.from(numbers, halfBits);
    case "bfloat16":
      return Uint16Array.from(numbers, bfloatBits);
    case "int64":
      return BigInt64Array.from(Array.from(numbers, integer));
    case "uint64":
      return BigUint64Array.from(Array.from(numbers, integer));
    default:
      return arrays[dtype].from(numbers);
  }
}

function integer(value: number): bigint {
  return BigInt(Math.trunc(value));
}

/** Converts between types of one kind, floats or integers. Throws InputError `wrong-type` for anything else. */
export function convert(tensor: Tensor, dtype: DType, what: string): Tensor {
  if (tensor.dtype === dtype) return tensor;
  const from = dtypes[tensor.dtype].kind;
  const to = dtypes[dtype].kind;
  const isWhole = (kind: string) => kind === "int" || kind === "uint" || kind === "bool";
  if (!isArrayType(dtype) || !((from === "float" && to === "float") || (isWhole(from) && isWhole(to)))) {
    throw new InputError("wrong-type", `${what}: is ${tensor.dtype}, expected ${dtype}`);
  }
  return tensorOf(dtype, tensor.dims, numbersOf(tensor));
}

/** Axis `i` of the result is axis `permutation[i]` of the tensor. Throws where the ranks differ. */
export function transpose(tensor: Tensor, permutation: readonly number[]): Tensor {
  const { dtype, dims } = tensor;
  if (dtype === "string" || permutation.length !== dims.length) {
    throw new Error(`tc-lint bug: [${permutation.join(",")}] does not permute ${dtype}[${dims.join(",")}]`);
  }
  const kept = permutation.map((axis) => Array.from({ length: dims[axis] ?? 0 }, (_, i) => i));
  const strides = permutation.map((axis) => countOf(dims.slice(axis + 1)));
  return { dtype, dims: kept.map(({ length }) => length), data: gather(tensor.data, dtype, kept, strides) };
}

/** Elements at every combination of positions: axis by axis, `positions` times the stride of that axis. */
export function gather(
  data: NumberArray,
  dtype: ArrayType,
  positions: readonly (readonly number[])[],
  strides: readonly number[],
): NumberArray {
  let offsets = [0];
  for (const [axis, each] of positions.entries()) {
    const stride = strides[axis] ?? 1;
    offsets = offsets.flatMap((offset) => each.map((position) => offset + position * stride));
  }
  const width = arrays[dtype].BYTES_PER_ELEMENT;
  const from = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const bytes = new Uint8Array(offsets.length * width);
  for (const [index, offset] of offsets.entries()) {
    for (let byte = 0; byte < width; byte++) bytes[index * width + byte] = from[offset * width + byte] ?? 0;
  }
  return new arrays[dtype](bytes.buffer);
}

/** A number as a stored FP32 scalar, for a model that is patched to be run. */
export function floatScalar(value: number): TensorSpec {
  return storedAs("float32", [], [value]);
}

/** Numbers as a stored tensor, likewise. */
export function storedAs(dtype: NumberType, dims: readonly number[], numbers: ArrayLike<number>): TensorSpec {
  const elements = arrays[dtype].from(numbers);
  const bytes = new Uint8Array(elements.buffer);
  const readInto = (offset: number, target: Uint8Array) =>
    target.set(bytes.subarray(offset, offset + target.length));
  return { dtype, dims, bytes: { size: bytes.length, readInto } };
}
