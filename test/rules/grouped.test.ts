import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { conv } from "../../fixtures/layers.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { blockedWidth } from "../../src/lint/group-width.ts";
import { findingsIn, type LintOptions } from "./lint.ts";

const find = (code: string, build: (graph: GraphBuilder) => void, options?: LintOptions) =>
  findingsIn(model({ name: "test" }, build), options).filter((finding) => finding.code === code);

describe("TC108", () => {
  /** The positional convolution of wav2vec 2.0. */
  const positional =
    (kernel: number, { positions = 499, dtype = "float32" }: { positions?: number; dtype?: DType } = {}) =>
    (graph: GraphBuilder) => {
      const x = graph.input("x", [1, 768, positions], dtype);
      const inputs = [x, graph.weight([768, 48, kernel], { dtype }), graph.weight([768], { dtype })];
      const pads = [Math.floor(kernel / 2), Math.floor(kernel / 2)];
      graph.output(graph.node("Conv", inputs, { group: 16, pads }, { name: "positional" }), dtype);
    };
  const grouped =
    (width: number, batch = 1) =>
    (graph: GraphBuilder) => {
      const channels = 8 * width;
      const x = graph.input("x", [batch, channels, 28, 28]);
      graph.output(conv(graph, x, { channels, filters: channels, groups: 8 }));
    };

  it("widths that divide 64 or are multiples of it fill blocks", () => {
    const widths = [4, 8, 16, 24, 32, 40, 48, 64, 72, 128, 130];
    expect(widths.map(blockedWidth)).toEqual([4, 8, 16, 32, 32, 64, 64, 64, 128, 128, 192]);
  });

  it("sees the 48 channels a group of a one-dimensional convolution with a kernel of 128", () => {
    const [finding] = find("TC108", positional(128, { dtype: "float16" }));
    expect(finding?.data).toEqual({ groups: 16, width: 48, padded: 64, kernel: "128" });
    expect(finding?.saves?.low).toBeGreaterThan(0);
  });

  it("leaves short sequences alone, which measured slower", () => {
    expect(find("TC108", positional(128, { positions: 200 }))).toEqual([]);
    expect(find("TC108", positional(128, { positions: 400 }))).toHaveLength(1);
  });

  it("leaves alone kernels of 19 to 64, where 64 a group measured slower than 48", () => {
    for (const kernel of [19, 32, 64]) expect(find("TC108", positional(kernel))).toEqual([]);
  });

  it("leaves alone fast widths, odd ones, large batches in NCHW, and other formats", () => {
    for (const width of [8, 16, 32, 64, 128]) expect(find("TC108", grouped(width))).toEqual([]);
    expect(find("TC108", grouped(50))).toEqual([]);
    expect(find("TC108", grouped(48))).toHaveLength(1);
    expect(find("TC108", grouped(48, 32))).toEqual([]);
    expect(find("TC108", grouped(48), { precision: "tf32" })).toEqual([]);
  });

  it("is about cuDNN", () => {
    expect(find("TC108", grouped(48), { stack: "tensorrt" })).toEqual([]);
    expect(find("TC108", grouped(48), { stack: "tc-runtime" })).toEqual([]);
    expect(find("TC108", grouped(48), { stack: "ort-cuda" })).toHaveLength(1);
  });
});

describe("TC109", () => {
  const depthwise =
    (kernel: number, side = 56) =>
    (graph: GraphBuilder) => {
      const x = graph.input("x", [8, 96, side, side]);
      graph.output(conv(graph, x, { channels: 96, filters: 96, groups: 96, kernel }));
    };

  it("leaves alone what has a fast kernel, and what is wider than its map", () => {
    expect([3, 5, 7].flatMap((kernel) => find("TC109", depthwise(kernel)))).toEqual([]);
    expect(find("TC109", depthwise(31, 14))).toEqual([]);
    expect(find("TC109", depthwise(31))).toHaveLength(1);
  });

  it("is about cuDNN", () => {
    expect(find("TC109", depthwise(13), { stack: "tc-runtime" })).toEqual([]);
    expect(find("TC109", depthwise(13), { stack: "ort-cuda" })).toHaveLength(1);
  });
});
