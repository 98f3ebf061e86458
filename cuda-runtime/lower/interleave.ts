/** @file Two tensors of one shape, element by element in turns along an axis. */

import type { Emitter } from "../ir/emitter.ts";
import { binary, constant, load } from "../ir/expr-build.ts";
import { bytesOfType } from "../ir/storage.ts";
import { sliced, type View } from "../ir/view.ts";
import { compileChain } from "../ptx/compile.ts";

export interface Interleaved {
  /** Of one shape and type. */
  readonly halves: readonly [View, View];
  /** Of that shape, twice as long along the axis. */
  readonly to: View;
  readonly axis: number;
}

/** to[2 i + j] = halves[j][i] along the axis, in one launch. */
export function emitInterleaved(emitter: Emitter, request: Interleaved): void {
  const { halves, to, axis } = request;
  const { shape } = halves[0];
  const size = shape[axis] ?? 0;
  const outputs =
    inPairs(request) ?? halves.map((half, at) => ({ expr: load(half), to: sliced(to, axis, at, size, 2) }));
  const launch = compileChain({ shape, outputs }, emitter.target);
  if (launch !== undefined) emitter.launch(launch);
}

/** Neighbours of 2 bytes each as one element of 4: half as many stores, and these beside each other. */
function inPairs({ halves: [first, second], to, axis }: Interleaved) {
  const isPairs = [first, second, to].every(({ type }) => bytesOfType(type) === 2) && to.strides[axis] === 1;
  const steps = to.strides.filter((_, at) => at !== axis && to.shape[at] !== 1);
  if (!isPairs || [to.offset, ...steps].some((step) => step % 2 !== 0)) return undefined;
  const bitsOf = (view: View) => load({ ...view, type: "uint16" }, "u32");
  const pair = binary("or", bitsOf(first), binary("shl", bitsOf(second), constant("u32", 16)));
  const strides = to.strides.map((stride, at) => (at === axis ? 1 : stride / 2));
  const { shape } = first;
  return [{ expr: pair, to: { ...to, type: "uint32" as const, shape, strides, offset: to.offset / 2 } }];
}
