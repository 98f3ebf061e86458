import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { conv, linear } from "../../fixtures/layers.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { Finding } from "../../src/lint/result.ts";
import { findingsIn, type LintOptions } from "./lint.ts";

function find(code: string, build: (graph: GraphBuilder) => void, options?: LintOptions): Finding[] {
  const bytes = model({ name: "test" }, (graph) => build(graph));
  return findingsIn(bytes, options).filter((finding) => finding.code === code);
}

describe("TC101", () => {
  it.each([
    { channels: 67, filters: 129, said: "67 → 129 channels, off the multiple of 8" },
    { channels: 256, filters: 300, said: "256 → 300 channels, outputs off the multiple of 8" },
    { channels: 255, filters: 256, said: "255 → 256 channels, inputs off the multiple of 8" },
  ])("names the side that is off: $channels to $filters", ({ channels, filters, said }) => {
    const [finding] = find("TC101", (graph) => {
      const x = conv(graph, graph.input("x", [32, 64, 56, 56]), { channels: 64, filters: channels });
      const y = conv(graph, x, { channels, filters, name: "wide" });
      graph.output(conv(graph, y, { channels: filters, filters: 64 }));
    }).filter(({ node }) => node === "wide");
    expect(finding?.message).toContain(`${said}:`);
  });
});

describe("TC201", () => {
  const mixed = (graph: GraphBuilder) => {
    graph.output(linear(graph, graph.input("x", [2048, 1024]), 1024, 1024));
    const half = graph.input("h", [2048, 1024], "float16");
    graph.output(linear(graph, half, 1024, 1024, { dtype: "float16" }), "float16");
  };

  it("counts once per model, and its percentage is of the model as it stands", () => {
    const [finding, ...others] = find("TC201", mixed);
    expect(others).toEqual([]);
    expect(finding?.data).toMatchObject({ count: 1, products: 2 });
    expect(finding?.data["percent"]).toBeGreaterThan(0);
    expect(finding?.data["percent"]).toBeLessThan(100);
  });

  it.each(["as-is", "tf32", "fp32"] as const)("says nothing to who names %s", (precision) => {
    expect(find("TC201", mixed, { precision })).toEqual([]);
  });
});

