import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { generator, predict, train } from "../../scripts/fit/boost.ts";
import { pack } from "../../scripts/fit/pack.ts";
import { Forest, type PackedForest } from "../../src/cost/forest.ts";

const options = {
  rounds: 60,
  leaves: 8,
  learningRate: 0.2,
  minLeaf: 4,
  clip: 1,
  ridge: 0.5,
  featureShare: 1,
  rowShare: 1,
  bins: 64,
  seed: 3,
};

/** A step and a slope in three features, the third of which says nothing. */
function samples(count: number) {
  const random = generator(5);
  const rows = Array.from({ length: count }, () => [random(), random() * 10, random()]);
  const targets = Float64Array.from(rows, ([a = 0, b = 0]) => (a > 0.5 ? 1 : 0) + 0.1 * b);
  return { rows, targets, weights: new Float64Array(count).fill(1) };
}

describe("boosted trees", () => {
  const { rows, targets, weights } = samples(800);
  const forest = train(rows, targets, weights, options);

  test("learn a step and a slope", () => {
    const errors = rows.map((row, index) => Math.abs(predict(forest, row) - (targets[index] ?? 0)));
    expect(errors.reduce((sum, error) => sum + error, 0) / errors.length).toBeLessThan(0.05);
    // Only beside the step is a row taken for one on the other side.
    expect(errors.filter((error) => error > 0.2).length).toBeLessThan(20);
  });

  test("are the same for the same seed, others for another", () => {
    expect(train(rows, targets, weights, options)).toEqual(forest);
    const other = train(rows, targets, weights, { ...options, rowShare: 0.7, seed: 4 });
    expect(other.trees).not.toEqual(forest.trees);
  });

  test("packed, say the same within the rounding of a leaf", () => {
    const packed = new Forest(pack(forest));
    for (const row of rows) expect(packed.predict(row)).toBeCloseTo(predict(forest, row), 1);
    const off = rows.map((row) => Math.abs(packed.predict(row) - predict(forest, row)));
    expect(Math.max(...off)).toBeLessThan(0.02);
  });

  test("say the same where a calibration has them deflated", () => {
    const packed = pack(forest);
    const nodes = deflateRawSync(Buffer.from(packed.nodes, "base64")).toString("base64");
    const [plain, deflated] = [new Forest(packed), new Forest({ ...packed, nodes, deflated: true })];
    for (const row of rows.slice(0, 50)) expect(deflated.predict(row)).toBe(plain.predict(row));
  });
});

describe("a table that is not one", () => {
  const good = pack(train(samples(100).rows, samples(100).targets, samples(100).weights, options));

  test.each<[string, Partial<PackedForest>, RegExp]>([
    ["too few nodes", { nodes: good.nodes.slice(0, 40) }, /cut short/],
    ["fewer trees than nodes", { trees: 2 }, /do not match/],
    ["a feature that is not there", { counts: good.counts.slice(0, 1) }, /no such feature/],
    ["nodes that are not deflated", { deflated: true }, /./],
    [
      "far more than a forest holds",
      { nodes: deflateRawSync(new Uint8Array(5_000_000)).toString("base64"), deflated: true },
      /larger/,
    ],
  ])("%s", (_, slip, message) => {
    expect(() => new Forest({ ...good, ...slip })).toThrow(message);
  });
});
