/** Passes between layouts on a stack that turns convolutions to NHWC as it loads a file: which the file's Transposes are no more, and which come. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { pricedOn } from "../../src/workload/priced-at.ts";
import { priceModel, type Workload } from "../../src/workload/workload.ts";
import { weight } from "../passes/padding.ts";

const cost = createCostModel();

type Build = (graph: GraphBuilder, x: string) => string;

function pricedBy(build: Build, stack: StackId, shape = [2, 64, 28, 28], opset = 17): Workload {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  const bytes = model({ name: "turned", opset }, (graph) =>
    graph.output(build(graph, graph.input("x", shape))),
  );
  using opened = modelFromBytes(bytes);
  return priceModel(opened, { target: { gpu, stack: stacks[stack], precision: "fp16" }, cost });
}

/** Kernels in order; a conversion by what it is for. */
function kernelsOf({ timeline }: Workload): string[] {
  return timeline.steps.map(({ nodes, part }) => {
    const name = nodes.map(({ opType }) => opType).join(" ");
    return part === "conversion" ? `for ${name}` : name;
  });
}

const turned = (build: Build, shape?: number[], opset?: number) =>
  kernelsOf(pricedBy(build, "ort-cuda-nhwc", shape, opset));

const conv: Build = (graph, x) =>
  graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads: [1, 1, 1, 1] });
const reordered = (graph: GraphBuilder, x: string, perm: readonly number[]) =>
  graph.node("Transpose", [x], { perm });
const toLast = [0, 2, 3, 1];
const toSecond = [0, 3, 1, 2];
const shaped = (graph: GraphBuilder, x: string, shape: readonly number[]) =>
  graph.node("Reshape", [x, graph.weight([shape.length], { dtype: "int64", values: [...shape] })]);

/** As ConvNeXt has it: channels last between a convolution and a sum. */
const block: Build = (graph, x) => {
  const last = reordered(graph, conv(graph, x), toLast);
  const inner = graph.node("Softmax", [last], { axis: -1 });
  return conv(graph, graph.node("Add", [reordered(graph, inner, toSecond), x]));
};