describe("TC202", () => {
  it("is silent where the stack has no kernel of what is inside, in that half", () => {
    const build = (half: "float16" | "bfloat16", to: number) => (graph: GraphBuilder) => {
      const up = graph.node("Cast", [graph.input("x", [8, 64, 56, 56], half)], { to: 1 });
      const pooled = graph.node("MaxPool", [up], { kernel_shape: [2, 2], strides: [2, 2] });
      graph.output(graph.node("Cast", [pooled], { to }), half);
    };
    const [wide, narrow] = [build("bfloat16", 16), build("float16", 10)];
    const found = (make: typeof wide, stack: StackId) =>
      find("TC202", make, { stack, precision: "as-is" }).length;
    expect(found(wide, "ort-cuda")).toBe(0);
    expect([found(wide, "tensorrt"), found(narrow, "ort-cuda")]).toEqual([1, 1]);
  });

  const between = (build: (graph: GraphBuilder, full: string) => string) => (graph: GraphBuilder) => {
    const half = "float16" as const;
    const x = linear(graph, graph.input("x", [4096, 1024], half), 1024, 1024, { dtype: half });
    const up = graph.node("Cast", [x], { to: 1 }, { name: "up" });
    const down = graph.node("Cast", [build(graph, up)], { to: 10 });
    graph.output(linear(graph, down, 1024, 1024, { dtype: half }), half);
  };

  it("names what lies in the island", () => {
    const build = between((graph, full) => graph.node("Softmax", [graph.node("Softmax", [full])]));
    expect(find("TC202", build).map(({ node, data }) => ({ node, data }))).toEqual([
      { node: "up", data: { count: 2, ops: ["Softmax"], casts: 2 } },
    ]);
  });

  const squares = (graph: GraphBuilder, full: string) => graph.node("Pow", [full, graph.scalar(2)]);

  it("leaves alone what half cannot hold, and TC203 leaves alone what an island holds", () => {
    const build = between(squares);
    expect([...find("TC202", build), ...find("TC203", build)]).toEqual([]);
    const outside = (graph: GraphBuilder) => {
      build(graph);
      const x = graph.input("more", [64, 64], "float16");
      graph.output(graph.node("Pow", [x, graph.scalar(2, "float16")], {}, { name: "out" }), "float16");
    };
    expect(find("TC203", outside).map(({ node }) => node)).toEqual(["out"]);
  });

  it("leaves alone what reads a constant that half cannot hold, moved on the way or not", () => {
    const joined = (value: number) =>
      between((graph, full) => {
        const values = Array.from({ length: 1024 }, () => value);
        const token = graph.node("Transpose", [graph.weight([1024, 1], { values })], { perm: [1, 0] });
        const moved = graph.node("Concat", [token, full], { axis: 0 });
        return graph.node("Softmax", [moved]);
      });
    expect(find("TC202", joined(3e-6))).toEqual([]);
    expect(find("TC202", joined(0.5)).map(({ node }) => node)).toEqual(["up"]);
  });

  it("leaves norms that are written out to TC408, which names the operator, where the stack knows the norm as well", () => {
    const build = between((graph, full) => {
      const axes = graph.weight([1], { dtype: "int64", values: [-1] });
      const mean = graph.node("ReduceMean", [squares(graph, full), axes], { keepdims: 1 });
      const root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(1e-5)])], {}, { name: "root" });
      return graph.node("Mul", [full, graph.node("Reciprocal", [root])]);
    });
    expect([...find("TC202", build), ...find("TC203", build)]).toEqual([]);
    expect(find("TC408", build).map(({ node, data }) => ({ node, data }))).toEqual([
      { node: "root", data: { kind: "RMSNorm", module: "nn.RMSNorm", opset: 23, nodes: 6, casts: 2 } },
    ]);
  });

  it("leaves alone what FP32 reaches from elsewhere, or leaves to elsewhere", () => {
    const entered = between((graph, full) =>
      graph.node("Softmax", [graph.node("Add", [full, graph.input("other", [4096, 1024])])]),
    );
    const left = between((graph, full) => {
      const y = graph.node("Softmax", [full]);
      graph.output(y);
      return y;
    });
    expect([...find("TC202", entered), ...find("TC202", left)]).toEqual([]);
  });

  it("leaves alone a large FP32 part", () => {
    const build = between((graph, full) => {
      let x = full;
      for (let count = 0; count < 40; count++) x = graph.node("Softmax", [x]);
      return x;
    });
    expect(find("TC202", build)).toEqual([]);
  });
});

describe("TC404", () => {
  it("does not ask for fewer positions: between computed operands the data decide", () => {
    const computed = find("TC404", (graph) => {
      const [q, k] = [
        graph.input("q", [32, 128, 128], "float16"),
        graph.input("k", [32, 128, 2049], "float16"),
      ];
      graph.output(graph.node("MatMul", [q, k]), "float16");
    });
    expect(computed).toEqual([]);
  });

  /** 288 tiles of 128×128, two waves of 132 and 24 tiles; 264 are 33 samples. */
  const found = (batch: number | "batch", positions: number) =>
    find(
      "TC404",
      (graph) => {
        const x = graph.input("x", [batch, positions, 2048], "float16");
        graph.output(graph.node("MatMul", [x, graph.weight([2048, 512], { dtype: "float16" })]), "float16");
      },
      batch === "batch" ? { dims: new Map([["batch", 36]]) } : {},
    ).map(({ data }) => [data["axis"], data["fits"], data["size"]]);

  it.each([36, "batch"] as const)("names a whole number of samples, not of rows (batch %s)", (batch) => {
    expect(found(batch, 256)).toEqual([["batch", 33, 36]]);
  });

  it("asks no model of one sample for fewer positions: columns are what is left", () => {
    expect(found(1, 36 * 256)).toEqual([["N", 384, 512]]);
  });
});

