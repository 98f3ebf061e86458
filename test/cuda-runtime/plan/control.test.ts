/** @file Loops, scans and branches as parts of a plan: what they compute, and what is refused by which name. */

import { describe, expect, test, vi } from "vitest";
import { type Plan, PlanError, touched } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, int64, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { attribute, attributes, familiesOf, launchesOf, weight } from "../small-plan.ts";
import { runPlan } from "./machine.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (original) => {
  const real = await original<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("./machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

const bool = 9;
const yes: types.ITensorProto = { name: "yes", dims: [], dataType: bool, int32Data: [1] };

function planned(graph: types.IGraphProto, opset = 17): Plan {
  using model = modelFromBytes(modelBytes(graph, { opsetImport: [{ domain: "", version: opset }] }));
  return planModel({ model, precision: "fp32", weights: weightsOf(model) });
}

function refusal(graph: types.IGraphProto): string {
  try {
    planned(graph);
  } catch (error) {
    if (error instanceof PlanError) return error.message;
    throw error;
  }
  return "nothing";
}

const graphOf = (name: string, g: types.IGraphProto): types.IAttributeProto => ({
  name,
  type: 5,
  g: { name, ...g },
});
const loop = (inputs: string[], outputs: string[], body: types.IGraphProto) =>
  node("Loop", inputs, outputs, { name: "loop", attribute: [graphOf("body", body)] });
const scan = (
  inputs: string[],
  outputs: string[],
  body: types.IGraphProto,
  more: types.IAttributeProto[] = [],
) => node("Scan", inputs, outputs, { name: "scan", attribute: [graphOf("body", body), ...more] });
const counted = [info("i", [], int64), info("go", [], bool)];
const keepsGoing = node("Identity", ["go"], ["goOn"]);
const number = (name: string, value: number) => integers(name, [], [value]);

/** h ← h · 2 + i, and h of every iteration; `m` is the trip count. */
const doubling: types.IGraphProto = {
  node: [
    keepsGoing,
    node("Cast", ["i"], ["at"], { attribute: [attribute("to", 1)] }),
    node("Add", ["h", "h"], ["twice"]),
    node("Add", ["twice", "at"], ["next"]),
    node("Identity", ["next"], ["seen"]),
  ],
  input: [...counted, info("h", [2])],
  output: [info("goOn", [], bool), info("next", [2]), info("seen", [2])],
};

describe("a Loop", () => {
  const forLoop = (trips: number): types.IGraphProto => ({
    node: [loop(["m", "yes", "x"], ["last", "all"], doubling)],
    initializer: [number("m", trips), yes],
    input: [info("x", [2])],
    output: [info("last", [2]), info("all", [trips, 2])],
  });

  test("of a known count runs its body that often, the number of the iteration known", () => {
    expect(runPlan(planned(forLoop(3)), { x: [1, -1] })).toEqual({
      last: [12, -4],
      all: [2, -2, 5, -3, 12, -4],
    });
  });

  test("that never runs hands on what it was given", () => {
    expect(runPlan(planned(forLoop(0)), { x: [1, -1] })).toEqual({ last: [1, -1], all: [] });
  });

  test("writes slices where they belong", () => {
    const { steps, outputs } = planned(forLoop(3));
    // One step an iteration, and one for the output that is the last slice of the other.
    expect(familiesOf(steps)).toEqual(["chain", "chain", "chain", "chain"]);
    const [first, second, third] = launchesOf(steps).map(({ writes }) => writes[0]);
    expect([first?.offset, second?.offset, third?.offset]).toEqual([0, 2, 4]);
    expect(new Set([first?.buffer, second?.buffer, third?.buffer]).size).toBe(1);
    expect(outputs.map(({ view }) => view.shape)).toEqual([[2], [3, 2]]);
  });

  test("ends when its condition does, where that can be told", () => {
    const body: types.IGraphProto = {
      node: [
        node("Add", ["n", "n"], ["more"]),
        node("Less", ["more", "limit"], ["goOn"]),
        node("Concat", ["h", "x"], ["next"], { attribute: [attribute("axis", 0)] }),
      ],
      input: [...counted, info("n", [], int64), info("h", [undefined])],
      output: [info("goOn", [], bool), info("more", [], int64), info("next", [undefined])],
    };
    // 1, 2, 4, 8: three iterations, each with another shape.
    const plan = planned({
      node: [loop(["", "yes", "one", "x"], ["n", "y"], body)],
      initializer: [yes, number("one", 1), number("limit", 8)],
      input: [info("x", [2])],
      output: [info("n", [], int64), info("y", [8])],
    });
    expect(runPlan(plan, { x: [3, 4] })).toEqual({ n: [8], y: [3, 4, 3, 4, 3, 4, 3, 4] });
  });

  test("reads what is around it, stored once", () => {
    const body: types.IGraphProto = {
      node: [keepsGoing, node("Mul", ["h", "e"], ["next"])],
      input: [...counted, info("h", [2])],
      output: [info("goOn", [], bool), info("next", [2])],
    };
    const plan = planned({
      node: [node("Abs", ["x"], ["e"]), loop(["m", "yes", "x"], ["y"], body)],
      initializer: [number("m", 3), yes],
      input: [info("x", [2])],
      output: [info("y", [2])],
    });
    expect(runPlan(plan, { x: [-2, 3] })).toEqual({ y: [-16, 81] });
    expect(plan.steps.filter(({ label }) => label === "Abs(e)")).toHaveLength(1);
  });

  test("takes one branch in some iterations and the other in the rest", () => {
    const isFirst: types.INodeProto[] = [
      node("Equal", ["i", "zero"], ["isFirst"]),
      node("If", ["isFirst"], ["next"], {
        attribute: [
          graphOf("then_branch", { node: [node("Neg", ["h"], ["a"])], output: [info("a", [2])] }),
          graphOf("else_branch", { node: [node("Add", ["h", "x"], ["b"])], output: [info("b", [2])] }),
        ],
      }),
    ];
    const body: types.IGraphProto = {
      node: [keepsGoing, ...isFirst],
      input: [...counted, info("h", [2])],
      output: [info("goOn", [], bool), info("next", [2])],
    };
    const plan = planned({
      node: [loop(["m", "yes", "x"], ["y"], body)],
      initializer: [number("m", 4), number("zero", 0), yes],
      input: [info("x", [2])],
      output: [info("y", [2])],
    });
    expect(runPlan(plan, { x: [1, 5] })).toEqual({ y: [2, 10] });
  });

  test("keeps weights of the body once, packed once", () => {
    const body: types.IGraphProto = {
      node: [
        keepsGoing,
        node("Gemm", ["h", "w", "b"], ["s"], { attribute: [attribute("transB", 1)] }),
        node("Tanh", ["s"], ["next"]),
      ],
      initializer: [weight("w", [37, 37]), weight("b", [37])],
      input: [...counted, info("h", [4, 37])],
      output: [info("goOn", [], bool), info("next", [4, 37])],
    };
    const sizes = [2, 9].map((trips) => {
      const { uploads, prepare, steps } = planned({
        node: [loop(["m", "yes", "x"], ["y"], body)],
        initializer: [number("m", trips), yes],
        input: [info("x", [4, 37])],
        output: [info("y", [4, 37])],
      });
      return {
        uploads: uploads.length,
        prepare: prepare.length,
        products: steps.filter(({ operator }) => operator === "Gemm").length,
      };
    });
    expect(sizes.map(({ products }) => products)).toEqual([2, 9]);
    expect(sizes[0]).toEqual({ ...sizes[1], products: 2 });
  });

  test("names a trip count that depends on data", () => {
    const graph: types.IGraphProto = { ...forLoop(3), initializer: [yes] };
    const open = { ...graph, input: [info("x", [2]), info("m", [], int64)], output: [info("last", [2])] };
    expect(refusal(open)).toBe(
      'node "loop" (Loop): its trip count ("m") has to be known while planning, and depends on data',
    );
  });

  test("says how large it is where that is too large", () => {
    expect(refusal(forLoop(1_000_000))).toBe(
      'node "loop" (Loop): unrolls to 1,000,000 iterations of 6 nodes; a plan holds up to 50,000 nodes of unrolled loops',
    );
    const forever = loop(["", "yes", "x"], ["last"], {
      ...doubling,
      output: doubling.output?.slice(0, 2) ?? [],
    });
    expect(refusal({ ...forLoop(0), node: [forever], output: [info("last", [2])] })).toMatch(
      /^node "loop" \(Loop\): unrolls to 8,334 iterations of 6 nodes; /,
    );
  });
});

describe("a Loop that data ends", () => {
  /** h ← h · 2 while every element is below 10, at most five times. */
  const body: types.IGraphProto = {
    node: [
      node("Add", ["h", "h"], ["next"]),
      node("ReduceMax", ["next"], ["most"], { attribute: [attribute("keepdims", 0)] }),
      node("Less", ["most", "ten"], ["goOn"]),
    ],
    input: [...counted, info("h", [1])],
    output: [info("goOn", [], bool), info("next", [1])],
  };
  const graph = (inputs: string[]): types.IGraphProto => ({
    node: [loop(inputs, ["y"], body)],
    initializer: [number("m", 5), floats("ten", [], [10]), yes],
    input: [info("x", [1])],
    output: [info("y", [1])],
  });

  test("runs as often as it may, and counts only while the condition holds", () => {
    const small: types.IGraphProto = {
      ...body,
      node: [node("Add", ["h", "h"], ["next"]), node("Less", ["next", "ten"], ["goOn"])],
    };
    const plan = planned({ ...graph(["m", "yes", "x"]), node: [loop(["m", "yes", "x"], ["y"], small)] });
    expect([1, 3, 20, -1].map((x) => runPlan(plan, { x: [x] })["y"])).toEqual([[16], [12], [40], [-32]]);
  });

  test("is refused where nothing else ends it, by the name of the condition", () => {
    expect(refusal(graph(["", "yes", "x"]))).toBe(
      'node "loop" (Loop): its condition ("goOn" of iteration 0) has to be known while planning, and depends on data: nothing else ends the loop',
    );
  });

  test("is refused where it may run for long", () => {
    const long = {
      ...graph(["m", "yes", "x"]),
      initializer: [number("m", 2 ** 40), floats("ten", [], [10]), yes],
    };
    expect(refusal(long)).toBe(
      'node "loop" (Loop): unrolls to 1,099,511,627,776 iterations of 4 nodes, as its condition ("goOn" of iteration 0) depends on data; a plan holds up to 50,000 nodes of unrolled loops',
    );
  });

  test("is refused where it decides about a shape", () => {
    const growing: types.IGraphProto = {
      ...body,
      node: [
        node("Concat", ["h", "x"], ["next"], { attribute: [attribute("axis", 0)] }),
        ...(body.node?.slice(1) ?? []),
      ],
      input: [...counted, info("h", [undefined])],
      output: [info("goOn", [], bool), info("next", [undefined])],
    };
    const open = { ...graph([]), node: [loop(["m", "yes", "x"], ["y"], growing)] };
    expect(refusal({ ...open, output: [info("y", [undefined])] })).toBe(
      'node "loop" (Loop): its condition ("goOn" of iteration 0) has to be known while planning, and depends on data: it decides whether "next" is float32[2] or float32[3]',
    );
  });

  test("is refused where it decides how much comes out", () => {
    const scanning = { ...body, output: [...(body.output ?? []), info("next", [1])] };
    const open = { ...graph([]), node: [loop(["m", "yes", "x"], ["y", "all"], scanning)] };
    expect(refusal({ ...open, output: [info("all", [undefined, 1])] })).toBe(
      'node "loop" (Loop): its condition ("goOn" of iteration 0) has to be known while planning, and depends on data: it decides how many slices "all" has',
    );
  });
});

describe("a Scan", () => {
  const sum: types.IGraphProto = {
    node: [node("Add", ["s", "v"], ["next"]), node("Mul", ["next", "next"], ["out"])],
    input: [info("s", [2]), info("v", [2])],
    output: [info("next", [2]), info("out", [2])],
  };
  const one = attribute("num_scan_inputs", 1);

  test("walks its input, and stacks what it makes", () => {
    const plan = planned({
      node: [scan(["s0", "xs"], ["s1", "ys"], sum, [one])],
      input: [info("s0", [2]), info("xs", [3, 2])],
      output: [info("s1", [2]), info("ys", [3, 2])],
    });
    expect(runPlan(plan, { s0: [0, 1], xs: [1, 2, 3, 4, 5, 6] })).toEqual({
      s1: [9, 13],
      ys: [1, 9, 16, 49, 81, 169],
    });
  });

  test("walks and stacks backwards and along other axes, where it is told to", () => {
    const told = [
      attributes("scan_input_axes", [1]),
      attributes("scan_input_directions", [1]),
      attributes("scan_output_axes", [-1]),
      attributes("scan_output_directions", [1]),
    ];
    const plan = planned({
      node: [scan(["s0", "xs"], ["s1", "ys"], sum, [one, ...told])],
      input: [info("s0", [2]), info("xs", [2, 3])],
      output: [info("s1", [2]), info("ys", [2, 3])],
    });
    // The columns 3 6, then 2 5, then 1 4; the last result comes first.
    expect(runPlan(plan, { s0: [0, 0], xs: [1, 2, 3, 4, 5, 6] })).toEqual({
      s1: [6, 15],
      ys: [36, 25, 9, 225, 121, 36],
    });
  });

  test("has a batch before opset 9, each sequence of its own length", () => {
    const graph: types.IGraphProto = {
      node: [scan(["lengths", "s0", "xs"], ["s1", "ys"], sum, [one])],
      initializer: [integers("lengths", [2], [2, 1])],
      input: [info("s0", [2, 2]), info("xs", [2, 2, 2])],
      output: [info("s1", [2, 2]), info("ys", [2, 2, 2])],
    };
    const given = { s0: [0, 0, 1, 1], xs: [1, 2, 3, 4, 5, 6, 7, 8] };
    expect(runPlan(planned(graph, 8), given)).toEqual({ s1: [4, 6, 6, 7], ys: [1, 4, 16, 36, 36, 49, 0, 0] });
    const whole = { ...graph, node: [scan(["", "s0", "xs"], ["s1", "ys"], sum, [one])] };
    const backwards = {
      ...whole,
      node: [scan(["", "s0", "xs"], ["s1", "ys"], sum, [one, attributes("directions", [1])])],
    };
    expect(runPlan(planned(whole, 8), given)["s1"]).toEqual([4, 6, 13, 15]);
    expect(runPlan(planned(backwards, 8), given)["ys"]).toEqual([9, 16, 16, 36, 64, 81, 169, 225]);
  });

  test("may hold a Loop, and both read what is around them", () => {
    const inner: types.IGraphProto = {
      node: [keepsGoing, node("Add", ["h", "v"], ["h1"]), node("Mul", ["h1", "k"], ["h2"])],
      input: [...counted, info("h", [2])],
      output: [info("goOn", [], bool), info("h2", [2])],
    };
    const body: types.IGraphProto = {
      node: [loop(["m", "yes", "s"], ["next"], inner), node("Identity", ["next"], ["out"])],
      input: [info("s", [2]), info("v", [2])],
      output: [info("next", [2]), info("out", [2])],
    };
    const plan = planned({
      node: [scan(["s0", "xs"], ["s1", "ys"], body, [one])],
      initializer: [number("m", 2), yes, floats("k", [], [2])],
      input: [info("s0", [2]), info("xs", [2, 2])],
      output: [info("s1", [2]), info("ys", [2, 2])],
    });
    // h ← (h + v) · 2, twice a step.
    expect(runPlan(plan, { s0: [0, 1], xs: [1, 2, 3, 4] })).toEqual({ s1: [42, 88], ys: [6, 16, 42, 88] });
  });
});

describe("an If", () => {
  const branches = (a: types.INodeProto, b: types.INodeProto, size: number) => ({
    name: "if",
    attribute: [
      graphOf("then_branch", { node: [a], output: [info("a", [2])] }),
      graphOf("else_branch", { node: [b], output: [info("b", [size])] }),
    ],
  });
  const graph = (more: types.INodeProto): types.IGraphProto => ({
    node: [
      node("Greater", ["t", "zero"], ["c"]),
      { ...node("If", ["c"], ["r"]), ...more },
      node("Abs", ["r"], ["y"]),
    ],
    initializer: [floats("zero", [], [0])],
    input: [info("x", [2]), info("t", [1])],
    output: [info("y", [undefined])],
  });

  test("whose condition only data tells runs both branches, and takes elements of one", () => {
    const either = branches(node("Exp", ["x"], ["a"]), node("Neg", ["x"], ["b"]), 2);
    const plan = planned({ ...graph(either), output: [info("y", [2])] });
    expect(runPlan(plan, { x: [0, 1000], t: [1] })["y"]).toEqual([1, Number.POSITIVE_INFINITY]);
    // What the other branch makes of it does not matter.
    expect(runPlan(plan, { x: [0, 1000], t: [-1] })["y"]).toEqual([0, 1000]);
  });

  test("is refused where the branches differ in shape, by the name of the condition", () => {
    const twice = node("Concat", ["x", "x"], ["b"], { attribute: [attribute("axis", 0)] });
    expect(refusal(graph(branches(node("Exp", ["x"], ["a"]), twice, 4)))).toBe(
      'node "if" (If): its condition ("c") has to be known while planning, and depends on data: "r" is float32[2] in one branch, float32[4] in the other',
    );
  });

  test("may read a product twice that nothing has asked for yet", () => {
    const both: types.IGraphProto = {
      node: [node("Relu", ["p"], ["r"]), node("Sigmoid", ["p"], ["s"]), node("Add", ["r", "s"], ["a"])],
      output: [info("a", [4, 8])],
    };
    const { steps } = planned({
      node: [
        node("MatMul", ["x", "w"], ["p"]),
        node("If", ["yes"], ["y"], {
          attribute: [graphOf("then_branch", both), graphOf("else_branch", both)],
        }),
      ],
      initializer: [weight("w", [8, 8]), yes],
      input: [info("x", [4, 8])],
      output: [info("y", [4, 8])],
    });
    expect(steps.filter(({ operator }) => operator === "MatMul")).toHaveLength(1);
  });
});

describe("a call", () => {
  test("has memory of its own for what it concatenates", () => {
    const twice: types.IFunctionProto = {
      name: "Twice",
      domain: "local",
      input: ["v"],
      output: ["w"],
      node: [
        node("Exp", ["v"], ["e"]),
        node("Neg", ["v"], ["n"]),
        node("Concat", ["e", "n"], ["w"], { attribute: [attribute("axis", 0)] }),
      ],
      opsetImport: [{ domain: "", version: 17 }],
    };
    const call = (input: string, output: string) => node("Twice", [input], [output], { domain: "local" });
    const bytes = modelBytes(
      {
        node: [call("x", "a"), call("z", "b"), node("Sub", ["a", "b"], ["y"])],
        input: [info("x", [1]), info("z", [1])],
        output: [info("y", [2])],
      },
      {
        opsetImport: [
          { domain: "", version: 17 },
          { domain: "local", version: 1 },
        ],
        functions: [twice],
      },
    );
    using model = modelFromBytes(bytes);
    const plan = planModel({ model, precision: "fp32", weights: weightsOf(model) });
    expect(runPlan(plan, { x: [0], z: [3] })["y"]?.map(Math.round)).toEqual([-19, 3]);
  });

  test("of a function that is named Concat is none: what it is given stays where it is", () => {
    const sum: types.IFunctionProto = {
      name: "Concat",
      domain: "",
      input: ["v", "w"],
      output: ["r"],
      node: [node("Sum", ["v", "w"], ["r"])],
      opsetImport: [{ domain: "", version: 17 }],
    };
    const axis = { attribute: [attribute("axis", 0)] };
    const bytes = modelBytes(
      {
        node: [
          node("Relu", ["x"], ["a"]),
          node("Relu", ["z"], ["b"]),
          node("Softmax", ["a"], ["s"]),
          node("Softmax", ["b"], ["t"]),
          node("Concat", ["a", "b"], ["y"], axis),
        ],
        input: [info("x", [2, 3]), info("z", [2, 3])],
        output: ["y", "s", "t"].map((name) => info(name, [2, 3])),
      },
      { functions: [sum] },
    );
    using model = modelFromBytes(bytes);
    const { steps } = planModel({ model, precision: "fp32", weights: weightsOf(model) });
    const written = steps.flatMap(({ action }) => touched(action)[1]);
    // Each has memory of its own, of six floats.
    expect(new Set(written.map(({ offset, buffer }) => `${offset} ${buffer.bytes}`))).toEqual(
      new Set(["0 24"]),
    );
  });
});
