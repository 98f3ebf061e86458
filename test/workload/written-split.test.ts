/** Slices of one value are one Split where ONNX Runtime makes them one, and else a kernel each. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";

const cost = createCostModel();

function kernelsOf(bytes: Uint8Array, stack: StackId = "ort-cuda") {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  const target = { gpu, stack: stacks[stack], precision: "fp16" } as const;
  using opened = modelFromBytes(bytes);
  const { timeline } = priceModel(opened, { target, cost });
  return {
    microseconds: timeline.microseconds,
    ops: timeline.steps.map(({ nodes }) => nodes.map(({ opType }) => opType).join(" ")),
  };
}

type Cut = readonly [from: number, to: number, step?: number, axis?: number];

const rows = 4096;

/** Parts of [4096, size]; all that takes and reads them is norms, which join nothing. */
function sliced(
  cuts: readonly Cut[],
  size: number,
  more?: (graph: GraphBuilder, x: string) => void,
  opset = 17,
) {
  return model({ name: "parts", opset }, (graph) => {
    const x = graph.node("Softmax", [graph.input("x", [rows, size])]);
    const one = (value: number) => graph.weight([1], { dtype: "int64", values: [value] });
    for (const [from, to, step = 1, axis = 1] of cuts)
      graph.output(
        graph.node("Softmax", [graph.node("Slice", [x, one(from), one(to), one(axis), one(step)])]),
      );
    more?.(graph, x);
  });
}

function split(sizes: readonly number[]) {
  return model({ name: "parts" }, (graph) => {
    const size = sizes.reduce((sum, each) => sum + each, 0);
    const x = graph.node("Softmax", [graph.input("x", [rows, size])]);
    const lengths = graph.weight([sizes.length], { dtype: "int64", values: [...sizes] });
    for (const each of graph.nodes("Split", [x, lengths], { axis: 1 }, { outputs: sizes.length }))
      graph.output(graph.node("Softmax", [each]));
  });
}

/** Softmaxes of the parts, however those come about. */
const others = (count: number) => Array.from({ length: count + 1 }, () => "Softmax");

describe("slices that together are all of a value", () => {
  it("take what one Split takes, in whatever order, from either end", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(sizes, fc.infiniteStream(fc.boolean()), fc.nat(), (lengths, fromEnd, turn) => {
        const size = lengths.reduce((sum, each) => sum + each, 0);
        let at = 0;
        const cuts = lengths.map((length): Cut => {
          const [from, to] = [at, at + length];
          at = to;
          const isNegative = fromEnd.next().value === true;
          return [isNegative ? from - size : from, to === size ? 2 ** 40 : isNegative ? to - size : to];
        });
        const turned = [...cuts.slice(turn % cuts.length), ...cuts.slice(0, turn % cuts.length)];
        const [parts, whole] = [kernelsOf(sliced(turned, size)), kernelsOf(split(lengths))];
        expect(parts.microseconds).toBeCloseTo(whole.microseconds, 6);
        expect(parts.ops.toSorted()).toEqual(
          [...others(lengths.length), lengths.map(() => "Slice").join(" ")].toSorted(),
        );
      }),
      { numRuns: 40 },
    );
  });

  it("are so with single elements among them, and beside readers of the whole", () => {
    const bytes = sliced([[1, 8]], 8, (graph, x) => {
      const first = graph.node("Gather", [x, graph.scalar(0, "int64")], { axis: 1 });
      graph.output(graph.node("Softmax", [first]));
      graph.output(graph.node("Softmax", [x]));
    });
    expect(kernelsOf(bytes).ops).toContain("Slice Gather");
  });

  it.each<readonly [why: string, bytes: Uint8Array]>([
    [
      "leave a gap",
      sliced(
        [
          [0, 3],
          [4, 8],
        ],
        8,
      ),
    ],
    [
      "leave the end out",
      sliced(
        [
          [0, 4],
          [4, 7],
        ],
        8,
      ),
    ],
    [
      "overlap",
      sliced(
        [
          [0, 5],
          [4, 8],
        ],
        8,
      ),
    ],
    [
      "step",
      sliced(
        [
          [0, 8, 2],
          [0, 8, 1],
        ],
        8,
      ),
    ],
    [
      "are of two axes",
      sliced(
        [
          [0, 4],
          [0, 4096, 1, 0],
        ],
        8,
      ),
    ],
    [
      "are older than the transformer",
      sliced(
        [
          [0, 4],
          [4, 8],
        ],
        8,
        undefined,
        12,
      ),
    ],
  ])("are kernels of their own where they %s", (_, bytes) => {
    expect(kernelsOf(bytes).ops.filter((ops) => ops === "Slice")).toHaveLength(2);
  });

  it("are views where a stack has views, and a kernel each where it joins nothing", () => {
    const bytes = sliced(
      [
        [0, 4],
        [4, 8],
      ],
      8,
    );
    expect(kernelsOf(bytes, "inductor").ops.filter((ops) => ops.includes("Slice"))).toEqual([]);
    expect(kernelsOf(bytes, "tensorrt").ops.filter((ops) => ops.includes("Slice"))).toEqual([]);
  });
});

describe("Split", () => {
  it("moves all of what it cuts, not its first part alone", () => {
    const timeOf = (sizes: readonly number[]) => kernelsOf(split(sizes)).microseconds;
    expect(timeOf([64, 8128])).toBeCloseTo(timeOf([8128, 64]), 6);
  });
});
