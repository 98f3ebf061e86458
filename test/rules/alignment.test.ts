import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { attention, conv, linear } from "../../fixtures/layers.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { duration } from "../../src/ir/format.ts";
import { paddedSizes } from "../../src/lint/padding-sizes.ts";
import type { Finding } from "../../src/lint/result.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { findingsIn, type LintOptions, lint } from "./lint.ts";

function find(code: string, build: (graph: GraphBuilder) => void, options?: LintOptions): Finding[] {
  const bytes = model({ name: "test" }, (graph) => build(graph));
  return findingsIn(bytes, options).filter((finding) => finding.code === code);
}

describe("padded sizes", () => {
  it("are multiples above the size, up to half as much again", () => {
    expect(paddedSizes(67, 8)).toEqual([72, 80, 96]);
    expect(paddedSizes(255, 8)).toEqual([256]);
    expect(paddedSizes(64, 8)).toEqual([]);
  });

  it("of a size below the multiple are even ones too", () => {
    expect(paddedSizes(1, 8)).toEqual([2, 4, 8]);
    expect(paddedSizes(3, 16)).toEqual([4, 16]);
  });
});

describe("TC101 and the stem", () => {
  const stem = (graph: GraphBuilder, filters: number) => {
    const image = graph.input("image", [8, 3, 112, 112]);
    return conv(graph, image, { channels: 3, filters, name: "stem" });
  };

  it("a first layer's outputs count, its three inputs do not", () => {
    const [finding, ...others] = find("TC101", (graph) => {
      const y = stem(graph, 91);
      graph.output(y);
    });
    expect(others).toEqual([]);
    expect(finding?.data).toMatchObject({ channels: 3, paddedChannels: 3, filters: 91 });
    expect(Number(finding?.data["paddedFilters"]) % 8).toBe(0);
  });

  it("an aligned first layer is silent", () => {
    expect(find("TC101", (graph) => graph.output(stem(graph, 64)))).toEqual([]);
  });

  it("three channels behind another product are no stem", () => {
    const build = (graph: GraphBuilder) => {
      const x = conv(graph, stem(graph, 64), { channels: 64, filters: 3, name: "narrow" });
      graph.output(conv(graph, x, { channels: 3, filters: 64, name: "wide" }));
    };
    expect(find("TC105", build).map(({ node }) => node)).not.toContain("wide");
  });

  it("a stem is one behind elementwise nodes, slices and a function too", () => {
    const bytes = model({ name: "test", domains: { local: 1 } }, (graph, builder) => {
      builder.addFunction("local", "Scale", (body) => {
        const x = body.input("a", undefined);
        body.nodes("Mul", [x, x], {}, { outputs: ["b"] });
        body.output("b");
      });
      const image = graph.input("image", [8, 3, 112, 112]);
      const scaled = graph.node("Scale", [image], {}, { domain: "local" });
      graph.output(conv(graph, scaled, { channels: 3, filters: 91, name: "stem" }));
    });
    const [finding] = findingsIn(bytes).filter(({ code }) => code === "TC101");
    expect(finding?.data).toMatchObject({ channels: 3, paddedChannels: 3 });
  });

  it("depthwise channels are left alone", () => {
    const build = (graph: GraphBuilder) => {
      const x = graph.input("x", [32, 116, 28, 28]);
      graph.output(conv(graph, x, { channels: 116, filters: 116, groups: 116 }));
    };
    expect([...find("TC101", build), ...find("TC106", build)]).toEqual([]);
  });
});

