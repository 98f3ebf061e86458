import { describe, expect, it } from "vitest";
import { type Facts, inferFacts } from "../../src/facts/infer.ts";
import { isUnknown } from "../../src/ir/dim.ts";
import type { Model } from "../../src/ir/model.ts";
import type { Fact } from "../../src/ops/op.ts";
import { buildModel, type GraphSpec, type ModelSpec, type NodeSpec, valueNamed } from "./build.ts";

function run(spec: ModelSpec): { readonly model: Model; readonly facts: Facts; text(name: string): string } {
  const model = buildModel(spec);
  const facts = inferFacts(model, { useDeclared: false });
  expect(facts.skipped.map(({ reason }) => reason)).toEqual([]);
  return { model, facts, text: (name) => textOf(facts.root.fact(valueNamed(model, name))) };
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

  /** Doubles 1 while that is less than `limit` (for ever below 0), without a trip count. */
  const doubling = (limit: number): ModelSpec => ({
    initializers: {
      one: { dtype: "int64", dims: [], elements: [1] },
      limit: { dtype: "int64", dims: [], elements: [limit] },
      true: { dtype: "bool", dims: [], elements: [1] },
    },
    nodes: [
      {
        op: "Loop",
        name: "loop",
        inputs: ["", "true", "one"],
        outputs: ["n", "all"],
        attributes: {
          body: {
            graph: {
              inputs: { i: ["int64", []], condition: ["bool", []], h: undefined },
              nodes: [
                { op: "Add", inputs: ["h", "h"], outputs: ["twice"] },
                limit < 0
                  ? { op: "Identity", inputs: ["condition"], outputs: ["goOn"] }
                  : { op: "Less", inputs: ["twice", "limit"], outputs: ["goOn"] },
              ],
              outputs: ["goOn", "twice", "twice"],
            },
          },
        },
      },
    ],
    outputs: ["n", "all"],
  });

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

  it("follows a size that changes from trip to trip; slices of several sizes have none in common", () => {
    const { facts, text } = run(loop([grows], { trips: 5 }));
    expect([text("last"), text("all")]).toEqual(["float32[12,3]", "float32[5,?,3]"]);
    // The instance that is kept holds for all of them.
    const [, body] = facts.scopes();
    const [, , h] = body?.graph.inputs ?? [];
    expect(textOf(h === undefined ? undefined : body?.fact(h))).toBe("float32[?,3]");
  });

  it("gives up a size that changes from trip to trip, and no other, where nobody knows how many there are", () => {
    const { text } = run(loop([grows]));
    expect([text("last"), text("all")]).toEqual(["float32[?,3]", "float32[?,?,3]"]);
  });

  it("does not follow more trips than it has time for", () => {
    expect(run(loop([grows], { trips: 1_000_000_000 })).text("last")).toBe("float32[?,3]");
  });

  it("ends where its condition does, and knows what is carried", () => {
    const { model, facts, text } = run(doubling(100));
    expect([text("n"), text("all")]).toEqual(["int64[]", "int64[7]"]);
    const elements = ["n", "all"].map((name) => facts.root.fact(valueNamed(model, name)));
    expect(elements).toMatchObject([{ elements: [128] }, { elements: [2, 4, 8, 16, 32, 64, 128] }]);
    const [, body] = facts.scopes();
    expect(body?.repeat).toBe(7);
  });

  it("that never ends, as far as can be told, is left alone", () => {
    expect(run(doubling(-1)).text("all")).toBe("int64[?]");
  });

  it("can be looked at one iteration at a time by others", () => {
    const { model, facts } = run(doubling(100));
    const [node] = model.graph.nodes;
    const [, joined] = facts.scopes();
    if (node === undefined || joined === undefined) throw new Error("the model has a loop");
    const known = (value: number): Fact => ({ kind: "tensor", dtype: "int64", shape: [], elements: [value] });
    const body = facts.inferBody(joined.graph, [known(3), undefined, known(21)], node, facts.root);
    const [goOn, twice] = joined.graph.outputs.map((value) => body.fact(value));
    expect([goOn, twice]).toMatchObject([{ elements: [1] }, { elements: [42] }]);
    expect([...facts.scopes()]).toHaveLength(2);
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
