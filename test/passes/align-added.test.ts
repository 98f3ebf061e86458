/** How many Slices and Pads a report of padding tells, against those that the file gets. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { addedNodes } from "../../src/passes/align/added-nodes.ts";
import { operators } from "./folding.ts";
import { padEverything, weight } from "./padding.ts";
import { networkOf, networks } from "./random-network.ts";

interface Counts {
  readonly slices: number;
  readonly pads: number;
}

function countsIn(of: OpenModel): Counts {
  const count = (type: string) => operators(of).filter((each) => each === type).length;
  return { slices: count("Slice"), pads: count("Pad") };
}

/** Everything padded, as if by two components that share what they meet at. */
function expectCounted(bytes: Uint8Array): Counts {
  const before = modelFromBytes(bytes);
  const { after, relations, sizes } = padEverything(before, 1, true);
  const [own, left] = [countsIn(before), countsIn(after)];
  const parts = [0, 1].map((half) => ({ sizes: new Map([...sizes].filter((_, at) => at % 2 === half)) }));
  const told = [...addedNodes(parts, relations).values()];
  const sum = {
    slices: told.reduce((total, { slices }) => total + slices, 0),
    pads: told.reduce((total, { pads }) => total + pads, 0),
  };
  expect(sum).toEqual({ slices: left.slices - own.slices, pads: left.pads - own.pads });
  return sum;
}

test("of random networks", { timeout: 600_000 }, () => {
  let all = 0;
  fc.assert(
    fc.property(networks, (plan) => {
      const { slices, pads } = expectCounted(networkOf(plan).bytes);
      all += slices + pads;
    }),
    { numRuns: 50, seed: 20261128 },
  );
  expect(all).toBeGreaterThan(50);
});

test("of a type that has no Pad, whose zeros are joined", () => {
  const bytes = model({ name: "codes", opset: 17 }, (graph) => {
    const codes = graph.input("codes", [4, 6], "int16");
    const x = graph.node("Cast", [codes], { to: 1 });
    graph.output(graph.node("MatMul", [x, weight(graph, [6, 5])]));
  });
  expect(expectCounted(bytes)).toEqual({ slices: 1, pads: 0 });
});