describe("TC102 and the contiguous axes", () => {
  const rows = (m: number, transA: boolean) => (graph: GraphBuilder) => {
    const x = graph.input("x", transA ? [1024, m] : [m, 1024]);
    graph.output(graph.node("Gemm", [x, graph.weight([1024, 1024])], { transA: Number(transA) }));
  };

  it("rows do not count", () => {
    expect(find("TC102", rows(4089, false))).toEqual([]);
  });

  it("rows count where A is stored transposed", () => {
    expect(find("TC102", rows(4089, true))[0]?.data).toMatchObject({ m: 4089, paddedM: 4096 });
  });

  it("K and N are padded in one finding", () => {
    const found = find("TC102", (graph) => {
      graph.output(linear(graph, graph.input("x", [4096, 1001]), 1001, 1001));
    });
    expect(found.map(({ data }) => data)).toMatchObject([{ paddedK: 1008, paddedN: 1008 }]);
  });

  it("a product of two activations has no weights to pad", () => {
    const found = find("TC102", (graph) => {
      const [a, b] = [graph.input("a", [64, 255, 255]), graph.input("b", [64, 255, 255])];
      graph.output(graph.node("MatMul", [a, b]));
    });
    expect(found).toEqual([]);
  });

  it("TF32 wants multiples of 4", () => {
    const build = (graph: GraphBuilder) =>
      graph.output(linear(graph, graph.input("x", [4096, 1020]), 1020, 1020));
    expect(find("TC102", build, { precision: "tf32" })).toEqual([]);
    expect(find("TC102", build, { precision: "fp16" })).toHaveLength(1);
  });
});

describe("a single element", () => {
  const stacks: readonly StackId[] = ["ort-cuda", "cudnn", "inductor", "tensorrt", "tc-runtime"];
  const gate = (depth: number) => (graph: GraphBuilder) =>
    graph.output(linear(graph, graph.input("x", [32768, depth]), depth, 1));
  const mask = (channels: number) => (graph: GraphBuilder) => {
    const x = conv(graph, graph.input("x", [8, 64, 256, 256]), { channels: 64, filters: channels });
    graph.output(conv(graph, x, { channels, filters: 1, kernel: 1, name: "mask" }));
  };
  const codes = ["TC101", "TC102", "TC106", "TC204"];

  it.each(stacks)("is no width to pad: one logit, one mask (%s)", (stack) => {
    for (const build of [gate(512), mask(64)])
      for (const code of codes) expect(find(code, build, { stack }), code).toEqual([]);
  });

  it("leaves the widths beside it", () => {
    const hidden = (graph: GraphBuilder) =>
      linear(graph, graph.input("x", [4096, 1024]), 1024, 1001, { name: "hidden" });
    const found = find("TC102", (graph) => graph.output(linear(graph, hidden(graph), 1001, 1)));
    expect(found[0]?.data).toMatchObject({ n: 1001, paddedN: 1008 });
    for (const { data } of found) if (data["n"] === 1) expect(data["paddedN"]).toBe(1);
  });
});

describe("head_dim", () => {
  const heads = (headDim: number) => (graph: GraphBuilder) => {
    const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) => graph.input(name, [1, 8, 2048, headDim]));
    graph.output(attention(graph, q, k, v, headDim));
  };
  const said = (headDim: number, stack: StackId = "tensorrt") =>
    ["TC103", "TC104"].flatMap((code) =>
      find(code, heads(headDim), { stack }).map((each) => [code, each.saves === null]),
    );

  const saidWritten = (headDim: number, precision: "fp16" | "tf32" = "fp16") =>
    ["TC103", "TC104", "TC401"].flatMap((code) => find(code, heads(headDim), { precision }).map(() => code));

  const fused = (headDim: number) =>
    model({ name: "fused", opset: 23 }, (graph: GraphBuilder) => {
      const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) =>
        graph.input(name, [1, 8, 2048, headDim]),
      );
      graph.output(graph.node("Attention", [q, k, v]));
    });

  it("of attention that runs as the nodes it is written as is no size of a fused kernel, but of two products", () => {
    expect(saidWritten(40)).toEqual(["TC401"]);
    expect(saidWritten(36)).toEqual(["TC103", "TC401"]);
    expect(saidWritten(36, "tf32")).not.toContain("TC103");
    const [found] = find("TC103", heads(36));
    expect(found?.message).toBe(
      "head_dim 36 is off the multiple of 8: both products of the attention run slower FP16 kernels; pad to 40",
    );
  });

  it.each([36, 70])(
    "%i written out: padded heads take less of one kernel, by as much as TC103 says of it",
    (headDim) => {
      const [written] = find("TC401", heads(headDim), { stack: "ort-cuda" });
      const [whole] = findingsIn(fused(headDim), { stack: "ort-cuda" }).filter(
        ({ code }) => code === "TC103",
      );
      const padded = whole?.data["padded"];
      const less = duration(whole?.saves?.microseconds ?? 0);
      expect(written?.message).toMatch(
        `; one of heads padded to ${padded} (zeros; the scale stays that of ${headDim}) takes ${less} less`,
      );
      // At the multiple there is nothing to say.
      expect(find("TC401", heads(Number(padded)), { stack: "ort-cuda" })[0]?.message).not.toContain("padded");
    },
  );

  it("40 is free: named, with no gain claimed", () => {
    expect(said(40)).toEqual([["TC104", true]]);
  });

  it.each([40, 72, 136])(
    "%i wastes little of the bundled runtime's next tile: no gain is claimed",
    (headDim) => {
      expect(said(headDim, "tc-runtime")).toEqual([["TC104", true]]);
    },
  );

  it.each([64, 128, 192, 256])("%i is a step: nothing to say", (headDim) => {
    expect(said(headDim)).toEqual([]);
  });

  it.each([72, 136])("%i is just above one", (headDim) => {
    const found = findingsIn(fused(headDim), { stack: "inductor" });
    const ofSizes = found.filter(({ code }) => ["TC103", "TC104"].includes(code));
    expect(ofSizes.map(({ code, saves }) => [code, saves === null])).toEqual([["TC104", false]]);
  });

  it.each([36, 60, 100])("%i is off a multiple of 8", (headDim) => {
    expect(said(headDim)).toEqual([["TC103", false]]);
  });
});

