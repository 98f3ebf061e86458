/** The program's own copy of the fit says what the fit says. */
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { linkedForests } from "../../scripts/link-forests.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { Forest, type PackedForest } from "../../src/cost/forest.ts";
import { linkedIn } from "../../src/files/linked-forests.ts";
import { temporaryFolder } from "../cli/models.ts";

const { name, bytes, module } = linkedForests();
const calls = [...module.matchAll(/linkedIn\(file, (\d+), (\d+), (\d+)\)/g)].map(
  ([, first, trees, nodes]) => [Number(first), Number(trees), Number(nodes)] as const,
);

function forestsIn(value: unknown): PackedForest[] {
  if (typeof value !== "object" || value === null) return [];
  if ("thresholds" in value) return [value as PackedForest];
  return Object.values(value).flatMap(forestsIn);
}

/** Rows on both sides of every threshold, in turn. */
function rowsFor({ counts, thresholds }: PackedForest): number[][] {
  const all = new Float32Array(Uint8Array.from(Buffer.from(thresholds, "base64")).buffer);
  return Array.from({ length: 40 }, (_, row) => {
    let first = 0;
    return counts.map((count, feature) => {
      const value = all[first + ((row * 7 + feature * 3) % Math.max(1, count))] ?? 0;
      first += count;
      return row % 2 === 0 ? value : value + 1e-3;
    });
  });
}

test("every forest of the fit is one of the file's, and predicts the same", () => {
  using folder = temporaryFolder();
  const file = pathToFileURL(folder.write(name, bytes));
  const forests = forestsIn(h200Calibration);
  expect(forests.length).toBeGreaterThan(10);
  expect(calls).toHaveLength(forests.length);
  for (const [index, forest] of forests.entries()) {
    const [first = 0, trees = 0, nodes = 0] = calls[index] ?? [];
    const [packed, linked] = [
      new Forest(forest),
      new Forest({ ...forest, nodes: linkedIn(file, first, trees, nodes) }),
    ];
    for (const row of rowsFor(forest)) expect(linked.predict(row)).toBe(packed.predict(row));
  }
});

test("a file that is cut short is named", () => {
  using folder = temporaryFolder();
  const file = pathToFileURL(folder.write(`cut/${name}`, bytes.subarray(0, 1000)));
  const [last] = calls.slice(-1);
  expect(() => linkedIn(file, ...(last ?? [0, 0, 0])).read()).toThrow(`${name} is cut short`);
});

test("the module holds all else of the fit as it is", () => {
  const text = module.replace(/linkedIn\(file, [\d, ]+\)/g, '""').replace(/^[\s\S]*?h200Calibration = /, "");
  const held: unknown = JSON.parse(text.replace(/;\s*$/, ""));
  const plain: unknown = JSON.parse(
    JSON.stringify(h200Calibration, (key, value: unknown) => (key === "nodes" ? "" : value)),
  );
  expect(held).toEqual(plain);
});