describe("TC203", () => {
  const risks = (build: (graph: GraphBuilder, x: string) => string, options?: LintOptions) =>
    find("TC203", (graph) => graph.output(build(graph, graph.input("x", [64, 1024]))), options).map(
      ({ op, data }) => [op, data["value"], data["count"]],
    );
  const binary = (op: string, value: number) => (graph: GraphBuilder, x: string) =>
    graph.node(op, [x, graph.scalar(value)]);

  it.each([
    ["Add", 1e-12],
    ["Add", 1e-5],
    ["Mul", 1e5],
    ["Div", -1e6],
  ] as const)("%s with %d", (op, value) => {
    expect(risks(binary(op, value))).toEqual([[op, value, 1]]);
  });

  it.each([
    ["Add", 0],
    ["Mul", 0.125],
    ["Mul", 65504],
    ["Add", Number.NEGATIVE_INFINITY],
    ["Max", -3.4e38],
    ["Min", 3.4e38],
    ["Pow", 0.5],
  ] as const)("%s with %d is no risk", (op, value) => {
    expect(risks(binary(op, value))).toEqual([]);
  });

  describe("masks of the lowest float", () => {
    const lowest = -3.4028234663852886e38;
    const shape = (graph: GraphBuilder) => graph.weight([2], { dtype: "int64", values: [64, 1024] });
    const choice = (graph: GraphBuilder) => graph.weight([64, 1024], { dtype: "bool" });
    const upper = (graph: GraphBuilder, of: string) => graph.node("Trilu", [of], { upper: 1 });

    it.each([
      [
        "chosen by an input",
        "Where",
        (graph: GraphBuilder, x: string) =>
          graph.node("Where", [graph.input("mask", [64, 1024], "bool"), x, graph.scalar(lowest)]),
      ],
      [
        "times 1 − mask",
        "Mul",
        (graph: GraphBuilder, x: string) => {
          const kept = graph.node("Sub", [graph.scalar(1), graph.input("mask", [64, 1024])]);
          return graph.node("Add", [x, graph.node("Mul", [kept, graph.scalar(lowest)])]);
        },
      ],
      [
        "chosen ahead of time",
        "Add",
        (graph: GraphBuilder, x: string) =>
          graph.node("Add", [x, graph.node("Where", [choice(graph), graph.scalar(0), graph.scalar(lowest)])]),
      ],
      [
        "expanded ahead of time",
        "Add",
        (graph: GraphBuilder, x: string) =>
          graph.node("Add", [x, upper(graph, graph.node("Expand", [graph.scalar(lowest), shape(graph)]))]),
      ],
      [
        "filled ahead of time",
        "Add",
        (graph: GraphBuilder, x: string) => {
          const value = { element: lowest, dtype: "float32" } as const;
          return graph.node("Add", [
            x,
            upper(graph, graph.node("ConstantOfShape", [shape(graph)], { value })),
          ]);
        },
      ],
    ] as const)("%s", (_, op, build) => {
      expect(risks(build)).toEqual([[op, Number(lowest.toPrecision(4)), 1]]);
    });

    it("fixed values without one are no risk", () => {
      const build = (graph: GraphBuilder, x: string) =>
        graph.node("Add", [x, upper(graph, graph.node("Expand", [graph.scalar(-10000), shape(graph)]))]);
      expect(risks(build)).toEqual([]);
    });
  });

  it("small numbers among larger ones are no risk", () => {
    const bias = [1e-7, ...Array.from({ length: 1023 }, () => 0.1)];
    expect(risks((graph, x) => graph.node("Add", [x, graph.weight([1024], { values: bias })]))).toEqual([]);
  });

  it("squares, exponentials and long sums are", () => {
    expect(risks(binary("Pow", 2))).toEqual([["Pow", 2, 1]]);
    expect(risks((graph, x) => graph.node("Mul", [x, x]))).toEqual([["Mul", 2, 1]]);
    expect(risks((graph, x) => graph.node("Exp", [x])).map(([op]) => op)).toEqual(["Exp"]);
    const axes = (graph: GraphBuilder) => graph.weight([1], { dtype: "int64", values: [-1] });
    expect(risks((graph, x) => graph.node("ReduceSum", [x, axes(graph)]))).toEqual([["ReduceSum", 1024, 1]]);
  });

  it("exp(x − max x) and constant arithmetic are not", () => {
    const shifted = (graph: GraphBuilder, x: string) =>
      graph.node("Exp", [graph.node("Sub", [x, graph.node("ReduceMax", [x], { axes: [-1] })])]);
    const constant = (graph: GraphBuilder, x: string) =>
      graph.node("Add", [x, graph.node("Exp", [graph.scalar(2)])]);
    expect([...risks(shifted), ...risks(constant)]).toEqual([]);
  });

  it("BF16 and TF32 have the range", () => {
    expect(risks(binary("Pow", 2), { precision: "bf16" })).toEqual([]);
    expect(risks(binary("Pow", 2), { precision: "tf32" })).toEqual([]);
  });

  it("is one finding per operator, however many places", () => {
    const build = (graph: GraphBuilder, x: string) =>
      graph.node("Pow", [graph.node("Sqrt", [graph.node("Pow", [x, graph.scalar(2)])]), graph.scalar(3)]);
    expect(risks(build)).toEqual([["Pow", 3, 2]]);
  });
});