describe("TC204 and the stack", () => {
  const quantized = (channels: number) => (graph: GraphBuilder) => {
    const x = graph.input("x", [4096, channels], "uint8");
    const scale = graph.scalar(0.1);
    const w = graph.weight([channels, 1024], { dtype: "int8" });
    const a = graph.node("DequantizeLinear", [x, scale, graph.scalar(128, "uint8")]);
    const b = graph.node("DequantizeLinear", [w, scale, graph.scalar(0, "int8")]);
    graph.output(graph.node("MatMul", [a, b], {}, { name: "product" }));
  };

  it("16 is enough; TensorRT pads to its 32 inside, so that nothing is left to gain", () => {
    expect(find("TC204", quantized(1008), { stack: "tc-runtime" })).toEqual([]);
    for (const channels of [1000, 1001, 1008, 1010])
      expect(find("TC204", quantized(channels), { stack: "tensorrt" })).toEqual([]);
  });

  it("products between Dequantize and Quantize count as INT8, and not twice", () => {
    expect(find("TC204", quantized(1000), { stack: "tc-runtime" })).toHaveLength(1);
    expect(find("TC102", quantized(1001), { stack: "tc-runtime" })).toEqual([]);
  });

  it("on a stack that multiplies no codes they count as floats, and their conversions as kernels", () => {
    for (const stack of ["cudnn", "ort-cuda"] as const) {
      expect(find("TC204", quantized(1001), { stack })).toEqual([]);
      expect(find("TC102", quantized(1001), { stack })).toHaveLength(1);
      const [finding, ...others] = find("TC205", quantized(1001), { stack });
      expect(others).toEqual([]);
      expect(find("TC201", quantized(1001), { stack })).toEqual([]);
      // Codes of weights are numbers before the model runs.
      expect(finding?.data).toMatchObject({ count: 1, products: 1, kernels: 1, stack });
    }
    for (const stack of ["tensorrt", "tc-runtime"] as const)
      expect(find("TC205", quantized(1001), { stack })).toEqual([]);
  });

  it("80 costs a token behind a long cache little: the cache is as wide in heads of any depth", () => {
    const step = (length: number) => (graph: GraphBuilder) => {
      const past = ["k", "v"].map((name) => graph.input(name, [1, 32, 4096, 80]));
      const attributes = { scale: { float: 0.1 } };
      const q = graph.input("q", [1, 32, length, 80]);
      graph.output(graph.node("Attention", [q, ...past], attributes, { name: "attention" }));
    };
    const [token, prompt] = [1, 4096].map((length) => {
      const bytes = model({ name: "step", opset: 23, irVersion: 10 }, step(length));
      const report = lint(modelFromBytes(bytes));
      const [finding] = report.findings.filter(({ code }) => code === "TC104");
      return (finding?.saves?.microseconds ?? 0) / report.predicted.microseconds;
    });
    expect(prompt).toBeGreaterThan(0.2);
    // No token behind a cache was measured: what is left of it in few heads is the fit's guess.
    expect(token).toBeLessThan(((prompt ?? 0) * 2) / 3);
  });
});
