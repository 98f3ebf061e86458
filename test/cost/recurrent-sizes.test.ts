/** Recurrent layers of sizes that nobody measured: as their neighbours that somebody did, so that no padding gains more than these say. */
import { describe, expect, test } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import type { RecurrentWork } from "../../src/ops/work.ts";
import { targetOf } from "./targets.ts";

const cost = createCostModel();
const gates = { lstm: 4, gru: 3, rnn: 1 } as const;
const shapes = [
  { steps: 64, batch: 1, directions: 1 },
  { steps: 100, batch: 1, directions: 2 },
  { steps: 64, batch: 32, directions: 2 },
] as const;
const rows = (["h100", "h200"] as const).flatMap((gpu) =>
  (Object.keys(gates) as (keyof typeof gates)[]).flatMap((cell) =>
    shapes.map((shape) => ({ gpu, cell, ...shape })),
  ),
);

describe.each(rows)("$cell of $steps steps, batch $batch, $directions directions on $gpu", (row) => {
  const { gpu, cell, ...shape } = row;
  const target = targetOf(gpu, "cudnn");
  const layer = (hiddenSize: number, inputSize = hiddenSize): RecurrentWork<number> => ({
    ...{ kind: "recurrent", ...shape, inputSize, hiddenSize },
    ...{ gates: gates[cell], dtype: "float16" },
  });
  const us = (...of: Parameters<typeof layer>) => cost.estimate(layer(...of), target).microseconds;

  test.each([
    [100, 128],
    [128, 256],
    [256, 512],
  ])("a state of %d to %d units takes what these do, or between", (below, above) => {
    const ends = [us(below, 256), us(above, 256)];
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    for (let size = below + 1; size < above; size += 5) {
      expect(us(size, 256)).toBeGreaterThanOrEqual(least * 0.999);
      expect(us(size, 256)).toBeLessThanOrEqual(most * 1.001);
    }
  });

  test.each([1, 31, 63, 127, 250, 252, 255, 256, 384, 500, 511, 512, 768, 1000, 1001, 1023, 1024, 2048])(
    "a state of %d units is not padded for anything that is sure",
    (size) => {
      for (const padded of new Set([8, 16, 64].map((step) => Math.floor(size / step) * step + step))) {
        const saves = cost.savingOf([layer(size, 256)], [layer(padded, 256)], target);
        expect(saves.low, `to ${padded}`).toBeLessThanOrEqual(0);
        expect(saves.microseconds / us(size, 256), `to ${padded}`).toBeLessThan(0.05);
      }
    },
  );

  test.each([
    [300, 304],
    [126, 128],
    [200, 208],
  ])("the same states of %d and of %d inputs have one error", (inputSize, padded) => {
    const [before, after] = [layer(128, inputSize), layer(128, padded)] as const;
    const [from, to] = [before, after].map((work) => cost.estimate(work, target));
    const saves = cost.savingOf([before], [after], target);
    // Of two that have nothing in common.
    const apart = Math.hypot(
      (from?.microseconds ?? 0) - (from?.low ?? 0),
      (to?.high ?? 0) - (to?.microseconds ?? 0),
    );
    expect(saves.microseconds - saves.low).toBeLessThan(0.8 * apart);
  });
});
