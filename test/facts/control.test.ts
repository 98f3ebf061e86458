import { describe, expect, it } from "vitest";
import { type Facts, inferFacts } from "../../src/facts/infer.ts";
import { isUnknown } from "../../src/ir/dim.ts";
import type { Fact } from "../../src/ops/op.ts";
import { buildModel, type GraphSpec, type ModelSpec, type NodeSpec, valueNamed } from "./build.ts";

function run(spec: ModelSpec): { readonly facts: Facts; text(name: string): string } {
  const model = buildModel(spec);
  const facts = inferFacts(model, { useDeclared: false });
  expect(facts.skipped.map(({ reason }) => reason)).toEqual([]);
  return { facts, text: (name) => textOf(facts.root.fact(valueNamed(model, name))) };
}

function textOf(fact: Fact | undefined): string {
  if (fact?.kind !== "tensor") return fact?.kind ?? "nothing";
  return `${fact.dtype ?? "?"}[${fact.shape?.map((dim) => (isUnknown(dim) ? "?" : dim)).join(",") ?? "…"}]`;
}

describe("If", () => {
  const branch = (op: string): GraphSpec => ({
    nodes: [
      {
        op,
        inputs: op === "Concat" ? ["x", "x"] : ["x"],
        outputs: ["b"],
        ...(op === "Concat" ? { attributes: { axis: 0 } } : {}),
      },
    ],
    outputs: ["b"],
  });
  const spec = (elements: readonly number[] | undefined, otherwise: string): ModelSpec => ({
    inputs: { x: ["float32", [2, "n"]], ...(elements === undefined ? { c: ["bool", []] as const } : {}) },
    ...(elements === undefined ? {} : { initializers: { c: { dtype: "bool", dims: [], elements } } }),
    nodes: [
      {
        op: "If",
        name: "if",
        inputs: ["c"],
        outputs: ["y"],
        attributes: { then_branch: { graph: branch("Relu") }, else_branch: { graph: branch(otherwise) } },
      },
    ],
    outputs: ["y"],
  });

  it("takes one branch where the condition is a constant", () => {
    const { facts, text } = run(spec([0], "Concat"));
    expect(text("y")).toBe("float32[4,n]");
    expect([...facts.scopes()].map(({ path }) => path)).toEqual(["graph", "graph/if:else_branch"]);
  });

  it("keeps what both branches agree on", () => {
    const { facts, text } = run(spec(undefined, "Concat"));
    expect(text("y")).toBe("float32[?,n]");
    expect([...facts.scopes()]).toHaveLength(3);
  });

  it("knows nothing of a rank that differs", () => {
    expect(run(spec(undefined, "Shape")).text("y")).toBe("?[…]");
  });
});

describe("Loop", () => {
  const loop = (
    body: readonly NodeSpec[],
    options: { trips?: number; condition?: boolean } = {},
  ): ModelSpec => ({
    inputs: { x: ["float32", [2, 3]], m: ["int64", []], go: ["bool", []] },
    initializers: {
      trips: { dtype: "int64", dims: [], elements: [options.trips ?? 0] },
      true: { dtype: "bool", dims: [], elements: [1] },
    },
    nodes: [
      {
        op: "Loop",
        name: "loop",
        inputs: [
          options.trips === undefined ? "m" : "trips",
          options.condition === true ? "go" : "true",
          "x",
        ],
        outputs: ["last", "all"],
        attributes: {
          body: {
            graph: {
              inputs: { i: ["int64", []], condition: ["bool", []], h: undefined },
              nodes: [...body, { op: "Identity", inputs: ["condition"], outputs: ["goOn"] }],
              outputs: ["goOn", "next", "next"],
            },
          },
        },
      },
    ],
    outputs: ["last", "all"],
  });
  const keeps: NodeSpec = { op: "Relu", inputs: ["h"], outputs: ["next"] };
  const grows: NodeSpec = { op: "Concat", inputs: ["h", "x"], outputs: ["next"], attributes: { axis: 0 } };
  const gainsAxis: NodeSpec = { op: "Flatten", inputs: ["h"], outputs: ["next"], attributes: { axis: 0 } };

  it("stacks one slice for every trip, and runs the body that often", () => {
    const { facts, text } = run(loop([keeps], { trips: 5 }));
    expect([text("last"), text("all")]).toEqual(["float32[2,3]", "float32[5,2,3]"]);
    const [, body] = facts.scopes();
    expect([body?.path, body?.repeat]).toEqual(["graph/loop:body", 5]);
  });

  it("does not trust a trip count that a condition may cut short", () => {
    const { text } = run(loop([keeps], { trips: 5, condition: true }));
    expect(text("all")).toBe("float32[?,2,3]");
  });

  it("gives up a size that changes from trip to trip, and no other", () => {
    const { text } = run(loop([grows], { trips: 5 }));
    expect([text("last"), text("all")]).toEqual(["float32[?,3]", "float32[5,?,3]"]);
  });

  it("holds for a loop that may not run at all", () => {
    expect(run(loop([gainsAxis])).text("last")).toBe("float32[?,?]");
  });

  it("that never runs leaves its values as they were", () => {
    const { text } = run(loop([grows], { trips: 0 }));
    expect([text("last"), text("all")]).toEqual(["float32[2,3]", "float32[0,?,3]"]);
  });
});

describe("Scan", () => {
  const body: GraphSpec = {
    inputs: { sum: undefined, slice: undefined },
    nodes: [
      { op: "Add", inputs: ["sum", "slice"], outputs: ["next"] },
      { op: "Identity", inputs: ["next"], outputs: ["out"] },
    ],
    outputs: ["next", "out"],
  };
  const scan = (opset: number, inputs: readonly string[], attributes: NodeSpec["attributes"]): ModelSpec => ({
    opset,
    inputs: {
      start: ["float32", [4]],
      x: ["float32", [4, "steps"]],
      batch: ["float32", ["n", 4]],
      seq: ["float32", ["n", 7, 4]],
    },
    nodes: [
      {
        op: "Scan",
        name: "scan",
        inputs,
        outputs: ["y", "ys"],
        attributes: { body: { graph: body }, num_scan_inputs: 1, ...attributes },
      },
    ],
    outputs: ["y", "ys"],
  });

  it("walks the axes it is told", () => {
    const { facts, text } = run(scan(11, ["start", "x"], { scan_input_axes: [1], scan_output_axes: [-1] }));
    expect([text("y"), text("ys")]).toEqual(["float32[4]", "float32[4,steps]"]);
    const [, inner] = facts.scopes();
    expect(String(inner?.repeat)).toBe("steps");
  });

  it("has a batch in front before opset 9", () => {
    const { text } = run(scan(8, ["", "batch", "seq"], {}));
    expect([text("y"), text("ys")]).toEqual(["float32[n,4]", "float32[n,7,4]"]);
  });
});
