/** @file Plans of the fake driver's kernels. */
import { ParamWriter } from "../../cuda-runtime/ir/params.ts";
import type { KernelRef, Plan, Step, Upload } from "../../cuda-runtime/ir/step.ts";
import type { BufferKind, View } from "../../cuda-runtime/ir/view.ts";

/** Elements of every tensor here, float32. */
export const count = 300;

export function view(id: number, kind: BufferKind): View {
  const buffer = { id, kind, bytes: 4 * count, name: `b${id}` };
  return { buffer, type: "float32", shape: [count], strides: [1], offset: 0 };
}

export function built(entry: string): KernelRef {
  return { kind: "built", family: "fake", entry };
}

export function add(a: View, b: View, to: View, kernel: KernelRef = built("fake_add")): Step {
  const params = new ParamWriter().pointer(a).pointer(b).pointer(to).i32(count).done();
  const launch = { kernel, grid: [1, 1, 1], block: [32, 1, 1], sharedBytes: 0, params } as const;
  return {
    action: { kind: "launch", launch: { ...launch, reads: [a, b], writes: [to] } },
    label: "here",
    operator: "Add",
  };
}

function upload({ buffer }: View, value: number): Upload {
  const bytes = new Uint8Array(new Float32Array(count).fill(value).buffer);
  return {
    buffer,
    offsetBytes: 0,
    sizeBytes: bytes.length,
    readInto: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
  };
}

/** y = x + (1 + 2 + 4) + 4 + x, the bracket once. */
export function planOf(...extra: readonly Step[]): Plan {
  const [x, y] = [view(0, "input"), view(1, "output")];
  const weights = [view(2, "constant"), view(3, "constant"), view(4, "constant")] as const;
  const [sum, total] = [view(5, "temporary"), view(6, "constant")];
  const [between, last] = [view(8, "temporary"), view(9, "temporary")];
  const steps = [add(x, total, between), add(between, weights[2], last), add(last, x, y)];
  return {
    buffers: [x, y, ...weights, sum, total, between, last].map(({ buffer }) => buffer),
    uploads: weights.map((weight, index) => upload(weight, 2 ** index)),
    prepare: [add(weights[0], weights[1], sum), add(sum, weights[2], total)],
    steps: [...steps, ...extra],
    inputs: [{ name: "x", view: x }],
    outputs: [{ name: "y", view: y }],
  };
}
