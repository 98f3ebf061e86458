/** @file Where readers of one value meet again, and that nothing in between is stored. */
import { describe, expect, test } from "vitest";
import { LiveNodes } from "../../../cuda-runtime/graph/liveness.ts";
import { regionFrom } from "../../../cuda-runtime/graph/reconvergence.ts";
import { elementwiseLowerings } from "../../../cuda-runtime/lower/index.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import { operatorOf } from "../../../src/ir/model.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { info, modelBytes, node, type types } from "../../onnx/build.ts";
import { familiesOf, launchesOf, planOf, weight } from "../small-plan.ts";

const shape = [4, 32];

interface Small {
  readonly nodes: types.INodeProto[];
  readonly outputs?: readonly string[];
}

function graphOf({ nodes, outputs = ["y"] }: Small): types.IGraphProto {
  return {
    node: nodes,
    initializer: [weight("w", [32, 32])],
    input: [info("x", shape), info("row", [1, 32])],
    output: outputs.map((name) => info(name)),
  };
}

/** Names of the region that begins at `root`: what is inside, and its end. */
function regionOf(small: Small, root = "r"): { inside: string[]; end: string } | undefined {
  using model = modelFromBytes(modelBytes(graphOf(small)));
  const { root: scope } = inferFacts(model);
  const live = new LiveNodes(scope);
  const value = model.graph.nodes.flatMap(({ outputs }) => outputs).find((output) => output?.name === root);
  if (value === undefined) throw new Error(`there is no ${root}`);
  const region = regionFrom(value, scope, {
    isElementwise: (each) => elementwiseLowerings[operatorOf(each)] !== undefined,
    isSeen: ({ isOutput }) => isOutput,
    readersOf: (read) => live.readersOf(read),
  });
  return region && { inside: [...region.inside].map(({ name }) => name), end: region.end.name };
}

const first = node("Tanh", ["x"], ["r"]);

describe("a region", () => {
  test("ends where all readers meet", () => {
    const nodes = [first, node("Sigmoid", ["r"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    expect(regionOf({ nodes })).toEqual({ inside: ["r", "s"], end: "y" });
    expect(familiesOf(planOf(graphOf({ nodes })).steps)).toEqual(["chain"]);
  });

  test("may branch more than once, and end before the last node", () => {
    const nodes = [
      first,
      node("Exp", ["r"], ["a"]),
      node("Neg", ["r"], ["b"]),
      node("Add", ["a", "b"], ["c"]),
      node("Mul", ["c", "r"], ["d"]),
      node("Relu", ["d"], ["y"]),
    ];
    expect(regionOf({ nodes })).toEqual({ inside: ["r", "a", "b", "c"], end: "d" });
    expect(familiesOf(planOf(graphOf({ nodes })).steps)).toEqual(["chain"]);
  });

  test("may take other operands along, broadcast ones too", () => {
    const nodes = [first, node("Add", ["r", "row"], ["s"]), node("Mul", ["s", "r"], ["y"])];
    expect(regionOf({ nodes })).toEqual({ inside: ["r", "s"], end: "y" });
  });

  test("is none where an operator inside is no elementwise one", () => {
    const nodes = [first, node("MatMul", ["r", "w"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    expect(regionOf({ nodes })).toBeUndefined();
  });

  test("is none where something inside is an output", () => {
    const nodes = [first, node("Sigmoid", ["r"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    expect(regionOf({ nodes, outputs: ["y", "s"] })).toBeUndefined();
    expect(regionOf({ nodes, outputs: ["y", "r"] })).toBeUndefined();
    // Each output is stored once, and read back where that is needed.
    const launches = launchesOf(planOf(graphOf({ nodes, outputs: ["y", "s"] })).steps);
    const written = launches.flatMap(({ writes }) => writes.map(({ buffer }) => buffer));
    expect(new Set(written).size).toBe(written.length);
  });

  test("is none where readers never meet, or the shape changes", () => {
    const apart = [first, node("Sigmoid", ["r"], ["y"]), node("Relu", ["r"], ["z"])];
    expect(regionOf({ nodes: apart, outputs: ["y", "z"] })).toBeUndefined();
    const column = [node("ReduceMax", ["x"], ["m"]), node("Tanh", ["m"], ["r"])];
    const wider = [...column, node("Add", ["r", "x"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    expect(regionOf({ nodes: wider })).toBeUndefined();
  });

  test("is none where it would be too long for one kernel", () => {
    const chain = Array.from({ length: 30 }, (_, at) =>
      node("Neg", [at === 0 ? "r" : `n${at}`], [`n${at + 1}`]),
    );
    const nodes = [first, ...chain, node("Mul", ["r", "n30"], ["y"])];
    expect(regionOf({ nodes })).toBeUndefined();
    expect(familiesOf(planOf(graphOf({ nodes })).steps)).toEqual(["chain", "chain"]);
  });
});

describe("a product before a region", () => {
  const product = node("MatMul", ["x", "w"], ["r"]);

  test("takes all of it as its epilogue where it can: x · sigmoid(x)", () => {
    const nodes = [product, node("Sigmoid", ["r"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    const families = familiesOf(planOf(graphOf({ nodes }), "fp32").steps);
    expect(families).toHaveLength(1);
    expect(families[0]).toMatch(/^gemm/);
  });

  test("is launched on its own where it cannot: x · sin(x)", () => {
    const nodes = [product, node("Sin", ["r"], ["s"]), node("Mul", ["r", "s"], ["y"])];
    const [gemm, ...rest] = familiesOf(planOf(graphOf({ nodes }), "fp32").steps);
    expect(gemm).toMatch(/^gemm/);
    expect(rest).toEqual(["chain"]);
  });
});
