/** @file Recognisers over the zoo, in both exporters' forms, over small graphs, and over what must not be taken. */
import { describe, expect, it } from "vitest";
import { recognisers } from "../../../cuda-runtime/patterns/index.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { findAttention } from "../../../src/facts/attention.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import { modelFromBytes, openModel } from "../../../src/onnx/open.ts";
import { floats, info, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { isWholeZoo, zooNames as names, zooModel } from "../../zoo.ts";

type Counts = Readonly<Record<string, number>>;

/** Macros by name, and how many attentions src/facts finds. */
function countsOf(name: string): { readonly found: number; readonly macros: Counts } {
  using model = openModel(zooModel(name));
  const isSymbolic = model.graph.inputs.some(
    ({ declared }) => declared?.kind === "tensor" && declared.shape?.some((dim) => typeof dim !== "number"),
  );
  const { root } = inferFacts(model, isSymbolic ? { dims: new Map([["batch", 2]]) } : {});
  const macros: Record<string, number> = {};
  for (const recognise of recognisers) {
    for (const { name: kind } of recognise(root)) macros[kind] = (macros[kind] ?? 0) + 1;
  }
  return { found: findAttention(root).found.size, macros };
}

describe("the zoo", () => {
  const counted = new Map(names.map((name) => [name, countsOf(name)] as const));

  it("has all of its attention taken", () => {
    for (const [name, { found, macros }] of counted) {
      if (Object.keys(macros).length > 0) console.log(`${name}: ${JSON.stringify(macros)}`);
      expect([name, macros["Attention"] ?? 0]).toEqual([name, found]);
    }
    const total = [...counted.values()].reduce((sum, { found }) => sum + found, 0);
    expect(total).toBeGreaterThan(isWholeZoo ? 80 : 30);
  });

  it("is taken alike from both exporters", () => {
    const pairs = names.filter((name) => names.includes(`${name}_dynamo`));
    expect(pairs.length).toBeGreaterThan(isWholeZoo ? 10 : 3);
    for (const name of pairs) {
      expect([name, counted.get(`${name}_dynamo`)?.macros]).toEqual([name, counted.get(name)?.macros]);
    }
  });
});

const [batch, heads, length, size] = [2, 4, 48, 32];
const four = [batch, heads, length, size];
const scoreSizes = [batch, heads, length, length];

function scalar(name: string, value: number): types.ITensorProto {
  return floats(name, [], [value]);
}

function ints(name: string, values: readonly number[]) {
  return { name, type: 7, ints: [...values] };
}

function int(name: string, value: number) {
  return { name, type: 2, i: value };
}

interface Small {
  readonly node: types.INodeProto[];
  readonly initializer?: types.ITensorProto[];
  readonly input?: types.IValueInfoProto[];
  readonly output?: types.IValueInfoProto[];
  readonly functions?: types.IFunctionProto[];
}

/** Inputs q, k, v; output y, unless others are given. */
function launchesOf(small: Small) {
  const { node: nodes, initializer = [], input = [], output = [info("y", four)], functions = [] } = small;
  const graph = {
    node: nodes,
    initializer,
    input: [info("q", four), info("k", four), info("v", four), ...input],
    output,
  };
  using model = modelFromBytes(modelBytes(graph, { functions }));
  const weights = () => {
    throw new Error("planning reads no weights");
  };
  const { root } = inferFacts(model);
  const macros = recognisers.flatMap((recognise) => recognise(root).map(({ name }) => name));
  const plan = planModel({ model, precision: "fp16", weights });
  const entries = plan.steps.flatMap(({ action }) =>
    action.kind === "launch" ? [action.launch.kernel.entry.replace(/^chain_.*/, "chain")] : [],
  );
  return {
    macros,
    entries,
    attention: entries.filter((entry) => entry.startsWith("attention_")).map(withoutTile),
  };
}

/** Which tile takes it is the cost model's matter. */
function withoutTile(entry: string): string {
  return entry.replace(/_d\d+_(?:m\d|w4|h\dk\d+p?)_/, "_");
}

const swapKeys = node("Transpose", ["k"], ["kt"], { attribute: [ints("perm", [0, 1, 3, 2])] });
const product = node("MatMul", ["q", "kt"], ["s"]);
const softmaxOf = (from: string) => node("Softmax", [from], ["w"], { attribute: [int("axis", -1)] });
const weighted = node("MatMul", ["w", "v"], ["y"]);

describe("attention", () => {
  const between = (nodes: types.INodeProto[], rest: Omit<Small, "node"> = {}, last = "m") =>
    launchesOf({ ...rest, node: [swapKeys, product, ...nodes, softmaxOf(last), weighted] });
  const plain = "attention_f16_plain";
  const masked = "attention_f16_masked";

  it("is taken with scales anywhere", () => {
    const eighth = { initializer: [scalar("c", 0.125)] };
    expect(between([node("Mul", ["s", "c"], ["m"])], eighth).attention).toEqual([plain]);
    expect(between([node("Div", ["s", "c"], ["m"])], eighth).attention).toEqual([plain]);
    const before = launchesOf({
      ...eighth,
      node: [
        node("Mul", ["q", "c"], ["q2"]),
        swapKeys,
        node("Mul", ["c", "kt"], ["kt2"]),
        node("MatMul", ["q2", "kt2"], ["s"]),
        softmaxOf("s"),
        weighted,
      ],
    });
    expect(before).toMatchObject({ macros: ["Attention"], attention: [plain] });
  });

  it("is none where a function of the model has the name of an operator in it", () => {
    const softmax: types.IFunctionProto = {
      name: "Softmax",
      domain: "",
      input: ["v"],
      output: ["r"],
      node: [node("Tanh", ["v"], ["r"])],
      opsetImport: [{ domain: "", version: 17 }],
    };
    expect(between([], { functions: [softmax] }, "s")).toMatchObject({ macros: [], attention: [] });
    expect(between([], {}, "s").macros).toEqual(["Attention"]);
  });

  it("is taken with masks that are added or choose", () => {
    const mask = { input: [info("bias", [batch, 1, 1, length])] };
    expect(between([node("Add", ["bias", "s"], ["m"])], mask).attention).toEqual([masked]);
    const keep = {
      input: [info("keep", [length, length], 9)],
      initializer: [scalar("low", Number.NEGATIVE_INFINITY)],
    };
    expect(between([node("Where", ["keep", "s", "low"], ["m"])], keep).attention).toEqual([masked]);
    expect(between([node("Where", ["keep", "low", "s"], ["m"])], keep).attention).toEqual([masked]);
  });

  it("knows a triangle of constants", () => {
    const triangle = Array.from({ length: length * length }, (_, index) =>
      index % length > Math.floor(index / length) ? -1e9 : 0,
    );
    const causal = { initializer: [floats("bias", [length, length], triangle)] };
    expect(between([node("Add", ["s", "bias"], ["m"])], causal).attention).toEqual([plain]);
    const half = (lowest: number) => ({
      initializer: [
        floats(
          "f",
          [length, length],
          triangle.map((each) => (each === 0 ? 0 : lowest)),
        ),
      ],
    });
    // What --fix leaves of -1e9 in FP16. In FP32 such a number is no end of anything.
    const cast = [node("Cast", ["f"], ["h"], { attribute: [int("to", 10)] })];
    const scores = [node("Cast", ["s"], ["sh"], { attribute: [int("to", 10)] })];
    const back = node("Cast", ["mh"], ["m"], { attribute: [int("to", 1)] });
    const inHalf = [...cast, ...scores, node("Add", ["sh", "h"], ["mh"]), back];
    expect(between(inHalf, half(-32752)).attention).toEqual([plain]);
    expect(between(inHalf, half(-32000)).attention).toEqual([masked]);
    expect(between([node("Add", ["s", "f"], ["m"])], half(-32752)).attention).toEqual([masked]);
    const open = { initializer: [floats("bias", [length, length], triangle.with(1, 0))] };
    expect(between([node("Add", ["s", "bias"], ["m"])], open).attention).toEqual([masked]);
  });

  it("is taken with a cap, and with window masks on more axes", () => {
    const cap = { initializer: [scalar("c", 20)] };
    const capped = [
      node("Div", ["s", "c"], ["d"]),
      node("Tanh", ["d"], ["t"]),
      node("Mul", ["t", "c"], ["m"]),
    ];
    expect(between(capped, cap).attention).toEqual([masked]);
    const windows = [
      node("Add", ["s", "relative"], ["a"]),
      node("Reshape", ["a", "five"], ["b"]),
      node("Add", ["b", "window"], ["c"]),
      node("Reshape", ["c", "four"], ["m"]),
    ];
    const rest = {
      input: [info("relative", [1, heads, length, length]), info("window", [1, batch, 1, length, length])],
      initializer: [integers("five", [5], [1, ...scoreSizes]), integers("four", [4], scoreSizes)],
    };
    expect(between(windows, rest)).toMatchObject({ macros: ["Attention"], attention: [masked] });
  });

  it("is taken with keys swapped in a roundabout way, and with shared heads", () => {
    const roundabout = launchesOf({
      initializer: [
        integers("merged", [3], [batch * heads, length, size]),
        integers("apart", [4], [batch, heads, size, length]),
      ],
      node: [
        node("Reshape", ["k", "merged"], ["k3"]),
        node("Transpose", ["k3"], ["kt3"], { attribute: [ints("perm", [0, 2, 1])] }),
        node("Reshape", ["kt3", "apart"], ["kt"]),
        product,
        softmaxOf("s"),
        weighted,
      ],
    });
    expect(roundabout.attention).toEqual([plain]);
    const copy = (from: string, to: string) => [
      node("Unsqueeze", [from, "two"], [`${from}5`]),
      node("Expand", [`${from}5`, "wide"], [`${from}w`]),
      node("Reshape", [`${from}w`, "four"], [to]),
    ];
    const grouped = launchesOf({
      input: [info("ks", [batch, 2, length, size]), info("vs", [batch, 2, length, size])],
      initializer: [
        integers("two", [1], [2]),
        integers("wide", [5], [batch, 2, 2, length, size]),
        integers("four", [4], four),
      ],
      node: [
        ...copy("ks", "kk"),
        ...copy("vs", "vv"),
        node("Transpose", ["kk"], ["kt"], { attribute: [ints("perm", [0, 1, 3, 2])] }),
        product,
        softmaxOf("s"),
        node("MatMul", ["w", "vv"], ["y"]),
      ],
    });
    expect(grouped).toMatchObject({ macros: ["Attention"], attention: [plain] });
    expect(grouped.entries.filter((entry) => entry === "chain").length).toBeLessThanOrEqual(4);
  });

  it("is taken from Einsum, heads anywhere", () => {
    const equation = (text: string) => ({ attribute: [{ name: "equation", type: 3, s: Buffer.from(text) }] });
    const shape = [batch, length, heads, size];
    const { macros, attention } = launchesOf({
      input: [info("a", shape), info("b", shape), info("c", shape)],
      output: [info("y", shape)],
      node: [
        node("Einsum", ["a", "b"], ["s"], equation("bqhd,bkhd->bhqk")),
        softmaxOf("s"),
        node("Einsum", ["w", "c"], ["y"], equation("bhqk,bkhd->bqhd")),
      ],
    });
    expect({ macros, attention }).toEqual({ macros: ["Attention"], attention: [plain] });
  });

  it("is left alone where something is not understood, or read outside", () => {
    const none = { macros: [], attention: [] };
    const exponent = [node("Exp", ["s"], ["m"])];
    expect(between(exponent)).toMatchObject(none);
    const factor = { input: [info("f", [batch, heads, length, 1])] };
    expect(between([node("Mul", ["s", "f"], ["m"])], factor)).toMatchObject(none);
    const late = { input: [info("bias", [1, 1, length, length])], initializer: [scalar("c", 2)] };
    const maskThenScale = [node("Add", ["s", "bias"], ["a"]), node("Mul", ["a", "c"], ["m"])];
    expect(between(maskThenScale, late)).toMatchObject(none);
    expect(between([], { output: [info("y", four), info("w", scoreSizes)] }, "s")).toMatchObject(none);
    const keepThenAdd = [node("Where", ["keep", "s", "low"], ["a"]), node("Add", ["a", "bias"], ["m"])];
    const chosen = {
      input: [info("keep", [length, length], 9), info("bias", [1, 1, length, length])],
      initializer: [scalar("low", -100)],
    };
    expect(between(keepThenAdd, chosen)).toMatchObject(none);
  });
});

describe("normalizations of rows", () => {
  const one = { output: [info("y", four)], initializer: [scalar("two", 2), scalar("eps", 1e-5)] };
  const mean = (from: string, to: string) =>
    node("ReduceMean", [from], [to], { attribute: [ints("axes", [-1]), int("keepdims", 1)] });
  const layerNorm = (tail: types.INodeProto[], result: string) => [
    mean("q", "mean"),
    node("Sub", ["q", "mean"], ["d"]),
    node("Pow", ["d", "two"], ["p"]),
    mean("p", "var"),
    node("Add", ["var", "eps"], ["ve"]),
    node("Sqrt", ["ve"], ["root"]),
    node("Div", ["d", "root"], [result]),
    ...tail,
  ];

  it("are taken with scale and shift", () => {
    const tail = [node("Mul", ["n", "scale"], ["t"]), node("Add", ["shift", "t"], ["y"])];
    const vectors = [
      floats("scale", [size], new Array(size).fill(2)),
      floats("shift", [size], new Array(size).fill(1)),
    ];
    const { macros, entries } = launchesOf({
      ...one,
      node: layerNorm(tail, "n"),
      initializer: [...one.initializer, ...vectors],
    });
    expect(macros).toEqual(["LayerNormalization"]);
    expect(entries.filter((entry) => entry.startsWith("rownorm_"))).toHaveLength(1);
  });

  it("are taken as roots of mean squares", () => {
    const { macros } = launchesOf({
      ...one,
      node: [
        node("Mul", ["q", "q"], ["p"]),
        mean("p", "ms"),
        node("Add", ["eps", "ms"], ["ve"]),
        node("Sqrt", ["ve"], ["root"]),
        node("Reciprocal", ["root"], ["inverse"]),
        node("Mul", ["q", "inverse"], ["y"]),
      ],
    });
    expect(macros).toEqual(["RMSNormalization"]);
  });

  it("leave factors of other axes outside, and the mean where it is read", () => {
    const input = [info("gate", [batch, heads, length, 1])];
    const gated = launchesOf({ ...one, input, node: layerNorm([node("Mul", ["n", "gate"], ["y"])], "n") });
    expect(gated.macros).toEqual(["LayerNormalization"]);
    const output = [info("y", four), info("mean", [batch, heads, length, 1])];
    expect(launchesOf({ ...one, output, node: layerNorm([], "y") }).macros).toEqual(["RMSNormalization"]);
  });
});

describe("normalizations of groups", () => {
  const [channels, groups] = [heads, 2];
  const vector = (name: string, count: number, value: number) =>
    floats(name, [count], new Array(count).fill(value));
  const perChannel = (name: string) => floats(name, [channels, 1, 1], [1, 2, 3, 4]);
  const shapes = [
    integers("split", [3], [batch, groups, (channels / groups) * length * size]),
    integers("whole", [4], four),
  ];
  const body = (output: string) => [
    node("Reshape", ["q", "split"], ["g"]),
    node("InstanceNormalization", ["g", "ones", "zeros"], ["i"]),
    node("Reshape", ["i", "whole"], ["r"]),
    node("Mul", ["r", "scale"], ["m"]),
    node("Add", ["m", "shift"], [output]),
  ];
  const neutral = [
    ...shapes,
    vector("ones", groups, 1),
    vector("zeros", groups, 0),
    perChannel("scale"),
    perChannel("shift"),
  ];

  it("are taken with what follows them", () => {
    const silu = [node("Sigmoid", ["a"], ["gate"]), node("Mul", ["a", "gate"], ["y"])];
    const { macros, entries } = launchesOf({ node: [...body("a"), ...silu], initializer: neutral });
    expect(macros).toEqual(["GroupNormalization"]);
    expect(entries.filter((entry) => entry.startsWith("groupnorm_"))).toHaveLength(1);
    expect(launchesOf({ node: body("y"), initializer: neutral }).macros).toEqual(["GroupNormalization"]);
  });

  it("keep parameters of groups apart from those of channels", () => {
    const own = [
      ...shapes,
      vector("ones", groups, 3),
      vector("zeros", groups, 1),
      perChannel("scale"),
      perChannel("shift"),
    ];
    const { macros, entries } = launchesOf({ node: body("y"), initializer: own });
    expect(macros).toEqual(["GroupNormalization"]);
    expect(entries.filter((entry) => entry === "chain").length).toBeGreaterThan(0);
  });
});
