/** @file SparseTensorProto: its dense type and dims, and whether its indices make sense. */
import type { TensorRef } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { DataFiles } from "./data-files.ts";
import { readElements } from "./elements.ts";
import { sparseFields } from "./fields.ts";
import { decodeTensor, takeDims } from "./tensor.ts";

/** Indices are read to be checked up to this many; a larger tensor's are taken as they are. */
const maxCheckedIndices = 1 << 16;

/** The current field as a SparseTensorProto; its values stay in the file. Throws WireError `sparse-tensor`. */
export function decodeSparse(cursor: Cursor): TensorRef {
  const span = { offset: cursor.start, length: cursor.length };
  let values: TensorRef | undefined;
  let indices: TensorRef | undefined;
  const dims: number[] = [];
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === sparseFields.values) values = decodeTensor(cursor);
    else if (cursor.field === sparseFields.indices) indices = decodeTensor(cursor);
    else if (cursor.field === sparseFields.dims) takeDims(cursor, dims);
  }
  cursor.leave(outer);
  if (values === undefined) throw cursor.error("sparse-tensor", "a sparse tensor has no values");
  const { name, dtype, dtypeCode } = values;
  const fail = (what: string) => cursor.error("sparse-tensor", `sparse tensor "${name}": ${what}`);
  if (values.dims.length !== 1) throw fail(`its values have dims [${values.dims.join(",")}], expected one`);
  const size = dims.reduce((total, dim) => total * dim, 1);
  if (dims.length === 0 || dims.some((dim) => dim < 0) || !Number.isSafeInteger(size)) {
    throw fail(`its dims [${dims.join(",")}] are no shape`);
  }
  if (indices !== undefined) checkIndices(cursor, indices, { dims, size, count: values.dims[0] ?? 0, fail });
  else if (values.dims[0] !== 0) throw fail("it has values, but no indices");
  return { name, dtype, dtypeCode, dims, data: { kind: "sparse" }, span };
}

interface Dense {
  readonly dims: readonly number[];
  /** Elements of the dense tensor. */
  readonly size: number;
  /** How many elements are stored. */
  readonly count: number;
  readonly fail: (what: string) => Error;
}

/** Indices are positions in the flat tensor, [count], or one row of coordinates each, [count, rank]; ascending. */
function checkIndices({ source }: Cursor, indices: TensorRef, { dims, size, count, fail }: Dense): void {
  if (indices.dtype !== "int64") throw fail(`its indices are ${indices.dtype}, expected int64`);
  const [rows, columns = 1] = indices.dims;
  const isFlat = indices.dims.length === 1;
  if (rows !== count || indices.dims.length > 2 || !(isFlat || columns === dims.length)) {
    throw fail(
      `its indices have dims [${indices.dims.join(",")}], for ${count} values of rank ${dims.length}`,
    );
  }
  const elements = readElements(source, new DataFiles(undefined), indices, maxCheckedIndices);
  if (elements === undefined) return;
  const bounds = isFlat ? [size] : dims;
  let before = -1;
  for (let row = 0; row < count; row++) {
    let flat = 0;
    for (const [column, bound] of bounds.entries()) {
      const index = elements[row * columns + column] ?? -1;
      if (index < 0 || index >= bound) throw fail(`index ${index} is out of range (0 to ${bound - 1})`);
      flat = flat * bound + index;
    }
    if (flat <= before) throw fail(`its indices are not in ascending order (element ${row})`);
    before = flat;
  }
}
