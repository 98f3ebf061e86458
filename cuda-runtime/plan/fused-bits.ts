/** @file Products of one activation with weights of 4 bits, as one launch: codes and scales stand one below the other, joined at load. */
import type { Value } from "../../src/ir/model.ts";
import { plainEpilogue } from "../ir/epilogue.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, reshaped, sliced, type View } from "../ir/view.ts";
import { emitNBits, takesNBits } from "../kernels/gemm-nbits/gemm-nbits.ts";
import type { Frame } from "./frame.ts";
import type { ProductMember } from "./fused.ts";
import type { PlanValues } from "./values.ts";

/** The common result [rows, columns of all]; undefined where these rows or weights take another way, and nothing was emitted. */
export function lowerBits(
  members: readonly ProductMember[],
  { k, blockSize, zeros }: NonNullable<ProductMember["bits"]>,
  rows: View,
  frame: Frame,
  values: PlanValues,
): View | undefined {
  const { emitter } = values;
  if (rows.shape[1] !== k || !takesNBits(rows, { blockSize }, emitter.target)) return undefined;
  const blocks = Math.ceil(k / blockSize);
  const parts = members.map((member) => partOf(member, blocks, frame, values));
  const known = parts.filter((part) => part !== undefined);
  if (known.length < members.length) return undefined;
  const total = members.reduce((sum, { columns }) => sum + columns, 0);
  const joined = (type: StorageType, width: number, viewOf: (part: Part) => View | undefined) => {
    const all = emitter.temporary(type, [total, width]);
    let start = 0;
    for (const part of known) {
      const view = viewOf(part);
      if (view !== undefined) emitter.copy(view, sliced(all, 0, start, part.columns));
      start += part.columns;
    }
    return all;
  };
  const weights = {
    codes: joined("uint8", (blocks * blockSize) / 2, ({ codes }) => codes),
    scales: joined(rows.type, blocks, ({ scales }) => scales),
    zeros: zeros && joined("uint8", Math.ceil(blocks / 2), (part) => part.zeros),
    ...{ n: total, blocks, blockSize },
  };
  const hasBias = known.some(({ bias }) => bias !== undefined);
  const none = emitter.constant("float32", [1, 1], [0]);
  const bias = hasBias ? joined("float32", 1, (part) => part.bias ?? none) : undefined;
  const to = emitter.temporary(rows.type, [rows.shape[0] ?? 1, total]);
  const epilogue = { ...plainEpilogue, bias: bias && reshaped(bias, [total]) };
  emitNBits(emitter, { a: rows, weights, to, epilogue });
  return to;
}

/** One member's tensors, a row for each of its columns. */
interface Part {
  readonly columns: number;
  readonly codes: View;
  readonly scales: View;
  readonly zeros: View | undefined;
  readonly bias: View | undefined;
}

function partOf(
  { weight, bits, bias, columns }: ProductMember,
  blocks: number,
  frame: Frame,
  values: PlanValues,
): Part | undefined {
  if (bits === undefined) return undefined;
  const rowsOf = (value: Value, width: number) => {
    const view = values.rawViewOf(values.slotOf(value, frame));
    return elementCount(view.shape) === columns * width ? reshaped(view, [columns, width]) : undefined;
  };
  const codes = rowsOf(weight, (blocks * bits.blockSize) / 2);
  const scales = rowsOf(bits.scales, blocks);
  const zeros = bits.zeros && rowsOf(bits.zeros, Math.ceil(blocks / 2));
  if (codes?.type !== "uint8" || scales === undefined || !isFloatStorage(scales.type)) return undefined;
  if (bits.zeros !== undefined && zeros?.type !== "uint8") return undefined;
  return { columns, codes, scales, zeros, bias: bias && rowsOf(bias, 1) };
}
