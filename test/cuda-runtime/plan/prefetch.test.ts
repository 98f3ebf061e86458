/** @file What is fetched ahead: all weights once, none that was read, and none where they do not fit. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { stretchesOf } from "../../../cuda-runtime/plan/prefetch.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { add, view } from "../fake-plan.ts";

const megabyte = 2 ** 20;

/** Steps that read a constant each, one behind the other in memory, and take so many microseconds. */
function stepsOf(sizes: readonly { readonly bytes: number; readonly microseconds: number }[]) {
  const ends = new Map<number, number>();
  let end = 0;
  const steps = sizes.map(({ bytes, microseconds }, index) => {
    end += bytes;
    ends.set(index + 10, end);
    const step = add(view(1, "temporary"), view(index + 10, "constant"), view(2, "temporary"));
    if (step.action.kind !== "launch") throw new Error("a launch");
    const launch = { ...step.action.launch, predictedMicroseconds: microseconds };
    return { ...step, action: { kind: "launch", launch } } as const;
  });
  return { steps, end, endOf: ({ id }: { readonly id: number }) => ends.get(id) };
}

const anySteps = fc.array(
  fc.record({
    bytes: fc.integer({ min: 128, max: 3 * megabyte }),
    microseconds: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe("Stretches", () => {
  it("lie behind each other, ahead of what has been read, within the weights", () => {
    fc.assert(
      fc.property(anySteps, (sizes) => {
        const { steps, end, endOf } = stepsOf(sizes);
        const stretches = stretchesOf(steps, endOf, h200);
        if (end > 0.4 * h200.l2Bytes || end < megabyte) {
          expect(stretches).toEqual([]);
          return;
        }
        expect(stretches).toHaveLength(steps.length + 1);
        let done = 0;
        for (const [index, stretch] of stretches.entries()) {
          if (stretch === undefined) continue;
          // Behind the step before, which the next one is not: what that one reads, it reads itself.
          const read = endOf({ id: index + 10 }) ?? end;
          const { offset, bytes } = stretch;
          expect(offset % 128).toBe(0);
          expect(offset + 128).toBeGreaterThanOrEqual(Math.max(done, read));
          expect(offset + bytes).toBeLessThan(end + 128);
          done = offset + bytes;
        }
      }),
    );
  });

  it("are all of it where there is time", () => {
    const { steps, end, endOf } = stepsOf(
      Array.from({ length: 8 }, () => ({ bytes: 2 * megabyte, microseconds: 50 })),
    );
    const found = stretchesOf(steps, endOf, h200).filter((stretch) => stretch !== undefined);
    expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThanOrEqual(end - 4 * megabyte);
  });

  it("are none before sm_90", () => {
    const { steps, endOf } = stepsOf([{ bytes: 4 * megabyte, microseconds: 50 }]);
    expect(stretchesOf(steps, endOf, machineNamed("a100"))).toEqual([]);
  });
});
