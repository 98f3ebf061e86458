/** @file The parameter of attention-hopper.cu. */
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock, TensorMap } from "../../ir/params.ts";
import type { View } from "../../ir/view.ts";
import { attentionHopperStruct } from "../attention-hopper/params.table.ts";
import type { AttentionRequest } from "./attention.ts";
import { type AttentionOutputs, attentionFields } from "./params.ts";
import type { TensorTile } from "./tiles.ts";

type Operands = Pick<AttentionRequest, "q" | "k" | "v">;

/** Whether TMA takes them as they lie, whose rows start at multiples of 16 bytes: it knows no axis that repeats. */
export function canFetch({ q, k, v }: Operands): boolean {
  return [q, k, v].every(({ shape, strides }) =>
    shape.every((size, axis) => size === 1 || (strides[axis] ?? 0) > 0),
  );
}

/** `tile` is one of attention-hopper.cu's. */
export function hopperParams(
  request: AttentionRequest,
  outputs: AttentionOutputs,
  { queries, keys, hopper }: TensorTile,
): ParamBlock {
  const fetched = hopper?.isPair ? keys / 2 : keys;
  return writeParams(attentionHopperStruct, {
    q: headsMap(request.q, queries),
    k: headsMap(request.k, fetched),
    v: headsMap(request.v, fetched),
    p: attentionFields(request, outputs),
  });
}

/** Halves of one box row. */
const panel = 64;

/** Of [batch, heads, length, dim]: boxes of `rows` rows by a panel of one head. */
function headsMap(view: View, rows: number): TensorMap {
  const [batch = 1, heads = 1, length = 1, dim = 1] = view.shape;
  const strides = [2, 1, 0].map((axis) => {
    // An axis of one has any stride: TMA wants a multiple of 16 bytes.
    const stride = view.strides[axis] ?? 0;
    return view.shape[axis] === 1 ? 8 * Math.max(1, Math.ceil(Math.abs(stride) / 8)) : stride;
  });
  return { view, sizes: [dim, length, heads, batch], strides, box: [panel, rows, 1, 1] };
}
