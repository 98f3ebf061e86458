import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { patches } from "../../fixtures/layers.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { patchesAsProduct } from "../../src/lint/patches.ts";
import type { ConvWork } from "../../src/ops/work.ts";
import { findingsIn, type LintOptions, targetOf } from "./lint.ts";

const cost = createCostModel();
const target = targetOf("cudnn", "fp16");

function conv(batch: number, channels: number, size: number, patch: number, filters: number) {
  const [output, kernel] = [size / patch, [patch, patch]];
  return {
    ...{ kind: "conv", batch, channels, filters, groups: 1, layout: "nhwc", transposed: false },
    ...{ input: [size, size], output: [output, output], kernel, strides: kernel, dilations: [1, 1] },
    dtype: "float32",
  } satisfies ConvWork<number>;
}

/** Microseconds on an H200: cuDNN 9.19 in FP16, channels last and without bias, and reshape, permute and product instead. */
const measured = [
  { work: conv(1, 3, 224, 16, 768), before: 43.1, after: 6.5 },
  { work: conv(32, 3, 224, 16, 768), before: 263, after: 27 },
  { work: conv(1, 3, 224, 14, 1152), before: 40.9, after: 12.9 },
  { work: conv(1, 3, 224, 32, 1024), before: 175, after: 10 },
  { work: conv(32, 3, 224, 4, 96), before: 31, after: 23 },
  { work: conv(1, 96, 56, 2, 192), before: 4.96, after: 5.77 },
  { work: conv(32, 96, 56, 2, 192), before: 16.4, after: 37.5 },
];

describe("patches as a product, as measured", () => {
  it.each(measured)("$work.batch×$work.channels in $work.kernel: $before to $after µs", (row) => {
    const { work, before, after } = row;
    const product = patchesAsProduct(work, target.stack.alignment.fp16);
    expect(product !== undefined).toBe(after < before);
    if (product === undefined) return;
    const microseconds = [product.gemm, ...product.gather].map(
      (each) => cost.estimate(each, target).microseconds,
    );
    const predicted = microseconds.reduce((sum, each) => sum + each, 0);
    const convolution = cost.estimate(work, target, { biased: false }).microseconds;
    // To within what the fit is off by: one of the seven is that near.
    expect(convolution).toBeGreaterThan(0.92 * predicted);
    // The five are within 2 % to 30 % of the measurement; the convolution of 32×32 patches is predicted at half its time.
    expect(Math.abs(predicted / after - 1)).toBeLessThan(0.35);
    expect(convolution / before).toBeLessThan(1.15);
    // Never more than measured by a fifth.
    expect(convolution - predicted).toBeLessThan((before - after) * 1.2);
  });
});

describe("TC406", () => {
  const find = (build: (graph: GraphBuilder) => void, options?: LintOptions) =>
    findingsIn(model({ name: "test" }, build), options).filter(({ code }) => code === "TC406");
  const embedding =
    (spec: Partial<Parameters<typeof patches>[2]>, size = 224) =>
    (graph: GraphBuilder) => {
      const { channels = 3, filters = 768, patch = 16, ...rest } = spec;
      const image = graph.input("image", [1, channels, size, size]);
      graph.output(patches(graph, image, { channels, filters, patch, ...rest }));
    };

  it("is no advice for a stack that multiplies patches as rows itself", () => {
    const { stack } = targetOf("tc-runtime", "fp16");
    expect(stack.multipliesPatches).toBe(true);
    expect(find(embedding({}), { stack: "tc-runtime" })).toEqual([]);
  });

  it("names the product and claims less than the convolution and its Transpose take", () => {
    const [finding] = find(embedding({}));
    expect(finding?.data).toMatchObject({ patch: "16×16", channels: 3, m: 196, n: 768, k: 768 });
    expect(finding?.saves?.share).toBeLessThan(1);
    expect(finding?.saves?.low).toBeGreaterThan(0);
  });

  it.each([
    ["patches that overlap", { stride: 8 }, 224],
    ["padding", { patch: 16, pad: 8 }, 208],
    ["a border left out", {}, 230],
    ["channels that fill a load", { channels: 96, patch: 2, filters: 192 }, 56],
    ["single positions", { patch: 1 }, 56],
  ] as const)("leaves alone %s", (_, spec, size) => {
    expect(find(embedding(spec, size))).toEqual([]);
  });

  it("saves less where something reads channels second", () => {
    const then = (read: (graph: GraphBuilder, y: string) => string) => (graph: GraphBuilder) => {
      const [image, w] = [graph.input("image", [32, 3, 224, 224]), graph.weight([768, 3, 16, 16])];
      graph.output(read(graph, graph.node("Conv", [image, w], { strides: [16, 16] })));
    };
    const saved = (read: (graph: GraphBuilder, y: string) => string, options?: LintOptions) =>
      find(then(read), options)[0]?.saves?.microseconds ?? 0;
    const last = saved((graph, y) => graph.node("Transpose", [y], { perm: [0, 2, 3, 1] }));
    const second = saved((graph, y) => graph.node("Relu", [y]));
    expect(second).toBeGreaterThan(0);
    expect(second).toBeLessThan(last);
  });
});
