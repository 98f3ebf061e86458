/** @file Cases 17 to 30: tensors whose header and elements do not agree, or look as if they did not. */
import { field, float, floats, integers, join, modelBytes, node, varint } from "../build.ts";
import { type BadInput, type Expected, file } from "./case.ts";

/** An initializer "w" with these fields, that Identity gives out. */
function tensor(number: number, title: string, expect: Expected, ...parts: readonly Uint8Array[]): BadInput {
  return file(number, title, expect, () => {
    const identity = field(1, field(1, "w"), field(2, "y"), field(4, "Identity"));
    const graph = field(7, field(5, field(8, "w"), ...parts), identity, field(12, field(1, "y")));
    return join(varint(1, 8), field(8, varint(2, 17)), graph);
  });
}

const dims = (...sizes: (number | string)[]) => join(...sizes.map((size) => varint(1, size)));
const dtype = (code: number) => varint(2, code);
const raw = (bytes: number) => field(9, Buffer.alloc(bytes, 1));

function sparse(indices: readonly number[]): Uint8Array {
  const values = floats("w", [indices.length], Array(indices.length).fill(1));
  return modelBytes({
    node: [node("Identity", ["w"], ["y"])],
    output: [{ name: "y" }],
    sparseInitializer: [{ values, indices: integers("", [indices.length], indices), dims: [10] }],
  });
}

export const tensorCases: readonly BadInput[] = [
  tensor(17, "a negative dim", { error: "negative-dim" }, dims(-1, 4), dtype(float), raw(16)),
  tensor(
    18,
    "dims whose product is beyond 2^53",
    { error: "dim-overflow" },
    dims(2 ** 31, 2 ** 31),
    dtype(float),
    raw(16),
  ),
  tensor(
    18,
    "dims whose product wraps to 0",
    { error: "dim-overflow" },
    dims(2 ** 32, 2 ** 32),
    dtype(float),
  ),
  tensor(18, "a dim of 2^63 - 1", { error: "dim-overflow" }, dims("9223372036854775807", 0), dtype(float)),
  tensor(19, "raw_data too short", { error: "raw-data-short" }, dims(2, 2), dtype(float), raw(15)),
  tensor(
    19,
    "raw_data of a terabyte's tensor",
    { error: "raw-data-short" },
    dims(2 ** 38),
    dtype(float),
    raw(16),
  ),
  tensor(
    19,
    "float_data too short",
    { error: "typed-data-short" },
    dims(3),
    dtype(float),
    field(4, Buffer.alloc(8)),
  ),
  tensor(19, "int64_data too short", { error: "typed-data-short" }, dims(3), dtype(7), varint(7, 1)),
  tensor(19, "no data", { error: "no-data" }, dims(3), dtype(float)),
  tensor(20, "raw_data too long", { error: "raw-data-surplus" }, dims(2, 2), dtype(float), raw(17)),
  tensor(
    20,
    "float_data too long",
    { error: "typed-data-surplus" },
    dims(1),
    dtype(float),
    field(4, Buffer.alloc(8)),
  ),
  tensor(21, "two typed fields", { error: "two-data-fields" }, dims(1), dtype(7), varint(7, 1), varint(5, 1)),
  tensor(21, "raw and typed data", { error: "two-data-fields" }, dims(1), dtype(7), varint(7, 1), raw(8)),
  tensor(
    21,
    "data in the wrong typed field",
    { error: "wrong-data-field" },
    dims(1),
    dtype(float),
    varint(7, 1),
  ),
  tensor(22, "element type 0", { error: "bad-dtype" }, dims(1), dtype(0), raw(4)),
  tensor(
    22,
    "element type 99",
    { error: "bad-dtype", says: `99, the element type of "w", is none of ONNX's data types (1 to 26)` },
    dims(1),
    dtype(99),
    raw(4),
  ),
  tensor(23, "an odd count of INT4", "fine", dims(3), dtype(22), raw(2)),
  tensor(23, "an odd count of INT4, a byte short", { error: "raw-data-short" }, dims(3), dtype(22), raw(1)),
  tensor(24, "no elements", { error: "bad-size" }, dims(0, 7), dtype(float)),
  tensor(25, "a scalar", "fine", dtype(float), raw(4)),
  file(26, "NaN, infinities, subnormals", "fine", () =>
    modelBytes({
      node: [node("Identity", ["w"], ["y"])],
      output: [{ name: "y" }],
      initializer: [
        floats("w", [4], [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** -149]),
      ],
    }),
  ),
  tensor(27, "FP16 in int32_data", "fine", dims(2), dtype(10), field(5, Uint8Array.of(0x80, 0x78, 0))),
  tensor(28, "strings", "fine", dims(2), dtype(8), field(6, "one"), field(6, Uint8Array.of(0xff))),
  file(29, "sparse indices out of order", { error: "sparse-tensor" }, () => sparse([5, 3])),
  file(29, "sparse indices out of range", { error: "sparse-tensor" }, () => sparse([3, 10])),
  file(29, "sparse indices in order", "fine", () => sparse([3, 5])),
  tensor(
    30,
    "segments",
    { error: "segmented-tensor" },
    dims(1),
    dtype(float),
    field(3, varint(1, 0)),
    raw(4),
  ),
];
