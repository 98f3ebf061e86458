/**
 * @file Products of one activation, lowered as one: their weights stand side by side in one matrix, made once; each
 * result is a slice of the common one.
 */

import { plainEpilogue } from "../ir/epilogue.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { elementCount, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import type { Frame } from "./frame.ts";
import type { FusedProducts, ProductMember } from "./fused.ts";
import { lowerBits } from "./fused-bits.ts";
import type { PlanValues } from "./values.ts";

/** Lowers `node` and the products beside it as one, and says which nodes are done with; undefined where it stands alone. */
/** Whether the activation is a matrix of rows, and the products are lowered; else nothing is, but the activation stored. */
export function lowerProducts(group: FusedProducts, frame: Frame, values: PlanValues): boolean {
  const { activation, members } = group;
  const [first] = members;
  if (first === undefined) return false;
  const { type } = values.slotOf(first.result, frame);
  if (!isFloatStorage(type)) return false;
  const a = values.viewOf(values.slotOf(activation, frame));
  const rows = elementCount(a.shape.slice(0, -1));
  const depth = a.shape.at(-1) ?? 1;
  const flat = reshaped(a, [rows, depth]);
  if (flat === undefined || rows === 0) return false;
  if (first.bits !== undefined) {
    const result = lowerBits(members, first.bits, flat, frame, values);
    if (result !== undefined) setResults(members, result, frame, values);
    return result !== undefined;
  }
  const { emitter } = values;
  const total = members.reduce((sum, { columns }) => sum + columns, 0);
  const weightType = type === "float32" ? "float32" : type;
  const weights = emitter.temporary(weightType, [depth, total], [1, 0]);
  const hasBias = members.some(({ bias }) => bias !== undefined);
  const bias = hasBias ? emitter.temporary("float32", [total]) : undefined;
  const to = emitter.temporary(type, [rows, total]);
  let start = 0;
  for (const member of members) {
    writeMember(member, frame, values, {
      weight: sliced(weights, 1, start, member.columns),
      bias: bias === undefined ? undefined : sliced(bias, 0, start, member.columns),
    });
    start += member.columns;
  }
  emitGemm(emitter, {
    a: emitter.packed(flat, { type: weightType, ...(isRowMajor(flat) ? {} : { order: [0, 1] }) }),
    b: weights,
    to,
    epilogue: { ...plainEpilogue, bias },
  });
  setResults(members, to, frame, values);
  return true;
}

function isRowMajor(view: View): boolean {
  return view.strides[1] === 1;
}

function writeMember(
  { weight, isTransposed, bias, columns }: ProductMember,
  frame: Frame,
  values: PlanValues,
  to: { readonly weight: View; readonly bias: View | undefined },
): void {
  const { emitter } = values;
  const stored = values.rawViewOf(values.slotOf(weight, frame));
  emitter.copy(isTransposed ? permuted(stored, [1, 0]) : stored, to.weight);
  if (to.bias === undefined) return;
  const from =
    bias === undefined ? emitter.constant("float32", [1], [0]) : values.rawViewOf(values.slotOf(bias, frame));
  emitter.copy(
    { ...from, shape: bias === undefined ? [1] : [columns], strides: [bias === undefined ? 0 : 1] },
    to.bias,
  );
}

function setResults(members: readonly ProductMember[], to: View, frame: Frame, values: PlanValues): void {
  let start = 0;
  for (const { columns, result } of members) {
    const part = sliced(to, 1, start, columns);
    const { shape } = values.slotOf(result, frame);
    const view = reshaped(part, shape);
    if (view === undefined) throw new Error(`tc-lint bug: a slice of rows has no shape ${shape.join("x")}`);
    values.setView(result, view, frame);
    start += columns;
  }
}
