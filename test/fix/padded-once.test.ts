/** Padding that takes several rounds is told once: from the size of the file to the one that is written. */
import { describe, expect, it } from "vitest";
import { paddedOnce } from "../../src/fix/padded-once.ts";
import type { FixNote } from "../../src/fix/pipeline.ts";
import { nothingAdded } from "../../src/passes/align/added-nodes.ts";
import { paddingText, type ToldPadding } from "../../src/passes/align/told.ts";

type Axis = readonly [product: string, from: number, to: number];

function padded(axes: readonly Axis[], microseconds: number, more: Partial<ToldPadding> = {}): FixNote {
  const padding: ToldPadding = {
    axes: axes.map(([product, from, to]) => ({ product, from, to })),
    products: new Set(axes.map(([product]) => product)),
    added: nothingAdded,
    ...more,
  };
  const message = paddingText(padding);
  return { kind: "changed", pass: "align", node: undefined, message, padding, microseconds };
}

const toldOf = (notes: readonly FixNote[]) =>
  paddedOnce(notes).map(({ message, microseconds }) => [message, microseconds]);

describe("padding of one axis in two rounds", () => {
  it("is one change, which saves what both do", () => {
    const notes = [
      padded(
        [
          ["up", 3074, 3080],
          ["q", 770, 832],
          ["up2", 3074, 3080],
        ],
        35,
        { added: { slices: 5, pads: 4, areInside: true } },
      ),
      padded(
        [
          ["up", 3080, 3104],
          ["up2", 3080, 3104],
        ],
        2.5,
      ),
    ];
    expect(toldOf(notes)).toEqual([
      [
        "padded 3074 to 3104 (2×), 770 to 832 in 3 products, with 5 Slices and 4 Pads around what needs the true size",
        37.5,
      ],
    ]);
  });

  it("is so of the axes that go on, and the others stay as they are", () => {
    const notes = [
      padded(
        [
          ["a", 67, 72],
          ["b", 67, 72],
        ],
        4,
      ),
      padded(
        [
          ["b", 72, 80],
          ["c", 33, 40],
        ],
        2,
      ),
    ];
    expect(toldOf(notes)).toEqual([["padded 67 to 72, 67 to 80, 33 to 40 in 3 products", 6]]);
  });
});

it("padding of other axes, and of other products at the same size, is another change", () => {
  const notes = [padded([["a", 67, 72]], 4), padded([["b", 72, 80]], 2), padded([["a", 33, 40]], 1)];
  expect(toldOf(notes)).toHaveLength(3);
});
