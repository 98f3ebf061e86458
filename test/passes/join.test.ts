/** GELU that is written as arithmetic is one Gelu, and nothing else is; ONNX Runtime says what both compute. */
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { writtenGelu } from "../../fixtures/layers.ts";
import { type FixedModel, type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { runToFixedPoint } from "../../src/fix/rounds.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { dtypes } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { join } from "../../src/passes/join/join.ts";
import { settingsFor } from "../fix/models.ts";
import { bytesOfModel, difference, operators, run } from "./folding.ts";

type Build = (graph: GraphBuilder, x: string) => string;

/** x [3,8] → what `build` says → y. */
function modelOf(build: Build, more: Partial<ModelOptions> = {}): Uint8Array {
  return model({ name: "gelu", opset: 20, ...more }, (graph) => {
    const y = build(graph, graph.input("x", [3, 8]));
    graph.node("Identity", [y], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

function joined(bytes: Uint8Array, more: Partial<FixSettings> = {}): FixedModel {
  return runPasses(modelFromBytes(bytes), { ...settingsFor([join]), ...more });
}

/** Everything that has an effect: large and small, of both signs, zeros and what is none. */
const feeds = {
  x: new Tensor(
    "float32",
    Float32Array.from({ length: 24 }, (_, at) => [0, -0.75, 1e-3, 3, -3, 12, -12, 0.5][at % 8] ?? 0).map(
      (value, at) => value * (1 + at / 24),
    ),
    [3, 8],
  ),
};

const times = (graph: GraphBuilder, a: string, b: string) => graph.node("Mul", [a, b]);
const erf = (graph: GraphBuilder, x: string) =>
  graph.node("Erf", [times(graph, x, graph.scalar(Math.SQRT1_2))]);
const oneMore = (graph: GraphBuilder, y: string) => graph.node("Add", [graph.scalar(1), y]);
const tanh = (graph: GraphBuilder, x: string, cube = times(graph, times(graph, x, x), x)) => {
  const cubic = graph.node("Add", [x, times(graph, cube, graph.scalar(0.044715))]);
  return graph.node("Tanh", [times(graph, cubic, graph.scalar(Math.sqrt(2 / Math.PI)))]);
};

const forms: Readonly<Record<string, readonly [form: "none" | "tanh", Build]>> = {
  "erf, as PyTorch writes it": ["none", (graph, x) => writtenGelu(graph, x, "erf")],
  "tanh, as PyTorch writes it": ["tanh", (graph, x) => writtenGelu(graph, x, "tanh")],
  "half of the distribution function": [
    "none",
    (graph, x) => times(graph, x, times(graph, oneMore(graph, erf(graph, x)), graph.scalar(0.5))),
  ],
  "halved by a division": [
    "none",
    (graph, x) => graph.node("Div", [times(graph, oneMore(graph, erf(graph, x)), x), graph.scalar(2)]),
  ],
  "half of x first": [
    "none",
    (graph, x) => times(graph, graph.node("Div", [x, graph.scalar(2)]), oneMore(graph, erf(graph, x))),
  ],
  "tanh of a cube of products": [
    "tanh",
    (graph, x) => times(graph, times(graph, graph.scalar(0.5), x), oneMore(graph, tanh(graph, x))),
  ],
  "tanh of x by a square": [
    "tanh",
    (graph, x) => {
      const square = graph.node("Pow", [x, graph.scalar(2)]);
      const factor = graph.node("Add", [times(graph, square, graph.scalar(0.044715)), graph.scalar(1)]);
      const inner = times(graph, times(graph, x, graph.scalar(Math.sqrt(2 / Math.PI))), factor);
      return times(graph, times(graph, oneMore(graph, graph.node("Tanh", [inner])), x), graph.scalar(0.5));
    },
  ],
  "with numbers of one axis, and of Constants": [
    "none",
    (graph, x) => {
      const number = (value: number) => graph.node("Constant", [], { value_floats: { floats: [value] } });
      const inner = graph.node("Erf", [graph.node("Div", [x, number(Math.SQRT2)])]);
      const plus = graph.node("Add", [inner, number(1)]);
      return times(graph, times(graph, x, plus), number(0.5));
    },
  ],
};

describe("GELU that is written out", () => {
  it.each(Object.entries(forms))("is one Gelu: %s", async (_, [approximate, build]) => {
    const bytes = modelOf(build);
    const { model: after, notes, parts, rewritten } = joined(bytes);
    expect(operators(after)).toEqual(["Gelu", "Identity"]);
    const gelu = after.graph.nodes.find(({ opType }) => opType === "Gelu");
    expect(gelu?.attributes).toEqual([
      { name: "approximate", value: { type: "string", value: approximate } },
    ]);
    expect(notes.map(({ message }) => message)).toEqual([`${rewritten.size} nodes joined to 1 Gelu`]);
    expect([...(parts.get("join") ?? [])]).toHaveLength(1);
    expect(difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds))).toBeLessThan(1e-6);
  });

  it("is one in half, which is as near to GELU as half can say", async () => {
    const half = (graph: GraphBuilder, x: string) => {
      const number = (value: number) => graph.scalar(value, "float16");
      const plus = graph.node("Add", [
        graph.node("Erf", [graph.node("Div", [x, number(Math.SQRT2)])]),
        number(1),
      ]);
      return times(graph, times(graph, x, plus), number(0.5));
    };
    const to = (graph: GraphBuilder, x: string, dtype: "float16" | "float32") =>
      graph.node("Cast", [x], { to: dtypes[dtype].code });
    const bytes = modelOf((graph, x) => to(graph, half(graph, to(graph, x, "float16")), "float32"));
    const { model: after } = joined(bytes);
    expect(operators(after)).toEqual(["Cast", "Gelu", "Cast", "Identity"]);
    // Eighths are halves.
    const values = Array.from({ length: 24 }, (_, at) => (at - 12) / 8);
    const eighths = { x: new Tensor("float32", Float32Array.from(values), [3, 8]) };
    const exact = await run(
      modelOf((graph, x) => graph.node("Gelu", [x])),
      eighths,
    );
    expect(difference(exact, await run(bytesOfModel(after), eighths))).toBeLessThan(2 ** -11);
  });

  it("raises the opset where all nodes mean the same, and the IR version that it was released with", async () => {
    const bytes = modelOf((graph, x) => writtenGelu(graph, x, "erf"), { opset: 17, irVersion: 8 });
    const { model: after, notes } = joined(bytes);
    expect([after.opsets.get(""), after.irVersion, operators(after)]).toEqual([20, 9, ["Gelu", "Identity"]]);
    expect(notes[0]?.message).toBe(
      "5 nodes joined to 1 Gelu; opset 17 → 20, where every node of the model means the same",
    );
    expect(difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds))).toBeLessThan(1e-6);
  });

  it("changes nothing a second time, and leaves no constant that nobody reads", () => {
    const bytes = modelOf((graph, x) => writtenGelu(graph, x, "tanh"), { opset: 17 });
    const settings = settingsFor([fold, join]);
    const once = runToFixedPoint(modelFromBytes(bytes), settings);
    expect([...once.model.graph.values.values()].filter(({ initializer }) => initializer)).toEqual([]);
    expect(runToFixedPoint(once.model, settings).changed).toBe(false);
  });

  it("leaves out what is asked for", () => {
    const bytes = modelOf((graph, x) => writtenGelu(graph, writtenGelu(graph, x, "erf"), "tanh"));
    const [first] = joined(bytes).parts.get("join") ?? [];
    const leaveOut = (pass: string, part: string | undefined) =>
      pass === "join" && part === first ? "it is another function" : undefined;
    const { model: after, parts } = joined(bytes, { leaveOut });
    expect([...(parts.get("join") ?? [])]).not.toContain(first);
    expect(operators(after).filter((type) => type === "Gelu")).toHaveLength(1);
  });
});

describe("GELU is left alone", () => {
  const withNumbers =
    (inner: number, one = 1, half = 0.5) =>
    (graph: GraphBuilder, x: string) => {
      const product = graph.node("Erf", [times(graph, x, graph.scalar(inner))]);
      const plus = graph.node("Add", [product, graph.scalar(one)]);
      return times(graph, times(graph, x, plus), graph.scalar(half));
    };
  const cases: Readonly<Record<string, Build>> = {
    "with another number inside": withNumbers(Math.SQRT1_2 * (1 + 5e-6)),
    "with 1.702, as of a quick one": withNumbers(1.702),
    "of minus x": withNumbers(-Math.SQRT1_2),
    "with other numbers behind": withNumbers(Math.SQRT1_2, 1.001),
    "and not halved": withNumbers(Math.SQRT1_2, 1, 0.25),
    "with another cubic": (graph, x) => {
      const inner = graph.node("Tanh", [times(graph, x, graph.scalar(Math.sqrt(2 / Math.PI)))]);
      return times(graph, times(graph, x, graph.scalar(0.5)), oneMore(graph, inner));
    },
    "with erf of a cubic": (graph, x) => {
      const cubic = graph.node("Add", [
        x,
        times(graph, times(graph, times(graph, x, x), x), graph.scalar(0.044715)),
      ]);
      const inner = graph.node("Erf", [times(graph, cubic, graph.scalar(Math.sqrt(2 / Math.PI)))]);
      return times(graph, times(graph, x, graph.scalar(0.5)), oneMore(graph, inner));
    },
    "of something else than its gate": (graph, x) =>
      times(graph, times(graph, graph.node("Relu", [x]), oneMore(graph, erf(graph, x))), graph.scalar(0.5)),
    "with a number of more axes than x": (graph, x) => {
      const plus = graph.node("Add", [erf(graph, x), graph.weight([1, 1, 1], { values: [1] })]);
      return graph.node("Squeeze", [
        times(graph, times(graph, x, plus), graph.scalar(0.5)),
        graph.weight([1], { dtype: "int64", values: [0] }),
      ]);
    },
    "with a number that callers may give": (graph, x) => {
      const one = graph.weight([], { values: [1], name: "one" });
      graph.input("one", []);
      const plus = graph.node("Add", [erf(graph, x), one]);
      return times(graph, times(graph, x, plus), graph.scalar(0.5));
    },
    "where an output is in between": (graph, x) => {
      const inner = erf(graph, x);
      graph.output(inner);
      return times(graph, times(graph, x, oneMore(graph, inner)), graph.scalar(0.5));
    },
    "where another node reads what is in between": (graph, x) => {
      const plus = oneMore(graph, erf(graph, x));
      return graph.node("Add", [
        times(graph, times(graph, x, plus), graph.scalar(0.5)),
        graph.node("Relu", [plus]),
      ]);
    },
    "where a body reads what is in between": (graph, x) => {
      const inner = erf(graph, x);
      const y = times(graph, times(graph, x, oneMore(graph, inner)), graph.scalar(0.5));
      const [yes, no] = [graph.inner("yes"), graph.inner("no")];
      yes.output(yes.node("Relu", [inner]));
      no.output(no.node("Neg", [y]));
      return graph.node("If", [graph.scalar(1, "bool")], {
        then_branch: { graph: yes },
        else_branch: { graph: no },
      });
    },
  };

  it.each(Object.entries(cases))("%s", async (_, build) => {
    const bytes = modelOf(build, { opset: 20 });
    await run(bytes, feeds);
    const { changed, notes } = joined(bytes);
    expect([changed, notes]).toEqual([false, []]);
  });

  it("where the stack joins it itself", () => {
    const bytes = modelOf((graph, x) => writtenGelu(graph, x, "erf"));
    for (const stack of Object.values(stacks)) {
      const target = { ...settingsFor().target, stack };
      expect(joined(bytes, { target }).changed).toBe(stack.fuses.elementwise === "none");
    }
  });

  it.each<[string, RegExp, number, Build]>([
    ["too old an opset", /opset 11 is not raised: only opset 13 and later are$/, 11, (_, x) => x],
    [
      "a node that has another meaning",
      /^1 Gelu stays written out: it needs opset 20, and this model's opset 15 is not raised: GridSample|MaxPool "\w+" is not known to mean the same/,
      15,
      (graph, x) => {
        const image = graph.node("Reshape", [x, graph.weight([4], { dtype: "int64", values: [1, 1, 3, 8] })]);
        const pool = graph.node("MaxPool", [image], {
          kernel_shape: [3, 3],
          strides: [2, 2],
          pads: [1, 1, 1, 1],
          ceil_mode: 1,
        });
        return graph.node("Add", [x, graph.node("ReduceMax", [pool])]);
      },
    ],
  ])("in a file with %s, and says so", (_, message, opset, before) => {
    const bytes = modelOf((graph, x) => writtenGelu(graph, before(graph, x), "erf"), { opset });
    const { changed, notes } = joined(bytes);
    expect([changed, notes.map(({ kind }) => kind)]).toEqual([false, ["blocked"]]);
    expect(notes[0]?.message).toMatch(message);
  });
});
