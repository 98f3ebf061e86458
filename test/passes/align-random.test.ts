import fc from "fast-check";
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { difference, type Feeds, run } from "./folding.ts";
import { expectSamePadded } from "./padding.ts";
import { type NetworkPlan, networkOf, networks } from "./random-network.ts";

/** `npm run fuzz:fix` draws more, from a new seed each time. */
const { TC_LINT_FUZZ_RUNS: runsGiven = "50", TC_LINT_FUZZ_SEED: seedGiven = "20261121" } = process.env;
const runs = Number(runsGiven);
/** "random" takes a new one each time; fast-check prints it where a network fails. */
const seed = seedGiven === "random" ? {} : { seed: Number(seedGiven) };

const step = (name: string, draw = 0) => ({ step: name, from: 0, draws: [draw, 0, 0] });

/** Networks that failed once. */
const examples: readonly NetworkPlan[] = [
  // A plane that hardly varies: normalizing it makes two parts in 100,000 of the last bit of its input.
  [
    step("scale", 430),
    ...["maxPool", "residual", "hardSwish", "prelu", "excite", "instanceNorm"].map((name) => step(name)),
  ],
];

const least = 2e-5;
/** Padding takes sums in another order: an error as of a few last bits of the input. */
const lastBits = 4;

/** Last bits that inputs are off by, at even and at odd places. */
const nudges: readonly (readonly [even: number, odd: number])[] = [
  [1, -1],
  [-1, 1],
  [2, 2],
];

/** What the network makes of its own rounding: its results where its inputs are off by last bits. */
async function toleranceFor(bytes: Uint8Array, feeds: Feeds): Promise<number> {
  const expected = await run(bytes, feeds);
  let own = 0;
  for (const [even, odd] of nudges) {
    const off = (value: number, at: number) => value * (1 + (at % 2 === 0 ? even : odd) * 2 ** -23);
    const nudged: Feeds = Object.fromEntries(
      Object.entries(feeds).map(([name, { data, dims }]) => {
        const numbers = Float32Array.from(data as Float32Array, off);
        return [name, new Tensor("float32", numbers, dims)];
      }),
    );
    own = Math.max(own, difference(expected, await run(bytes, nudged)));
  }
  return Math.max(least, lastBits * own);
}

describe("padding of random networks", () => {
  it(`keeps what ${runs} of them compute, by ONNX Runtime`, { timeout: 3_600_000 }, async () => {
    let [padded, held, operators] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(networks, async (plan) => {
        const network = networkOf(plan);
        const tolerance = await toleranceFor(network.bytes, network.feeds);
        const { sizes } = await expectSamePadded(network.bytes, network.feeds, tolerance);
        const wider = await expectSamePadded(network.bytes, network.feeds, tolerance, 1, true);
        padded += sizes.size;
        held += wider.sizes.size - sizes.size;
        operators += network.operators;
      }),
      { numRuns: runs, examples: examples.map((plan): [NetworkPlan] => [plan]), ...seed },
    );
    console.log(
      `${runs} networks, ${operators} operators, ${padded} axes padded, ${held} with Slices and Pads`,
    );
    expect(padded).toBeGreaterThan(runs);
    expect(held).toBeGreaterThan(0);
  });
});