describe("TC302", () => {
  const chain = (
    perm: readonly number[],
    behind: (graph: GraphBuilder, x: string) => string,
    options?: LintOptions,
  ) => {
    const build = (graph: GraphBuilder) => {
      const x = conv(graph, graph.input("x", [32, 96, 56, 56]), { channels: 96, filters: 96 });
      graph.output(behind(graph, graph.node("Transpose", [x], { perm }, { name: "moved" })));
    };
    return find("TC302", build, options).map(({ node }) => node);
  };

  // Where a Transpose is a view, the way back is one that a convolution reads as it lies.
  it.each([
    ["ort-cuda", ["back", "moved"]],
    ["cudnn", ["moved"]],
  ] as const)("channels last and back around an MLP: %s", (stack, expected) => {
    const there = (graph: GraphBuilder, x: string) => {
      const y = graph.node("Transpose", [linear(graph, x, 96, 96)], { perm: [0, 3, 1, 2] }, { name: "back" });
      return conv(graph, y, { channels: 96, filters: 96 });
    };
    expect(chain([0, 2, 3, 1], there, { stack }).sort()).toEqual(expected);
  });

  it.each(["inductor", "tensorrt", "ort-cuda-nhwc", "tc-runtime"] as const)(
    "none where activations are NHWC: %s",
    (stack) => {
      expect(chain([0, 2, 3, 1], (graph, x) => linear(graph, x, 96, 96), { stack })).toEqual([]);
    },
  );

  it("one where a setting keeps NCHW", () => {
    const found = chain([0, 2, 3, 1], (graph, x) => linear(graph, x, 96, 96), { stack: "ort-cuda" });
    expect(found).toEqual(["moved"]);
  });

  it("another order of axes is none", () => {
    expect(chain([0, 1, 3, 2], (graph, x) => linear(graph, x, 56, 96))).toEqual([]);
  });

  it("one that leads to no product is none", () => {
    expect(chain([0, 2, 3, 1], (graph, x) => graph.node("Relu", [x]))).toEqual([]);
  });
});

