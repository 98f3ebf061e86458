import fc from "fast-check";
import { expect, it } from "vitest";
import { expectSameMoved } from "./nhwc.ts";
import { networkOf, networks } from "./random-network.ts";

/** NHWC_GRAPHS=2000 NHWC_SEED=1 asks for more, and for others. */
const graphs = Number(process.env["NHWC_GRAPHS"] ?? 50);
const seed = Number(process.env["NHWC_SEED"] ?? 20261121);

it(`random networks compute the same on NHWC values (${graphs} networks)`, { timeout: 600_000 }, async () => {
  let moved = 0;
  await fc.assert(
    fc.asyncProperty(networks, async (plan) => {
      const { bytes, feeds } = networkOf(plan);
      const { patch } = await expectSameMoved(bytes, feeds);
      if (!patch.isEmpty) moved += 1;
    }),
    { numRuns: graphs, seed },
  );
  expect(moved).toBe(graphs);
});