describe("on ort-cuda-nhwc", () => {
  it.each([
    ["Softmax", 1, 17],
    ["LogSoftmax", -3, 17],
    ["Hardmax", 3, 13],
    ["Softmax", 1, 12],
  ])("a Transpose is moved across %s over axis %i since opset 13 (%i)", (type, axis, opset) => {
    const scores: Build = (graph, x) => conv(graph, graph.node(type, [conv(graph, x)], { axis }));
    const conversions = turned(scores, undefined, opset).filter((name) => name.startsWith("for "));
    expect(conversions).toEqual(
      opset < 13 ? ["for Conv", `for ${type}`, "for Conv", "for Conv"] : ["for Conv", "for Conv"],
    );
  });

  it("images are converted where they enter and leave, once", () => {
    const chain: Build = (graph, x) => {
      const first = graph.node("Relu", [conv(graph, x)]);
      return graph.node("Add", [conv(graph, first), conv(graph, x)]);
    };
    expect(turned(chain)).toEqual(["for Conv", "Conv", "Relu", "Conv", "Conv", "for Add", "Add"]);
  });

  it("the file's Transposes around channels last are gone", () => {
    const behind: Build = (graph, x) => block(graph, conv(graph, x));
    expect(turned(behind)).toEqual([...["for Conv", "Conv", "Conv", "Softmax", "Add", "for Conv", "Conv"]]);
    expect(kernelsOf(pricedBy(behind, "ort-cuda")).filter((name) => name === "Transpose")).toHaveLength(2);
  });

  it("a Transpose that no convolution is beside stays", () => {
    const apart: Build = (graph, x) => graph.node("Softmax", [reordered(graph, x, toLast)]);
    expect(turned(apart)).toEqual(["Transpose", "Softmax"]);
    const rows: Build = (graph, x) => {
      const flat = shaped(graph, conv(graph, x), [2, 64, 784]);
      return graph.node("Softmax", [reordered(graph, flat, [0, 2, 1])]);
    };
    expect(turned(rows)).toEqual(["for Conv", "Conv", "for Reshape", "Transpose", "Softmax"]);
  });

  it("a pass is undone by a Transpose of the file's, is one with it, or is shared", () => {
    const scores = (graph: GraphBuilder, x: string, order: readonly number[]) =>
      graph.node("Softmax", [reordered(graph, x, order)], { axis: -1 });
    const beside =
      (order: readonly number[], more: Build = (_, other) => other): Build =>
      (graph, x) => {
        const undo = order.map((_, axis) => order.indexOf(axis));
        const other = reordered(graph, scores(graph, x, order), undo);
        const sum = graph.node("Add", [conv(graph, x), more(graph, other)]);
        return shaped(graph, sum, [2, 64, 784]);
      };
    const behind = ["Conv", "Add", "for Reshape"];
    expect(turned(beside(toLast))).toEqual(["Transpose", "Softmax", ...behind]);
    const apart = ["Transpose", "Softmax", "Transpose", "for Conv"];
    expect(turned(beside([0, 3, 2, 1]))).toEqual([...apart, ...behind]);
    const readTwice = beside(toLast, (graph, other) => {
      graph.output(shaped(graph, other, [2, 64, 784]));
      return other;
    });
    expect(turned(readTwice)).toEqual(["Transpose", "Softmax", "Transpose", ...behind]);
  });

  it("spelling it out costs and saves nothing", () => {
    const spelled: Build = (graph, x) => conv(graph, reordered(graph, reordered(graph, x, toLast), toSecond));
    const [one, other] = [spelled, conv].map((build) => pricedBy(build, "ort-cuda-nhwc").timeline);
    expect(one?.microseconds).toBeCloseTo(other?.microseconds ?? Number.NaN, 9);
  });

  it("what has a kernel in the file's order alone is between two conversions", () => {
    const upsampled: Build = (graph, x) => {
      const scales = graph.weight([4], { values: [1, 1, 2, 2] });
      return conv(graph, graph.node("Resize", [conv(graph, x), "", scales]));
    };
    expect(turned(upsampled)).toEqual([
      ...["for Conv", "Conv", "for Resize", "Resize", "for Conv", "for Conv", "Conv"],
    ]);
  });

  it("one position, or one channel, is in either order", () => {
    const pooled: Build = (graph, x) => {
      const one = graph.node("GlobalAveragePool", [conv(graph, x)]);
      return graph.node("Softmax", [graph.node("Flatten", [one])]);
    };
    expect(turned(pooled)).toEqual(["for Conv", "Conv", "GlobalAveragePool", "Softmax"]);
  });

  it("convolutions of one axis and of three are turned as well", () => {
    const line: Build = (graph, x) => graph.node("Conv", [x, weight(graph, [64, 64, 3])], { pads: [1, 1] });
    expect(turned(line, [2, 64, 400])).toEqual(["for Conv", "for Conv", "Conv"]);
    const volume: Build = (graph, x) =>
      graph.node("Conv", [x, weight(graph, [64, 64, 3, 3, 3])], { pads: [1, 1, 1, 1, 1, 1] });
    expect(turned(volume, [1, 64, 8, 8, 8])).toEqual(["for Conv", "for Conv", "Conv"]);
  });
});

describe("with prefer_nhwc", () => {
  it.each([
    ["a chain", (graph: GraphBuilder, x: string) => graph.node("Relu", [conv(graph, x)])],
    ["a block", (graph: GraphBuilder, x: string) => block(graph, conv(graph, x))],
    ["rows behind", (graph: GraphBuilder, x: string) => shaped(graph, conv(graph, x), [2, 64, 784])],
  ])("%s takes what the stack that has it takes", (_, build) => {
    const set = pricedOn(pricedBy(build, "ort-cuda"), stacks["ort-cuda-nhwc"], cost);
    const other = pricedBy(build, "ort-cuda-nhwc");
    expect(set.timeline.microseconds).toBeCloseTo(other.timeline.microseconds, 9);
    expect(set.timeline.kernels).toBe(other.timeline.kernels);
    expect(kernelsOf(set).toSorted()).toEqual(kernelsOf(other).toSorted());
  });
});

it.each(["ort-cuda", "tensorrt", "inductor", "cudnn"] as const)("%s has no such pass", (stack) => {
  const { timeline } = pricedBy((graph, x) => block(graph, conv(graph, x)), stack);
  expect(timeline.steps.some(({ part }) => part === "conversion")).toBe(false);
});
