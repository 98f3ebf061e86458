/** The longest common subsequence, held against the table that everybody knows. */
import { expect, test } from "vitest";
import { commonPairs } from "../../src/compare/common-pairs.ts";

function longest(a: readonly number[], b: readonly number[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const x of a) {
    const next = [0];
    for (const [index, y] of b.entries())
      next.push(x === y ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Numbers that are the same in every run. */
function* random(seed: number): Generator<number, never> {
  for (let state = seed; ; state = (state * 48271) % 2147483647) yield state;
}

test("of drawn lists the pairs are equal, in order, and as many as there can be", () => {
  const draw = random(42);
  const list = (most: number) =>
    Array.from({ length: draw.next().value % most }, () => draw.next().value % 4);
  for (let round = 0; round < 500; round++) {
    const [a, b] = [list(14), list(14)];
    const pairs = [...(commonPairs(a, b) ?? [])];
    expect(pairs.length, JSON.stringify([a, b])).toBe(longest(a, b));
    for (const [index, [x, y]] of pairs.entries()) {
      expect(a[x]).toBe(b[y]);
      const [lastX, lastY] = pairs[index - 1] ?? [-1, -1];
      expect(x > lastX && y > lastY).toBe(true);
    }
  }
});

test("lists that have little in common are not searched to the end", () => {
  const [a, b] = [0, 1].map((first) => Array.from({ length: 100_000 }, (_, index) => 2 * index + first));
  expect(commonPairs(a ?? [], b ?? [])).toBeUndefined();
});
