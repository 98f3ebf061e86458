/** @file The cases of test/gpu/cases/resample.ts, with their launches emulated: indexes, bounds, and what cases expect of float32. */
import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { type DeviceBuffer, elementCount, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import type { Harness, TensorOptions, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { randomValues } from "../../../cuda-runtime/session/random.ts";
import { cases, drawn } from "../../gpu/cases/resample.ts";
import { launchesOf } from "../small-plan.ts";
import { countSorted, emulate, roundedTo } from "./resample-emulated.ts";

class EmulatedHarness implements Harness {
  readonly #draft = new PlanDraft();
  readonly emitter = new PlanEmitter(this.#draft, h200, false);
  readonly #memory = new Map<DeviceBuffer, Float64Array>();
  readonly #values = new Map<DeviceBuffer, Float64Array>();

  tensor(type: StorageType, shape: readonly number[], options: TensorOptions = {}): View {
    const { strides = stridesOf(shape), offset = 0, seed = 1, scale } = options;
    const given = options.values ?? randomValues(type, elementCount(shape), seed, scale);
    const values = roundedTo(type, given);
    const last = shape.reduce((sum, size, axis) => sum + (size - 1) * (strides[axis] ?? 0), offset);
    const buffer = this.#draft.buffer("input", 4 * (last + 1), "tensor");
    const memory = new Float64Array(last + 1).fill(Number.NaN);
    const view = { buffer, type, shape, strides, offset };
    for (const [index, value] of values.entries()) memory[placeOf(view, index)] = value;
    this.#memory.set(buffer, memory);
    this.#values.set(buffer, values);
    return view;
  }

  values({ buffer }: View): Float64Array {
    const values = this.#values.get(buffer);
    if (values === undefined) throw new Error("it was not uploaded");
    return values;
  }

  output(type: StorageType, shape: readonly number[]): View {
    const view = this.#draft.allocate("output", type, shape);
    this.#memory.set(view.buffer, new Float64Array(elementCount(shape)).fill(Number.NaN));
    return view;
  }

  execute(): void {
    for (const launch of launchesOf(this.#draft.finish().steps))
      emulate(launch, ({ buffer }) => this.#memory.get(buffer) ?? new Float64Array());
  }

  read({ buffer, type }: View): Float64Array {
    return roundedTo(type, this.#memory.get(buffer) ?? []);
  }

  expectUnwritten(view: View, what: string): void {
    expect(this.read(view).every(Number.isNaN), what).toBe(true);
  }

  expectClose(
    view: View,
    expected: ArrayLike<number>,
    { relative, absolute }: Tolerance,
    what: string,
  ): void {
    const wrong = this.read(view).findIndex((value, index) => {
      const wanted = expected[index] ?? Number.NaN;
      const isSame = Object.is(value, wanted) || value === wanted;
      return !isSame && !(Math.abs(value - wanted) <= absolute + relative * Math.abs(wanted));
    });
    if (wrong >= 0) throw new Error(`${what}: ${wrong} is ${this.read(view)[wrong]}, not ${expected[wrong]}`);
  }
}

function placeOf({ shape, strides, offset }: View, index: number): number {
  const packed = stridesOf(shape);
  return shape.reduce(
    (place, size, axis) => place + (Math.floor(index / (packed[axis] ?? 1)) % size) * (strides[axis] ?? 0),
    offset,
  );
}

const mostElements = 4000;

describe("cases of resampling, emulated", () => {
  it("read nothing beside their tensors, and hold", async () => {
    const small = cases.filter(({ name }, index) => {
      const { batch, source, target, features } = drawn(index + 1);
      return name.startsWith("drawn") && batch * target * Math.max(features, source) <= mostElements;
    });
    expect(small.length).toBeGreaterThan(60);
    const wrong: string[] = [];
    for (const { name, run } of small) {
      try {
        await run(new EmulatedHarness());
      } catch (error) {
        wrong.push(`${name}: ${String(error)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("find the place of any target, with any number of lanes", () => {
    for (const lanes of [1, 2, 4, 8, 16, 32])
      for (let source = 1; source < 70; source++)
        for (let count = 0; count <= source; count++)
          expect(countSorted(source, lanes, (at) => at < count)).toBe(count);
  });
});
