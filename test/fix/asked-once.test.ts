/** What was worked out of a model is not worked out again: its facts for another precision, its price for an equal target, a layout that is decided. */
import { expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { decideLayout } from "../../src/fix/decide-layout.ts";
import { broughtToHalf, halfInLayout } from "../../src/fix/decide-unsafe.ts";
import { type FixSettings, proposalOf, runPasses } from "../../src/fix/pipeline.ts";
import { asStored, priced } from "../../src/fix/prices.ts";
import { runToFixedPoint } from "../../src/fix/rounds.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { targetOf } from "../rules/lint.ts";

const settings: FixSettings = {
  target: targetOf("cudnn", "fp16"),
  cost: createCostModel(),
  minSaving: 0.005,
  onlyWhereFaster: true,
  passes: [channelsLast],
  options: {
    halfType: "float16",
    halfIo: false,
    ranges: undefined,
    nhwcIo: false,
    nhwcForm: "portable",
    nhwcOnlyWhereFaster: true,
  },
};

/** A pass that counts how often it is asked. */
function counting(pass: Pass) {
  const run: Pass["run"] = (context) => {
    counted.runs++;
    return pass.run(context);
  };
  const counted = { pass: { ...pass, run }, runs: 0 };
  return counted;
}

function network() {
  const pads = [1, 1, 1, 1];
  return modelFromBytes(
    model({ name: "network", opset: 17 }, (graph) => {
      let x = graph.input("x", ["batch", 64, 56, 56]);
      for (let layer = 0; layer < 8; layer++)
        x = graph.node("Conv", [x, graph.weight([64, 64, 3, 3])], { pads }, { name: `conv${layer}` });
      graph.output(x);
    }),
  );
}

test("facts are those of any precision, a price that of an equal target", () => {
  const opened = network();
  const inTarget = priced(opened, settings);
  const stored = priced(opened, asStored(settings));
  expect(stored.target.precision).toBe("as-is");
  expect(stored.facts).toBe(inTarget.facts);
  expect(priced(opened, asStored(settings))).toBe(stored);
  expect(priced(opened, { ...settings, target: { ...settings.target } })).toBe(inTarget);
});

test("other sizes have facts of their own", () => {
  const opened = network();
  const sized = { ...settings, shapes: new Map([["x", [8, 64, 56, 56]]]) };
  expect(priced(opened, sized).facts).not.toBe(priced(opened, settings).facts);
});

test("a layout that is decided is planned once", () => {
  const opened = network();
  const looked: string[] = [];
  const watched: FixSettings = {
    ...settings,
    leaveOut: (_pass, part) => {
      if (part !== undefined) looked.push(part);
      return undefined;
    },
  };
  const decision = decideLayout(opened, watched, priced(opened, watched));
  expect(decision?.regions).toHaveLength(1);
  const planned = looked.length;
  expect(planned).toBeGreaterThan(0);
  expect(runToFixedPoint(opened, watched).changed).toBe(true);
  // And once what came of it, of which nothing more is to be done.
  expect(looked).toHaveLength(2 * planned);
});

test("what is folded is planned once for every precision that a file is stored in", () => {
  const cost = createCostModel();
  const counted = counting(fold);
  const settled = { ...settings, cost, onlyWhereFaster: false, passes: [counted.pass] };
  const before = modelFromBytes(
    model({ name: "network", opset: 17 }, (graph) => {
      const conv = graph.node("Conv", [graph.input("x", [8, 4, 8, 8]), graph.weight([64, 4, 1, 1])]);
      const parameters = [1, 2, 3, 4].map((value) =>
        graph.weight([64], { values: new Array(64).fill(value) }),
      );
      graph.output(graph.node("BatchNormalization", [conv, ...parameters]));
    }),
  );
  const proposed = proposalOf(counted.pass, before, settled);
  expect(proposed.patch.isEmpty).toBe(false);
  const { applied } = runPasses(before, { ...settled, mostRead: 1024 });
  expect([applied.length, counted.runs]).toEqual([1, 1]);
  // It was taken. What is left out makes another one, and so does what may not be read.
  for (const other of [{ leaveOut: () => undefined }, { mostRead: 255 }]) {
    counted.runs = 0;
    proposalOf(counted.pass, before, settled);
    expect(() => runPasses(before, { ...settled, ...other })).not.toThrow("is not read here");
    expect(counted.runs).toBe(2);
  }
});

test("a model in half whose NHWC was asked for is laid out, and not brought to half again", () => {
  const opened = network();
  const counted = counting(half);
  const asked: FixSettings = {
    ...settings,
    cost: createCostModel(),
    passes: [counted.pass, channelsLast],
    options: { ...settings.options, nhwcOnlyWhereFaster: false },
  };
  const safe = decideSafe(opened, asked);
  const inHalf = broughtToHalf(safe.fixed, asked);
  expect(inHalf.changed).toBe(true);
  counted.runs = 0;
  halfInLayout({ inTarget: safe, asStored: safe }, inHalf, asked, priced(opened, asked));
  expect(counted.runs).toBe(0);
});
