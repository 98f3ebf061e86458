import { expect, it } from "vitest";
import { DisjointSets } from "../../src/ir/disjoint-sets.ts";

it("joins sets under the root that was named last, and leaves others alone", () => {
  const sets = new DisjointSets<string>();
  sets.join("a", "b");
  sets.join("c", "a");
  expect(["a", "b", "c", "d"].map((each) => sets.rootOf(each))).toEqual(["b", "b", "b", "d"]);
  sets.join("b", "a");
  expect(sets.rootOf("c")).toBe("b");
});

it("follows chains of any length", () => {
  const sets = new DisjointSets<number>();
  for (let each = 0; each < 200_000; each++) sets.join(each, each + 1);
  expect(sets.rootOf(0)).toBe(200_000);
});
