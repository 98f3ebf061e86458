/** @file Models that data decides about: segments, and the host's work between them. */
import { describe, expect, test, vi } from "vitest";
import { programOf as programOfModel } from "../../../cuda-runtime/plan/build.ts";
import { foresee } from "../../../cuda-runtime/plan/foresee.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, int64, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { attribute } from "../small-plan.ts";
import { CpuProgram } from "./program-machine.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (original) => {
  const real = await original<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("./machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

const bool = 9;
const yes: types.ITensorProto = { name: "yes", dims: [], dataType: bool, int32Data: [1] };

function programOf(graph: types.IGraphProto, rest: types.IModelProto = {}): CpuProgram {
  return new CpuProgram(modelFromBytes(modelBytes(graph, rest)));
}

const graphOf = (name: string, g: types.IGraphProto): types.IAttributeProto => ({
  name,
  type: 5,
  g: { name, ...g },
});

describe("NonZero of what the GPU computes", () => {
  const graph: types.IGraphProto = {
    node: [
      node("Relu", ["x"], ["r"]),
      node("NonZero", ["r"], ["at"]),
      node("Shape", ["at"], ["shape"]),
      node("Cast", ["at"], ["numbers"], { attribute: [attribute("to", 1)] }),
      node("Add", ["numbers", "one"], ["y"]),
    ],
    initializer: [floats("one", [], [1])],
    input: [info("x", [2, 3])],
    output: [info("y", ["r", "n"]), info("shape", [2], int64), info("at", ["r", "n"], int64)],
  };

  test("is found by the host, and the rest is planned for the size", () => {
    const program = programOf(graph);
    expect(program.run({ x: [-1, 2, 0, 3, -4, 5] })).toEqual({
      y: { shape: [2, 3], values: [1, 2, 2, 2, 1, 3] },
      shape: { shape: [2], values: [2, 3] },
      at: { shape: [2, 3], values: [0, 1, 1, 1, 0, 2] },
    });
    expect(program.device.plans).toHaveLength(2);
  });

  test("of a size that was planned before plans nothing, of none has no elements", () => {
    const program = programOf(graph);
    for (const x of [
      [1, 1, 0, 0, 0, 0],
      [0, 0, 0, 0, 1, 1],
      [0, 0, 0, 0, 0, 0],
      [0, 1, 0, 0, 0, 1],
    ])
      program.run({ x });
    expect(program.device.plans).toHaveLength(3);
    expect(program.run({ x: [-1, -1, -1, -1, -1, -1] })).toMatchObject({ y: { shape: [2, 0], values: [] } });
  });
});

describe("sizes that the GPU computes", () => {
  test("are read, and known from then on", () => {
    const program = programOf({
      node: [
        node("Add", ["k", "k"], ["twice"]),
        node("Mul", ["x", "x"], ["square"]),
        node("Expand", ["square", "twice"], ["y"]),
      ],
      input: [info("k", [1], int64), info("x", [1])],
      output: [info("y", ["n"])],
    });
    expect(program.run({ k: [2], x: [3] })).toEqual({ y: { shape: [4], values: [9, 9, 9, 9] } });
    expect(program.run({ k: [1], x: [2] })).toEqual({ y: { shape: [2], values: [4, 4] } });
  });
});

describe("an If that data decides", () => {
  const branch = (name: string, nodes: types.INodeProto[]) =>
    graphOf(name, { node: nodes, output: [info("out", ["n"])] });
  const graph: types.IGraphProto = {
    node: [
      node("Mul", ["x", "two"], ["h"]),
      node("Greater", ["c", "zero"], ["isLarge"]),
      node("If", ["isLarge"], ["picked"], {
        name: "if",
        attribute: [
          branch("then_branch", [node("Add", ["h", "one"], ["out"])]),
          branch("else_branch", [node("Concat", ["h", "h"], ["out"], { attribute: [attribute("axis", 0)] })]),
        ],
      }),
      node("Neg", ["picked"], ["y"]),
    ],
    initializer: [floats("one", [], [1]), floats("two", [], [2]), floats("zero", [], [0])],
    input: [info("x", [2]), info("c", [])],
    output: [info("y", ["n"])],
  };

  test("runs the branch that is chosen, which may have a shape of its own", () => {
    const program = programOf(graph);
    expect(program.run({ x: [1, 2], c: [1] })).toEqual({ y: { shape: [2], values: [-3, -5] } });
    expect(program.run({ x: [1, 2], c: [-1] })).toEqual({ y: { shape: [4], values: [-2, -4, -2, -4] } });
    expect(program.device.log.filter((entry) => entry === "launch")).toHaveLength(4);
  });
});

describe("a Loop that data ends", () => {
  const counted = [info("i", [], int64), info("go", [], bool)];
  const body: types.IGraphProto = {
    node: [
      node("Identity", ["go"], ["goOn"]),
      node("Cast", ["i"], ["at"], { attribute: [attribute("to", 1)] }),
      node("Add", ["h", "h"], ["twice"]),
      node("Add", ["twice", "at"], ["next"]),
      node("Identity", ["next"], ["seen"]),
    ],
    input: [...counted, info("h", [2])],
    output: [info("goOn", [], bool), info("next", [2]), info("seen", [2])],
  };
  const loop = (inputs: string[], outputs: string[], g: types.IGraphProto) =>
    node("Loop", inputs, outputs, { name: "loop", attribute: [graphOf("body", g)] });

  test("runs as often as its trip count says, one plan for all iterations", () => {
    const program = programOf({
      node: [
        node("Add", ["m", "none"], ["trips"]),
        loop(["trips", "yes", "x"], ["last", "all"], body),
        node("Neg", ["all"], ["y"]),
      ],
      initializer: [integers("none", [], [0]), yes],
      input: [info("m", [], int64), info("x", [2])],
      output: [info("last", [2]), info("y", ["n", 2])],
    });
    expect(program.run({ m: [3], x: [1, -1] })).toEqual({
      last: { shape: [2], values: [12, -4] },
      y: { shape: [3, 2], values: [-2, 2, -5, 3, -12, 4] },
    });
    const { length } = program.device.plans;
    expect(program.run({ m: [3], x: [0, 1] })).toMatchObject({ last: { values: [4, 12] } });
    expect(program.device.plans).toHaveLength(length);
    expect(program.run({ m: [0], x: [0, 1] })).toMatchObject({
      last: { shape: [2], values: [0, 1] },
      y: { shape: [0, 2], values: [] },
    });
  });

  test("runs until its condition says so, and stacks what it made", () => {
    const until: types.IGraphProto = {
      node: [
        node("Add", ["h", "h"], ["next"]),
        node("Less", ["next", "limit"], ["goOn"]),
        node("Add", ["next", "outer"], ["seen"]),
      ],
      input: [...counted, info("h", [])],
      output: [info("goOn", [], bool), info("next", []), info("seen", [])],
    };
    const program = programOf({
      node: [node("Neg", ["x"], ["outer"]), loop(["", "yes", "x"], ["last", "all"], until)],
      initializer: [floats("limit", [], [20]), yes],
      input: [info("x", [])],
      output: [info("last", []), info("all", ["n"])],
    });
    expect(program.run({ x: [3] })).toEqual({
      last: { shape: [], values: [24] },
      all: { shape: [3], values: [3, 9, 21] },
    });
    expect(program.run({ x: [15] })).toMatchObject({ all: { shape: [1], values: [15] } });
  });

  test("swaps what it carries", () => {
    const swap: types.IGraphProto = {
      node: [node("Identity", ["go"], ["goOn"])],
      input: [...counted, info("a", [2]), info("b", [2])],
      output: [info("goOn", [], bool), info("b", [2]), info("a", [2])],
    };
    const program = programOf({
      node: [
        node("Add", ["m", "none"], ["trips"]),
        node("Neg", ["x"], ["minus"]),
        loop(["trips", "yes", "x", "minus"], ["p", "q"], swap),
      ],
      initializer: [integers("none", [], [0]), yes],
      input: [info("m", [], int64), info("x", [2])],
      output: [info("p", [2]), info("q", [2])],
    });
    expect(program.run({ m: [3], x: [1, 2] })).toMatchObject({
      p: { values: [-1, -2] },
      q: { values: [1, 2] },
    });
    expect(program.run({ m: [2], x: [1, 2] })).toMatchObject({
      p: { values: [1, 2] },
      q: { values: [-1, -2] },
    });
  });
});

describe("what a program will take", () => {
  test("is told without data: sizes at their largest, the host's work between the graphs", () => {
    using model = modelFromBytes(
      modelBytes({
        node: [node("Relu", ["x"], ["r"]), node("NonZero", ["r"], ["at"]), node("Neg", ["at"], ["y"])],
        input: [info("x", [2, 3])],
        output: [info("y", [2, "n"], int64)],
      }),
    );
    const parts = foresee(programOfModel({ model, precision: "fp32", weights: weightsOf(model) }));
    expect(
      parts.map((part) => (part.kind === "segment" ? part.plan.outputs[0]?.view.shape : part.kind)),
    ).toEqual([[2, 3], "host", [2, 6]]);
    expect(parts[1]).toMatchObject({ bytes: 24, detail: "computed by the host" });
  });

  test("ends where elements decide that nobody can tell", () => {
    using model = modelFromBytes(
      modelBytes({
        node: [node("Add", ["k", "k"], ["twice"]), node("Expand", ["x", "twice"], ["y"])],
        input: [info("k", [1], int64), info("x", [1])],
        output: [info("y", ["n"])],
      }),
    );
    const parts = foresee(programOfModel({ model, precision: "fp32", weights: weightsOf(model) }));
    expect(parts.at(-1)).toMatchObject({ kind: "open", reason: 'reads "twice", which data decides' });
  });
});
