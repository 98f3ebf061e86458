/** What --prove measures by itself: an axis that is padded in two rounds is one change, as --diff tells it. */
import { expect, it } from "vitest";
import { safeFix } from "../../../src/api/fix-settings.ts";
import type { FixedModel, FixRegion } from "../../../src/fix/pipeline.ts";
import { changesOf } from "../../../src/gpu/prove/changes.ts";
import { nothingAdded } from "../../../src/passes/align/added-nodes.ts";
import { paddingText, type ToldPadding } from "../../../src/passes/align/told.ts";

function region(product: string, from: number, to: number, microseconds: number): FixRegion {
  const padding: ToldPadding = {
    axes: [{ product, from, to }],
    products: new Set([product]),
    added: nothingAdded,
  };
  const [what, shape] = [paddingText(padding), `${from} to ${to}`];
  return { pass: "align", what, padding, shape, parts: [`${product}: ${from}`], microseconds };
}

function changes(regions: readonly FixRegion[]) {
  const parts = new Map([["align" as const, new Set(regions.flatMap((each) => each.parts))]]);
  const fixed: Pick<FixedModel, "parts" | "regions" | "notes"> = { parts, regions, notes: [] };
  return changesOf(fixed, safeFix).map(({ what, places, pieces }) => ({
    what,
    places,
    parts: pieces.map(({ part }) => part),
  }));
}

it("two rounds of one axis are one change, made or left with the parts of both", () => {
  const rounds = [region("up", 3074, 3080, 35), region("q", 770, 832, 9), region("up", 3080, 3104, 2.5)];
  expect(changes(rounds)).toEqual([
    { what: "padded 3074 to 3104 in 1 product", places: 1, parts: ["up: 3074", "up: 3080"] },
    { what: "padded 770 to 832 in 1 product", places: 1, parts: ["q: 770"] },
  ]);
});

it("layers that go the same two rounds are measured once, and one that stops earlier by itself", () => {
  const first = ["a", "b", "c"].map((name) => region(name, 3074, 3080, 10));
  const second = ["a", "b"].map((name) => region(name, 3080, 3104, 1));
  expect(changes([...first, ...second])).toEqual([
    {
      what: "padded 3074 to 3104 in 1 product",
      places: 2,
      parts: ["a: 3074", "a: 3080", "b: 3074", "b: 3080"],
    },
    { what: "padded 3074 to 3080 in 1 product", places: 1, parts: ["c: 3074"] },
  ]);
});
