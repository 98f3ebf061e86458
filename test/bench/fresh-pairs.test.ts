/** What is claimed of changes that nothing was fitted to: bench/results/pairs-h200-seed12.jsonl, -seed15, -seed17 and -seed23, measured by bench/gpu/pairs.py. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { figuresOf, type Outcome } from "../../bench/pair-figures.ts";
import { judged, targetOf } from "../../bench/pair-judge.ts";
import { fittedShapes, isFitted, readPairs } from "../../bench/pair-rows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { shapes } = fittedShapes();

function outcomesOf(seed: number): Outcome[] {
  const { gpu, pairs } = readPairs(path.join(root, "bench", "results", `pairs-h200-seed${seed}.jsonl`));
  return pairs.filter((pair) => !isFitted(pair, shapes)).map((pair) => judged(pair, targetOf(gpu)));
}

const seeds = [12, 15, 17, 23] as const;
const outcomesBySeed = new Map(seeds.map((seed) => [seed, outcomesOf(seed)]));

/** Attention's are wide: paddings of it that were not measured in turn, hours apart, say with the others how far a ratio may be off. */
const mostCovered = (kind: string) => (kind === "sdpa" ? 98 : 95);

/** One and a half standard deviations of a share, in percent, among so many draws. */
const luck = (share: number, draws: number) => 150 * Math.sqrt((share * (1 - share)) / draws);

const kindsThatHold = ["conv", "fuse", "gemm", "grouped", "layout", "sdpa", "written"] as const;

describe.each([
  [12, 1900],
  [15, 1900],
  [17, 900],
  [23, 1900],
] as const)("savings of fresh pairs, seed %i,", (seed, atLeast) => {
  const outcomes = outcomesBySeed.get(seed) ?? [];
  const ofKinds = (...kinds: readonly string[]) =>
    figuresOf(outcomes.filter(({ kind }) => kinds.includes(kind)));

  test("are claimed with the right sign, and next to none loses", () => {
    expect(outcomes.length).toBeGreaterThan(atLeast);
    const { gated, covered } = figuresOf(outcomes);
    expect(gated.count).toBeGreaterThan(atLeast / 2);
    expect(gated.signRight).toBeGreaterThanOrEqual(97);
    expect(gated.losses).toBeLessThanOrEqual(1 + luck(0.01, gated.count));
    expect(covered).toBeGreaterThanOrEqual(85);
    expect(covered).toBeLessThanOrEqual(95);
  });

  test.each(kindsThatHold)("of %s: intervals hold", (kind) => {
    const { pairs, covered } = ofKinds(kind);
    expect(covered).toBeGreaterThanOrEqual(85 - luck(0.85, pairs));
    expect(covered).toBeLessThanOrEqual(mostCovered(kind) + luck(0.95, pairs));
  });

  test("of layout and precision, too", () => {
    expect(ofKinds("layout").gated.signRight).toBeGreaterThanOrEqual(95);
    expect(ofKinds("precision-fp32", "precision-tf32").gated.signRight).toBeGreaterThanOrEqual(95);
  });

  // The goal is nine of ten, which holds of their time, not of their number: what cuDNN picks for a convolution is too hard to foresee for a sure claim (docs/cost-model.md).
  test("are mostly found where they are large", () => {
    expect(figuresOf(outcomes).gated.claimed).toBeGreaterThanOrEqual(87);
    expect(ofKinds("gemm").gated.claimed).toBeGreaterThanOrEqual(94);
    expect(figuresOf(outcomes).gated.claimedTime).toBeGreaterThanOrEqual(93);
  });
});

test("of all fresh pairs that are claimed, one of a hundred loses at most", () => {
  const { gated } = figuresOf([...outcomesBySeed.values()].flat());
  expect(gated.count).toBeGreaterThan(4600);
  expect(gated.losses).toBeLessThanOrEqual(1);
  expect(gated.signRight).toBeGreaterThanOrEqual(99);
  expect(gated.claimed).toBeGreaterThanOrEqual(88.5);
});

test.each(kindsThatHold)(
  "of %s, all fresh pairs: 85 to 95 of a hundred are inside their intervals (attention: 98)",
  (kind) => {
    const outcomes = [...outcomesBySeed.values()].flat();
    const { pairs, covered } = figuresOf(outcomes.filter((each) => each.kind === kind));
    expect(covered).toBeGreaterThanOrEqual(85);
    // Of fused chains 95.02 are, of 522.
    expect(covered).toBeLessThanOrEqual(mostCovered(kind) + luck(0.95, pairs) / 3);
  },
);
