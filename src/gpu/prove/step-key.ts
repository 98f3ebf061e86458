/** @file What the time of a step depends on, as a key: steps of one key take equally long on one GPU. */
import { createHash } from "node:crypto";
import type { KernelRef, Launch, Step } from "../../../cuda-runtime/ir/step.ts";
import type { DeviceBuffer, View } from "../../../cuda-runtime/ir/view.ts";

/** 32 bytes. `identityOf` names machine code, `machine` all else that is the same for every step. */
export function stepKey(
  { action }: Step,
  machine: string,
  identityOf: (kernel: KernelRef) => string,
): Buffer {
  const buffers = new Map<DeviceBuffer, number>();
  const view = (own: View) => viewText(own, buffers);
  const what =
    action.kind === "clear"
      ? ["clear", view(action.view)]
      : [identityOf(action.launch.kernel), ...launchTexts(action.launch, view)];
  return createHash("sha256")
    .update(JSON.stringify([machine, ...what]))
    .digest();
}

function launchTexts(
  { grid, block, sharedBytes, cluster, params, reads, writes }: Launch,
  view: (own: View) => string,
): readonly unknown[] {
  const { bytes, pointers, tensorMaps = [] } = params;
  return [
    grid,
    block,
    sharedBytes,
    ...(cluster === undefined ? [] : [{ cluster }]),
    // Addresses are zero in there.
    Buffer.from(bytes).toString("base64"),
    pointers.map((slot) => [slot.at, view(slot.view)]),
    tensorMaps.map(({ at, sizes, strides, box, view: own }) => [at, sizes, strides, box, view(own)]),
    reads.map(view),
    writes.map(view),
  ];
}

/** Buffers by the order in which the step names them: whether two views share one counts, which one does not. */
function viewText(
  { buffer, type, shape, strides, offset }: View,
  buffers: Map<DeviceBuffer, number>,
): string {
  const index = buffers.get(buffer) ?? buffers.size;
  buffers.set(buffer, index);
  return [index, type, shape.join("x"), strides.join("x"), offset].join(" ");
}
