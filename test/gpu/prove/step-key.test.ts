/** @file What a step's time depends on is in its key, and nothing that changes from model to model. */
import { describe, expect, it } from "vitest";
import type { Step } from "../../../cuda-runtime/ir/step.ts";
import type { DeviceBuffer, View } from "../../../cuda-runtime/ir/view.ts";
import { stepKey } from "../../../src/gpu/prove/step-key.ts";

const buffer = (id: number): DeviceBuffer => ({ id, kind: "temporary", bytes: 4096, name: `b${id}` });
const view = (own: DeviceBuffer, shape: readonly number[]): View => ({
  buffer: own,
  type: "float16",
  shape,
  strides: shape.map((_, axis) => shape.slice(axis + 1).reduce((product, size) => product * size, 1)),
  offset: 0,
});

function launch(
  reads: readonly View[],
  writes: readonly View[],
  change: Partial<{ grid: number; label: string; scalar: number }> = {},
): Step {
  const { grid = 4, label = "/a", scalar = 1 } = change;
  const bytes = new Uint8Array(24);
  bytes[16] = scalar;
  const [first, second] = [...reads, ...writes];
  const pointers = [first, second].flatMap((own, at) =>
    own === undefined ? [] : [{ at: 8 * at, view: own }],
  );
  return {
    label,
    operator: "Add",
    action: {
      kind: "launch",
      launch: {
        kernel: { kind: "built", family: "copy", entry: "copy_f16" },
        grid: [grid, 1, 1],
        block: [128, 1, 1],
        sharedBytes: 0,
        params: { bytes, pointers },
        reads,
        writes,
      },
    },
  };
}

const key = (step: Step, machine = "H200") =>
  stepKey(step, machine, (kernel) => `${kernel.kind} ${kernel.entry}`).toString("hex");

describe("the key of a step", () => {
  const [a, b, c] = [buffer(1), buffer(2), buffer(3)];
  const own = key(launch([view(a, [8, 16])], [view(b, [8, 16])]));

  it("is the same for the same launch of another layer, in other buffers", () => {
    expect(key(launch([view(c, [8, 16])], [view(a, [8, 16])], { label: "/b" }))).toBe(own);
  });

  it.each([
    ["the grid", launch([view(a, [8, 16])], [view(b, [8, 16])], { grid: 5 })],
    ["a parameter", launch([view(a, [8, 16])], [view(b, [8, 16])], { scalar: 2 })],
    ["a shape", launch([view(a, [16, 8])], [view(b, [8, 16])])],
    ["a place in its buffer", launch([{ ...view(a, [8, 16]), offset: 1 }], [view(b, [8, 16])])],
    ["a stride", launch([{ ...view(a, [8, 16]), strides: [1, 8] }], [view(b, [8, 16])])],
    ["a buffer that is read and written", launch([view(a, [8, 16])], [view(a, [8, 16])])],
    [
      "the action",
      { label: "/a", operator: "Add", action: { kind: "clear", view: view(b, [8, 16]) } } as const,
    ],
  ])("tells %s", (_, step) => {
    expect(key(step)).not.toBe(own);
  });

  it("tells machines apart", () => {
    expect(key(launch([view(a, [8, 16])], [view(b, [8, 16])]), "H100")).not.toBe(own);
  });
});
