/** @file Linear Resize of channels that lie innermost: by vectors where that pays, and what comes out of it. */
import { expect, test } from "vitest";
import { byteOffsetOf, maxRank } from "../../../cuda-runtime/ir/params.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { elementCount, type View } from "../../../cuda-runtime/ir/view.ts";
import { walkStruct } from "../../../cuda-runtime/kernels/common/params.table.ts";
import { tapsStruct } from "../../../cuda-runtime/kernels/resize/params.table.ts";
import { tapTable } from "../../../cuda-runtime/kernels/resize/taps.ts";
import { movementLowerings } from "../../../cuda-runtime/lower/movement.ts";
import { attributesOf, Machine, MachineContext, type Memory, nodeOf } from "./movement-machine.ts";
import { fieldsOf } from "./struct-reader.ts";

const slots = [0, 1, 2] as const;

/** Of taps2_float32_v1 and _v4, by their definition: a thread has so many neighbours. */
function sampleTaps(launch: Launch, memory: Memory): void {
  const fields = fieldsOf(launch, tapsStruct);
  const walk = fields.within("walk", walkStruct);
  const { entry } = launch.kernel as { readonly entry: string };
  const lanes = Number(/_v(\d)$/.exec(entry)?.[1]);
  const placed = (name: string) => {
    const view = fields.view(name);
    if (view === undefined) throw new Error(`no ${name}`);
    const bytes = memory.bytesOf(view.buffer);
    return new Float32Array(bytes.buffer, bytes.byteOffset + byteOffsetOf(view));
  };
  const [from, to, weights] = [placed("from"), placed("to"), placed("weights")];
  const indices = new Int32Array(placed("indices").buffer, placed("indices").byteOffset);
  const lists = ["fromStrides", "toStrides", "slots"].map((name) => fields.ints(name, maxRank));
  const [fromStrides = [], toStrides = [], slotOf = []] = lists;
  const [tableAt = [], taps = [], slotStrides = []] = ["tableAt", "taps", "slotStrides"].map((name) =>
    fields.ints(name, 3),
  );
  const sizes = walk.ints("sizes", walk.int("rank"));
  for (let index = 0; index < walk.int("count"); index++) {
    let [rest, source, target] = [index, 0, 0];
    const starts = [...tableAt];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      const at = rest % (sizes[axis] ?? 1);
      rest = Math.floor(rest / (sizes[axis] ?? 1));
      target += at * (toStrides[axis] ?? 0);
      const slot = slotOf[axis] ?? -1;
      if (slot < 0) source += at * (fromStrides[axis] ?? 0);
      else starts[slot] = (starts[slot] ?? 0) + at * (taps[slot] ?? 1);
    }
    const sums = new Float64Array(lanes);
    const add = (slot: number, place: number, weight: number): void => {
      if (slot === slots.length) {
        for (let lane = 0; lane < lanes; lane++)
          sums[lane] = (sums[lane] ?? 0) + weight * (from[place * lanes + lane] ?? Number.NaN);
        return;
      }
      for (let tap = 0; tap < (taps[slot] ?? 1); tap++) {
        const table = (starts[slot] ?? 0) + tap;
        add(
          slot + 1,
          place + (indices[table] ?? 0) * (slotStrides[slot] ?? 0),
          weight * (weights[table] ?? 0),
        );
      }
    };
    add(0, source, 1);
    for (let lane = 0; lane < lanes; lane++) to[target * lanes + lane] = sums[lane] ?? 0;
  }
}

function resized(channels: number, size: number, outputSize: number) {
  const machine = new Machine({ run: sampleTaps });
  const shape = [1, channels, size, size];
  const values = Float64Array.from({ length: elementCount(shape) }, (_, index) => ((index * 37) % 101) / 8);
  const context = new MachineContext(machine, {
    ...{ opset: 13, attributes: attributesOf({ mode: "linear" }), node: nodeOf("Resize") },
    inputs: [
      machine.tensor("float32", shape, values, [0, 2, 3, 1]),
      undefined,
      undefined,
      machine.tensor("int64", [4], [1, channels, outputSize, outputSize]),
    ],
    outputs: [{ type: "float32", shape: [1, channels, outputSize, outputSize] }],
  });
  movementLowerings["Resize"]?.(context);
  const [view] = context.results as readonly View[];
  if (view === undefined) throw new Error("no output");
  return { values, launches: context.launches, got: machine.read(view) };
}

const filter = {
  mode: "linear",
  coordinates: "half_pixel",
  antialias: false,
  excludeOutside: false,
} as const;

test.each([
  // Few positions: the copy of rows would take longer than what vectors save.
  [21, 9, 20, "taps2_float32_v1"],
  [21, 9, 280, "taps2_float32_v4"],
  [24, 9, 20, "taps2_float32_v4"],
  // Rows would be more than twice as long.
  [2, 9, 700, "taps2_float32_v1"],
])("%d channels from %d to %d positions: %s", (channels, size, outputSize, entry) => {
  const { values, launches, got } = resized(channels, size, outputSize);
  expect(launches.map(({ kernel }) => (kernel.kind === "built" ? kernel.entry : ""))).toEqual([entry]);
  const axis = { size, outputSize, scale: outputSize / size, region: [0, 1] as const };
  const { indices, weights } = tapTable(axis, { ...filter, cubicA: -0.75 });
  let worst = 0;
  for (let place = 0; place < got.length; place += 7) {
    const [x, y] = [place % outputSize, Math.floor(place / outputSize) % outputSize];
    const channel = Math.floor(place / outputSize ** 2);
    let sum = 0;
    for (const j of [0, 1])
      for (const i of [0, 1]) {
        const [row, column] = [2 * y + j, 2 * x + i];
        const at = (channel * size + (indices[row] ?? 0)) * size + (indices[column] ?? 0);
        sum += (weights[row] ?? 0) * (weights[column] ?? 0) * (values[at] ?? Number.NaN);
      }
    worst = Math.max(worst, Math.abs(sum - (got[place] ?? Number.NaN)));
  }
  expect(worst).toBeLessThan(1e-4);
});
