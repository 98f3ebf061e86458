import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelOptions, model, type Sizes } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { choosesLayout, stackIds, stacks } from "../../src/hardware/stacks.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { bytesOfModel, difference, type Feeds, floats, run } from "./folding.ts";
import { expectSameMoved, moveModel, operatorsOf } from "./nhwc.ts";
import { ints, weight } from "./padding.ts";

const options: ModelOptions = { name: "nhwc", opset: 17, domains: { "com.microsoft": 1 } };
const feeds: Feeds = { x: floats([2, 3, 8, 10]) };

function conv(graph: GraphBuilder, x: string, [filters, channels, kernel]: [number, number, number]): string {
  const pad = (kernel - 1) / 2;
  const operands = [x, weight(graph, [filters, channels, kernel, kernel]), weight(graph, [filters])];
  return graph.node("Conv", operands, { pads: [pad, pad, pad, pad] });
}

type Build = (graph: GraphBuilder, h: string, x: string) => string;

/** x [2,3,8,10] to h [2,6,8,10] through `build`, and on through a 1×1 convolution of `channels`. */
function between(build: Build, channels = 6, more: Partial<ModelOptions> = {}, sizes: Sizes = [2, 3, 8, 10]) {
  return model({ ...options, ...more }, (graph) => {
    const x = graph.input("x", sizes);
    const inner = build(graph, conv(graph, x, [6, 3, 3]), x);
    const w = weight(graph, [5, channels, 1, 1]);
    graph.node("Conv", [inner, w], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

/** No Transpose but the one behind x and the one before y. */
async function expectNoneBetween(bytes: Uint8Array, given: Feeds = feeds): Promise<string[]> {
  const operators = operatorsOf(await expectSameMoved(bytes, given));
  expect(operators.filter((operator) => operator === "Transpose")).toHaveLength(2);
  expect([operators[0], operators.at(-1)]).toEqual(["Transpose", "Transpose"]);
  return operators;
}

describe("what goes along with convolutions", () => {
  const cases: Readonly<Record<string, readonly [Build, channels?: number, opset?: number]>> = {
    nothing: [(_, h) => h],
    activation: [(graph, h) => graph.node("Relu", [h])],
    "gate of itself": [(graph, h) => graph.node("Mul", [h, graph.node("Sigmoid", [h])])],
    "constant per channel": [(graph, h) => graph.node("Mul", [h, weight(graph, [6, 1, 1])])],
    "constant of one axis": [(graph, h) => graph.node("Add", [h, weight(graph, [10])])],
    "constant of three axes": [(graph, h) => graph.node("Add", [h, weight(graph, [6, 8, 10])])],
    "constant of four axes": [(graph, h) => graph.node("Sub", [weight(graph, [2, 6, 8, 1]), h])],
    "scalar constant": [(graph, h) => graph.node("Div", [h, graph.scalar(3)])],
    clip: [(graph, h) => graph.node("Clip", [h, graph.scalar(-0.5), graph.scalar(0.5)])],
    where: [
      (graph, h) => graph.node("Where", [graph.node("Greater", [h, graph.scalar(0)]), h, graph.scalar(-1)]),
    ],
    prelu: [(graph, h) => graph.node("PRelu", [h, weight(graph, [6, 1, 1])])],
    cast: [(graph, h) => graph.node("Cast", [graph.node("Cast", [h], { to: 11 })], { to: 1 })],
    residual: [(graph, h) => graph.node("Add", [h, conv(graph, h, [6, 6, 3])])],
    "concat of channels": [
      (graph, h) => graph.node("Concat", [h, conv(graph, h, [4, 6, 3])], { axis: 1 }),
      10,
    ],
    "concat along a negative axis": [(graph, h) => graph.node("Concat", [h, h], { axis: -1 })],
    split: [
      (graph, h) => {
        const [a = "", b = ""] = graph.nodes("Split", [h, ints(graph, [2, 4])], { axis: 1 }, { outputs: 2 });
        return graph.node("Concat", [b, a], { axis: -3 });
      },
    ],
    slice: [
      (graph, h) =>
        graph.node("Slice", [
          h,
          ...[
            [1, 2],
            [5, 8],
            [-3, 3],
            [1, 2],
          ].map((list) => ints(graph, list)),
        ]),
      4,
    ],
    gather: [(graph, h) => graph.node("Gather", [h, ints(graph, [4, 0, 2])], { axis: 1 }), 3],
    pad: [(graph, h) => graph.node("Pad", [h, ints(graph, [0, 1, 2, 3, 0, 0, 4, 5])]), 7],
    "pad of opset 10": [(graph, h) => graph.node("Pad", [h], { pads: [0, 0, 1, 0, 0, 0, 0, 2] }), 6, 10],
    "pooling of windows": [
      (graph, h) => graph.node("MaxPool", [h], { kernel_shape: [2, 3], strides: [2, 1] }),
    ],
    "average of windows": [
      (graph, h) => graph.node("AveragePool", [h], { kernel_shape: [3, 2], pads: [1, 0, 1, 1] }),
    ],
    resize: [
      (graph, h) =>
        graph.node("Resize", [h, "", graph.weight([4], { values: [1, 1, 2, 1.5] })], {
          mode: "linear",
          coordinate_transformation_mode: "half_pixel",
        }),
    ],
    "resize to sizes": [
      (graph, h) => graph.node("Resize", [h, "", "", ints(graph, [2, 6, 5, 20])], { mode: "nearest" }),
    ],
    "depth to space": [
      (graph, h) => graph.node("DepthToSpace", [conv(graph, h, [8, 6, 1])], { blocksize: 2 }),
      2,
    ],
    "space to depth": [(graph, h) => graph.node("SpaceToDepth", [h], { blocksize: 2 }), 24],
    "transposed convolution": [
      (graph, h) => graph.node("ConvTranspose", [h, weight(graph, [6, 4, 2, 2])], { strides: [2, 2] }),
      4,
    ],
    "batch normalization": [
      (graph, h) => {
        const operands = [1, 2, 3].map((seed) => weight(graph, [6], seed));
        return graph.node("BatchNormalization", [
          h,
          ...operands,
          graph.weight([6], { values: [1, 2, 3, 4, 5, 6] }),
        ]);
      },
    ],
    "squeeze and excite": [
      (graph, h) => {
        const narrow = conv(graph, graph.node("GlobalAveragePool", [h]), [2, 6, 1]);
        const wide = conv(graph, graph.node("Relu", [narrow]), [6, 2, 1]);
        return graph.node("Mul", [h, graph.node("Sigmoid", [wide])]);
      },
    ],
    "mean of positions": [
      (graph, h) => graph.node("Sub", [h, graph.node("ReduceMean", [h], { axes: [2, 3], keepdims: 1 })]),
    ],
    "mean of channels": [
      (graph, h) => graph.node("Sub", [h, graph.node("ReduceMean", [h], { axes: [-3], keepdims: 1 })]),
    ],
    "norm by axes that are an input": [
      (graph, h) => graph.node("Div", [h, graph.node("ReduceL2", [h, ints(graph, [1])], { keepdims: 1 })]),
      6,
      18,
    ],
    "channel shuffle": [
      (graph, h) => {
        const apart = graph.node("Reshape", [h, ints(graph, [2, 3, 2, 8, 10])]);
        const turned = graph.node("Transpose", [apart], { perm: [0, 2, 1, 3, 4] });
        return graph.node("Reshape", [turned, ints(graph, [2, 6, 8, 10])]);
      },
    ],
    "group normalization": [
      (graph, h) => {
        const groups = graph.node("Reshape", [h, ints(graph, [0, 3, -1])]);
        const operands = [groups, weight(graph, [3], 1), weight(graph, [3], 2)];
        const normal = graph.node("InstanceNormalization", operands, { epsilon: { float: 1e-3 } });
        return graph.node("Mul", [
          graph.node("Reshape", [normal, graph.node("Shape", [h])]),
          weight(graph, [6, 1, 1]),
        ]);
      },
    ],
    "transposes to NHWC and back": [
      (graph, h) => {
        const last = graph.node("Transpose", [h], { perm: [0, 2, 3, 1] });
        const norm = graph.node("LayerNormalization", [last, weight(graph, [6])]);
        return graph.node("Transpose", [norm], { perm: [0, 3, 1, 2] });
      },
    ],
    "transposes that meet": [
      (graph, h) => {
        const last = graph.node("Transpose", [h], { perm: [0, 2, 3, 1] });
        return graph.node("Transpose", [last], { perm: [0, 3, 1, 2] });
      },
    ],
  };
  for (const [name, [build, channels, opset = 17]] of Object.entries(cases)) {
    it(name, () => expectNoneBetween(between(build, channels, { opset })).then(() => {}));
  }
});

describe("what needs NCHW", () => {
  it("gets it by a Transpose, made once, and says so", async () => {
    const bytes = between((graph, h) => {
      const named = graph.node("Relu", [h], {}, { outputs: ["h"] });
      const sums = [0, 1].map((axis) => graph.node("CumSum", [named, graph.scalar(axis + 2, "int64")]));
      const other = graph.node("CumSum", [graph.node("Abs", [named]), graph.scalar(1, "int64")]);
      return graph.node("Sum", [...sums, other]);
    });
    const moved = await expectSameMoved(bytes, feeds);
    expect(operatorsOf(moved).filter((operator) => operator === "Transpose")).toHaveLength(5);
    const blocked = moved.notes.filter(({ kind }) => kind === "blocked");
    expect(blocked.map(({ message }) => message)).toEqual([
      'CumSum needs NCHW: 2 Transposes, the first for "h"',
    ]);
    expect(blocked[0]?.microseconds).toBe(2);
  });

  it("an output of the model that is read as well has both forms", async () => {
    const bytes = model(options, (graph) => {
      const h = conv(graph, graph.input("x", [2, 3, 8, 10]), [6, 3, 3]);
      graph.node("Conv", [h, weight(graph, [5, 6, 1, 1])], {}, { outputs: ["y"] });
      graph.output(h);
      graph.output("y");
    });
    expect(operatorsOf(await expectSameMoved(bytes, feeds))).toEqual([
      "Transpose",
      "nhwc::Conv",
      "Transpose",
      "nhwc::Conv_2",
      "Transpose",
    ]);
  });

  it("a subgraph reads the value it knows", async () => {
    const bytes = model(options, (graph) => {
      const h = conv(graph, graph.input("x", [2, 3, 8, 10]), [6, 3, 3]);
      const branch = (name: string, op: string) => {
        const inner = graph.inner(name);
        const output = inner.node(op, [h], {}, { outputs: [`${name}_y`] });
        inner.output(output, "float32", [2, 6, 8, 10]);
        return { graph: inner };
      };
      const flag = graph.node("Greater", [graph.node("ReduceMax", [h], { keepdims: 0 }), graph.scalar(0)]);
      const chosen = graph.node("If", [flag], {
        then_branch: branch("a", "Relu"),
        else_branch: branch("b", "Neg"),
      });
      graph.node("Conv", [chosen, weight(graph, [5, 6, 1, 1])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    await expectSameMoved(bytes, feeds);
  });

  it("a residual of an input that is NCHW turns it", async () => {
    const bytes = between((graph, h) => graph.node("Add", [h, graph.input("z", [2, 6, 8, 10])]));
    const moved = await expectSameMoved(bytes, { ...feeds, z: floats([2, 6, 8, 10], 3) });
    expect(operatorsOf(moved)).toEqual([
      "Transpose",
      "nhwc::Conv",
      "Transpose",
      "Add",
      "nhwc::Conv_2",
      "Transpose",
    ]);
  });

  it("scales of several channels are no constants that broadcast", async () => {
    const bytes = between((graph, h) => {
      const scale = graph.weight([6], { values: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] });
      const zero = graph.weight([6], { dtype: "int8", values: [0, 0, 0, 0, 0, 0] });
      return graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [h, scale, zero]), scale, zero]);
    });
    await expectSameMoved(bytes, feeds);
  });

  it("a mean over channels and height alone keeps its order", async () => {
    const bytes = model(options, (graph) => {
      const h = conv(graph, graph.input("x", [2, 3, 8, 10]), [6, 3, 3]);
      graph.node("ReduceMean", [h], { axes: [3], keepdims: 0 }, { outputs: ["y"] });
      graph.node("ReduceMean", [h], { axes: [1], keepdims: 0 }, { outputs: ["z"] });
      graph.output("y");
      graph.output("z");
    });
    await expectSameMoved(bytes, feeds);
  });

  it("a Transpose whose input is NHWC as well is read through", async () => {
    const bytes = between((graph, h) =>
      conv(graph, graph.node("Transpose", [h], { perm: [0, 3, 1, 2] }), [6, 10, 1]),
    );
    await expectSameMoved(bytes, feeds);
  });
});

it("classifiers end without a Transpose", async () => {
  const heads: readonly ((graph: GraphBuilder, h: string) => string)[] = [
    (graph, h) => graph.node("Flatten", [graph.node("GlobalAveragePool", [h])]),
    (graph, h) => graph.node("Reshape", [graph.node("GlobalAveragePool", [h]), ints(graph, [0, -1])]),
    (graph, h) => graph.node("ReduceMean", [h], { axes: [2, 3], keepdims: 0 }),
  ];
  for (const head of heads) {
    const bytes = model(options, (graph) => {
      const h = conv(graph, graph.input("x", [2, 3, 8, 10]), [6, 3, 3]);
      graph.node("Gemm", [head(graph, h), weight(graph, [6, 4])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const operators = operatorsOf(await expectSameMoved(bytes, feeds));
    expect(operators.filter((operator) => operator === "Transpose")).toHaveLength(1);
  }
});

it("sizes may be symbols", async () => {
  const bytes = between(
    (graph, h) => {
      const groups = graph.node("Reshape", [h, ints(graph, [0, 3, -1])]);
      const normal = graph.node("InstanceNormalization", [
        groups,
        weight(graph, [3], 1),
        weight(graph, [3], 2),
      ]);
      return graph.node("Reshape", [normal, graph.node("Shape", [h])]);
    },
    6,
    {},
    ["N", 3, "H", "W"],
  );
  await expectNoneBetween(bytes);
  await expectNoneBetween(bytes, { x: floats([1, 3, 5, 4]) });
});

it("a model without 2-D convolutions stays as it is, and says which it has", () => {
  const bytes = model(options, (graph) => {
    const operands = [graph.input("x", [2, 3, 10]), weight(graph, [4, 3, 3])];
    graph.node("Conv", operands, {}, { outputs: ["y"] });
    graph.output("y");
  });
  const { patch, notes } = moveModel(modelFromBytes(bytes));
  expect(patch.isEmpty).toBe(true);
  expect(notes.map(({ message }) => message)).toEqual([
    "1 convolution stays NCHW: 1 spatial axis, expected 2",
  ]);
});

it("uses functions that the model has, and leaves others of that name alone", async () => {
  const first = await expectSameMoved(
    between((_, h) => h),
    feeds,
  );
  const [definition] = [...first.after.functions.values()].filter(({ graph }) => graph.inputs.length === 3);
  expect(definition?.name).toBe("Conv");
  const other = model({ ...options, domains: { "tc_lint.nhwc": 1 } }, (graph, whole) => {
    whole.addFunction("tc_lint.nhwc", "Conv", (body) => {
      const x = body.input("x0", undefined);
      body.node("Relu", [x], {}, { outputs: ["y"] });
      body.output("y");
    });
    const h = conv(graph, graph.input("x", [2, 3, 8, 10]), [6, 3, 3]);
    graph.node("Conv", [h], {}, { domain: "tc_lint.nhwc", outputs: ["y"] });
    graph.output("y");
  });
  const { after } = await expectSameMoved(other, feeds);
  expect([...after.functions.values()].map(({ name }) => name)).toEqual(["Conv", "Conv_2"]);
});

it("predicts what it saves: convolutions less the Transposes at the borders", () => {
  const { notes } = moveModel(modelFromBytes(between((graph, h) => graph.node("Relu", [h]))));
  expect(notes).toHaveLength(1);
  expect(notes[0]?.microseconds).toBe(2 * (10 - 4) - 2);
});

it("a block whose layers read NHWC keeps it across the residual", async () => {
  const bytes = between((graph, h) => {
    const last = graph.node("Transpose", [h], { perm: [0, 2, 3, 1] });
    const wide = graph.node("MatMul", [
      graph.node("LayerNormalization", [last, weight(graph, [6])]),
      weight(graph, [6, 6]),
    ]);
    const back = graph.node("Transpose", [graph.node("Relu", [wide])], { perm: [0, 3, 1, 2] });
    return graph.node("Add", [graph.node("Mul", [back, weight(graph, [6, 1, 1])]), h]);
  });
  await expectNoneBetween(bytes);
  const { notes } = moveModel(modelFromBytes(bytes));
  // Two Transposes come at the ends, two go.
  expect(notes[0]?.microseconds).toBe(2 * (10 - 4) - 2 + 2);
});

describe("--nhwc-io", () => {
  const turned = (name: string, tensor: Tensor) => {
    const [n = 1, c = 1, h = 1, w = 1] = tensor.dims;
    const from = tensor.data as Float32Array;
    const data = new Float32Array(from.length);
    for (let at = 0; at < from.length; at++) {
      const [channel, position] = [at % c, Math.floor(at / c) % (h * w)];
      const batch = Math.floor(at / (c * h * w));
      data[at] = from[(batch * c + channel) * h * w + position] ?? Number.NaN;
    }
    return [name, new Tensor("float32", data, [n, h, w, c])] as const;
  };

  it("gives and takes NHWC, without a Transpose", async () => {
    const bytes = model(options, (graph) => {
      const h = conv(graph, graph.input("x", ["N", 3, 8, 10]), [6, 3, 3]);
      graph.node("Relu", [h], {}, { outputs: ["y"] });
      graph.output("y", "float32", ["N", 6, 8, 10]);
    });
    const { after, permutations, notes } = moveModel(modelFromBytes(bytes), { nhwcIo: true });
    expect(after.graph.nodes.map(({ opType }) => opType)).toEqual(["Conv", "Relu"]);
    expect([...permutations]).toEqual([
      ["x", [0, 2, 3, 1]],
      ["y", [0, 2, 3, 1]],
    ]);
    expect(notes[0]?.message).toContain('"x", "y" in NHWC as well');
    const [x] = after.graph.inputs;
    expect(x?.declared).toMatchObject({ kind: "tensor", dtype: "float32" });
    const expected = await run(bytes, feeds);
    const given = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => turned(name, tensor)));
    const actual = await run(bytesOfModel(after), given);
    const wanted = new Map([...expected].map(([name, tensor]) => turned(name, tensor)));
    expect(difference(wanted, actual)).toBeLessThanOrEqual(1e-6);
  });

  it("keeps NCHW for readers that need it, and leaves other inputs alone", async () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [2, 3, 8, 10]);
      const z = graph.input("z", [2, 6, 8, 10]);
      const h = graph.node("Add", [
        conv(graph, x, [6, 3, 3]),
        graph.node("CumSum", [z, graph.scalar(1, "int64")]),
      ]);
      graph.node("Reshape", [x, ints(graph, [2, -1])], {}, { outputs: ["r"] });
      graph.node("CumSum", [h, graph.scalar(1, "int64")], {}, { outputs: ["y"] });
      graph.output("r");
      graph.output("y", "float32", [2, 6, 8, 10]);
    });
    const x = floats([2, 3, 8, 10]);
    const both = { x, z: floats([2, 6, 8, 10], 4) };
    const { after, permutations } = moveModel(modelFromBytes(bytes), { nhwcIo: true });
    expect([...permutations.keys()]).toEqual(["x"]);
    const given = { ...both, ...Object.fromEntries([turned("x", x)]) };
    expect(difference(await run(bytes, both), await run(bytesOfModel(after), given))).toBeLessThanOrEqual(
      1e-6,
    );
  });
});

describe("a region that NHWC is predicted to slow down", () => {
  /** x through dense convolutions, d through depthwise ones. */
  const bytes = model(options, (graph) => {
    const x = graph.input("x", [2, 3, 8, 10]);
    graph.node("Relu", [conv(graph, x, [6, 3, 3])], {}, { outputs: ["y"] });
    graph.output("y");
    const d = graph.input("d", [2, 6, 8, 10]);
    const first = graph.node("Conv", [d, weight(graph, [6, 1, 3, 3])], { group: 6 }, { name: "depthwise" });
    graph.node("Conv", [first, weight(graph, [6, 1, 3, 3])], { group: 6 }, { outputs: ["z"] });
    graph.output("z");
  });
  const both: Feeds = { x: floats([2, 3, 8, 10]), d: floats([2, 6, 8, 10]) };

  it("stays NCHW where only gains are asked for, and the other one moves", async () => {
    const moved = await expectSameMoved(bytes, both, { nhwcOnlyWhereFaster: true });
    expect(operatorsOf(moved)).toEqual(["Transpose", "nhwc::Conv", "Relu", "Transpose", "Conv", "Conv"]);
    const message =
      '2 convolutions from "depthwise" on stay NCHW: NHWC is predicted to be slower; --layout nhwc converts them all the same';
    // Twice 10 − 12, and two Transposes.
    expect(moved.notes).toContainEqual(
      expect.objectContaining({ kind: "blocked", message, microseconds: -6 }),
    );
  });

  it("moves where it is asked for, which is said", async () => {
    const moved = await expectSameMoved(bytes, both);
    expect(operatorsOf(moved).filter((operator) => operator.startsWith("nhwc::Conv"))).toHaveLength(3);
    const message = '2 convolutions from "depthwise" on: NHWC is predicted to be slower, and was asked for';
    expect(moved.notes).toContainEqual(expect.objectContaining({ kind: "blocked", message }));
  });

  it("leaves a model alone that has no other", () => {
    const alone = model(options, (graph) => {
      const d = graph.input("d", [2, 6, 8, 10]);
      graph.node("Conv", [d, weight(graph, [6, 1, 3, 3])], { group: 6 }, { outputs: ["z"] });
      graph.output("z");
    });
    const { patch, notes } = moveModel(modelFromBytes(alone), { nhwcOnlyWhereFaster: true });
    expect(patch.isEmpty).toBe(true);
    expect(notes).toMatchObject([{ kind: "blocked", message: expect.stringContaining("stay NCHW") }]);
  });

  it.each(stackIds.filter((id) => choosesLayout(stacks[id])))(
    "is no word on %s, which takes NHWC of any file",
    (stack) => {
      const { notes } = moveModel(modelFromBytes(bytes), { nhwcOnlyWhereFaster: true, stack });
      expect(notes.filter(({ message }) => message.includes("stay NCHW"))).toEqual([]);
      const turned = moveModel(modelFromBytes(bytes), { nhwcOnlyWhereFaster: true, nhwcIo: true, stack });
      expect(turned.notes).toContainEqual(
        expect.objectContaining({ message: expect.stringContaining("stay NCHW") }),
      );
    },
  );
});

describe("--target ort-cuda", () => {
  const bytes = between((graph, h) => {
    const grouped = graph.node("Conv", [h, weight(graph, [6, 2, 3, 2])], {
      group: 3,
      auto_pad: "SAME_UPPER",
    });
    return graph.node("MaxPool", [grouped], { kernel_shape: [2, 2] });
  });
  const { after } = moveModel(modelFromBytes(bytes), { nhwcForm: "ort-cuda" });
  const convolutions = after.graph.nodes.filter(({ opType }) => opType === "NhwcConv");

  it("writes NhwcConv, and functions for what else has a layout", () => {
    expect(after.graph.nodes.map(({ domain, opType }) => `${domain}::${opType}`)).toEqual([
      "::Transpose",
      "com.microsoft::NhwcConv",
      "com.microsoft::NhwcConv",
      "tc_lint.nhwc::MaxPool",
      "com.microsoft::NhwcConv",
      "::Transpose",
    ]);
    expect(after.opsets.get("com.microsoft")).toBe(1);
  });

  it("gives what the original gives, as inference sees it", () => {
    const shapeOf = (model: typeof after) => inferFacts(model).root.fact(model.graph.outputs[0] ?? missing());
    expect(shapeOf(after)).toEqual(shapeOf(modelFromBytes(bytes)));
  });

  it("has weights [M,kH,kW,C/group] and says the kernel", () => {
    const original = modelFromBytes(bytes);
    const before = original.graph.nodes.filter(({ opType }) => opType === "Conv");
    for (const [index, node] of convolutions.entries()) {
      const [was, is] = [before[index]?.inputs[1]?.initializer, node.inputs[1]?.initializer];
      if (was === undefined || is === undefined) throw new Error("the weights are not stored");
      const [m = 1, c = 1, h = 1, w = 1] = was.dims;
      expect(is.dims).toEqual([m, h, w, c]);
      expect(node.attributes.find(({ name }) => name === "kernel_shape")?.value).toEqual({
        type: "ints",
        values: [h, w],
      });
      const [old = [], now = []] = [original.reader.elements(was, 1e6), after.reader.elements(is, 1e6)];
      const moved = now.map((_, at) => {
        const [channel, position, filter] = [
          at % c,
          Math.floor(at / c) % (h * w),
          Math.floor(at / (c * h * w)),
        ];
        return old[(filter * c + channel) * h * w + position];
      });
      expect(now).toEqual(moved);
    }
    expect(
      [...after.graph.values.values()].filter(({ initializer }) => initializer?.dims.length === 4),
    ).toHaveLength(3);
  });
});

function missing(): never {
  throw new Error("the model has no outputs");
}

it("leaves convolutions of quantized codes as they are: what multiplies codes finds them where they stand", () => {
  const bytes = model(options, (graph) => {
    const quantized = (value: string) => {
      const by = [graph.scalar(0.1), graph.scalar(0, "int8")];
      return graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [value, ...by]), ...by]);
    };
    const x = quantized(graph.input("x", [2, 3, 8, 10]));
    const h = graph.node("Conv", [x, quantized(weight(graph, [6, 3, 1, 1]))]);
    graph.node("Conv", [h, weight(graph, [5, 6, 1, 1])], {}, { outputs: ["y"] });
    graph.output("y");
  });
  using opened = modelFromBytes(bytes);
  const operators = operatorsOf(moveModel(opened));
  expect(operators.filter((operator) => operator.endsWith("Conv"))).toHaveLength(2);
  expect(operators).toContain("Conv");
});