describe("TC403", () => {
  const normalized = (
    options: LintOptions,
    change: (graph: GraphBuilder, y: string) => void = () => undefined,
  ) =>
    find(
      "TC403",
      (graph) => {
        const x = graph.input("x", [32, 64, 56, 56]);
        const y = conv(graph, x, { channels: 64, filters: 64 });
        change(graph, y);
        const parameters = [0, 1, 2, 3].map(() => graph.weight([64]));
        graph.output(graph.node("BatchNormalization", [y, ...parameters]));
      },
      options,
    ).length;

  it("is for stacks that do not fold it themselves", () => {
    expect(normalized({ stack: "cudnn" })).toBe(1);
    expect(normalized({ stack: "tensorrt" })).toBe(0);
  });

  it("not where something else reads the convolution", () => {
    expect(normalized({}, (graph, y) => graph.output(graph.node("Relu", [y])))).toBe(0);
    expect(normalized({}, (graph, y) => graph.output(y))).toBe(0);
  });
});

describe("subgraphs and functions", () => {
  it("a finding in a loop's body is worth its trips", () => {
    const loop = (trips: number) => (graph: GraphBuilder) => {
      const x = graph.input("x", [4096, 1001]);
      const body = graph.inner("body");
      body.input("i", [], "int64");
      body.input("going", [], "bool");
      const state = body.input("state", [4096, 1001]);
      body.output(body.node("Identity", ["going"]), "bool", []);
      body.output(linear(body, state, 1001, 1001, { name: "inside" }), "float32", [4096, 1001]);
      const count = graph.scalar(trips, "int64");
      const always = graph.scalar(1, "bool");
      graph.output(graph.node("Loop", [count, always, x], { body: { graph: body } }, { name: "loop" }));
    };
    const [once, ten] = [1, 10].map((trips) => find("TC102", loop(trips))[0]);
    expect(ten?.graph).toBe("graph/loop:body");
    expect(ten?.saves?.microseconds).toBeCloseTo(10 * (once?.saves?.microseconds ?? Number.NaN), 6);
  });

  it("a function called twice has a finding at each call", () => {
    const bytes = model({ name: "test", domains: { local: 1 } }, (graph, builder) => {
      builder.addFunction("local", "Block", (body) => {
        const x = body.input("a", undefined);
        const w = body.input("w", undefined);
        body.nodes("MatMul", [x, w], {}, { outputs: ["b"], name: "product" });
        body.output("b");
      });
      let x = graph.input("x", [4096, 1001]);
      for (const name of ["first", "second"]) {
        x = graph.node("Block", [x, graph.weight([1001, 1001])], {}, { domain: "local", name });
      }
      graph.output(x);
    });
    const found = findingsIn(bytes).filter(({ code }) => code === "TC102");
    expect(found.map(({ graph }) => graph).sort()).toEqual(["graph/first:Block", "graph/second:Block"]);
    expect(new Set(found.map(({ fingerprint }) => fingerprint)).size).toBe(2);
  });
});

describe("TC410", () => {
  /** A Pad by zeros in front of a Relu, before a product that --fix pads; `named` as exporters name nodes. */
  const padded = (named: boolean) => (graph: GraphBuilder) => {
    const x = graph.input("x", [4096, 768]);
    const zeros = graph.weight([4], { dtype: "int64", values: [0, 0, 0, 0] });
    const same = graph.node("Pad", [x, zeros], {}, named ? { name: "pad" } : {});
    graph.output(linear(graph, same, 768, 768));
    const y = linear(graph, graph.node("Relu", [same], {}, named ? { name: "relu" } : {}), 768, 50_257);
    graph.output(graph.node("Relu", [y], {}, named ? { name: "last" } : {}));
  };
  const found = (named: boolean, stack: "cudnn" | "inductor") =>
    find("TC410", padded(named), { stack, decided: true }).map(({ data }) => data["named"]);

  it.each([true, false])("is a kernel all of whose nodes go (names: %s)", (named) => {
    expect(found(named, "cudnn")).toEqual(["Pad 1"]);
  });

  it.each([true, false])("is no fused kernel of which a node stays (names: %s)", (named) => {
    expect(found(named, "inductor")).toEqual([]);
  });
});
