import { describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import type { InputError } from "../../src/ir/errors.ts";
import type { Fact } from "../../src/ops/op.ts";
import { buildModel, type FunctionSpec, type GraphSpec, type ModelSpec, valueNamed } from "./build.ts";

function shapeText(fact: Fact | undefined): string {
  if (fact?.kind !== "tensor") return fact?.kind ?? "nothing";
  return `${fact.dtype ?? "?"}[${fact.shape?.map((dim) => String(dim).replace(/\?\d+/, "?")).join(",") ?? "…"}]`;
}

function inferred(spec: ModelSpec, name: string, options: Parameters<typeof inferFacts>[1] = {}): string {
  const model = buildModel(spec);
  return shapeText(inferFacts(model, options).root.fact(valueNamed(model, name)));
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as InputError).code;
  }
  return "no error";
}

const relu: ModelSpec = {
  inputs: { x: ["float32", ["batch", 3, "side", "side"]] },
  nodes: [{ op: "Relu", inputs: ["x"], outputs: ["y"] }],
  outputs: ["y"],
};

describe("sizes given by the user", () => {
  it("stay symbols without them", () => {
    expect(inferred(relu, "y")).toBe("float32[batch,3,side,side]");
    expect([...inferFacts(buildModel(relu)).symbols].sort()).toEqual(["batch", "side"]);
  });

  it("bind by the name of the dimension", () => {
    expect(inferred(relu, "y", { dims: new Map([["side", 8]]) })).toBe("float32[batch,3,8,8]");
  });

  it("bind by the shape of an input, and everything of the same name", () => {
    const facts = inferFacts(buildModel(relu), { shapes: new Map([["x", [2, 3, 8, 8]]]) });
    expect([...facts.bindings]).toEqual([
      ["batch", 2],
      ["side", 8],
    ]);
    expect(facts.symbols.size).toBe(0);
  });

  it.each([
    ["a fixed size", { shapes: new Map([["x", [1, 4, 8, 8]]]) }, "shape-contradiction"],
    ["one symbol with two sizes", { shapes: new Map([["x", [1, 3, 8, 9]]]) }, "shape-contradiction"],
    ["another number of axes", { shapes: new Map([["x", [1, 3, 8]]]) }, "shape-contradiction"],
    [
      "a dim against a shape",
      { shapes: new Map([["x", [1, 3, 8, 8]]]), dims: new Map([["batch", 2]]) },
      "shape-contradiction",
    ],
    ["no such input", { shapes: new Map([["z", [1]]]) }, "unknown-input"],
    ["no such dimension", { dims: new Map([["time", 2]]) }, "unknown-dimension"],
    ["no size at all", { dims: new Map([["batch", -1]]) }, "bad-size"],
  ])("are refused: %s", (_, options, code) => {
    expect(codeOf(() => inferFacts(buildModel(relu), options))).toBe(code);
  });
});

describe("constants", () => {
  const reshape = (asInput: boolean): ModelSpec => ({
    irVersion: 10,
    inputs: { x: ["float32", [6]], ...(asInput ? { shape: ["int64", [2]] as const } : {}) },
    initializers: { shape: { dtype: "int64", dims: [2], elements: [2, 3] } },
    nodes: [{ op: "Reshape", inputs: ["x", "shape"], outputs: ["y"] }],
    outputs: ["y"],
  });

  it("are read where an operator asks", () => {
    expect(inferred(reshape(false), "y")).toBe("float32[2,3]");
  });

  it("are none where the caller may override them", () => {
    expect(inferred(reshape(true), "y")).toBe("float32[?,?]");
  });

  it("are constants in old models, which had to list them as inputs", () => {
    expect(inferred({ ...reshape(true), irVersion: 3 }, "y")).toBe("float32[2,3]");
  });
});

describe("what cannot be inferred", () => {
  const custom = (declared: ModelSpec["declared"]): ModelSpec => ({
    inputs: { x: ["float32", [2, 3]] },
    nodes: [
      { op: "Mystery", domain: "acme", inputs: ["x"], outputs: ["m"] },
      { op: "Relu", inputs: ["m"], outputs: ["y"] },
    ],
    outputs: ["y"],
    ...(declared === undefined ? {} : { declared }),
  });

  it("is unknown, counted, and no obstacle", () => {
    const facts = inferFacts(buildModel(custom(undefined)));
    expect(facts.skipped.map(({ kind, reason }) => [kind, reason])).toEqual([
      ["unknown-operator", "unknown operator acme::Mystery"],
    ]);
    expect(inferred(custom(undefined), "y")).toBe("?[…]");
  });

  it("is filled from declarations, unless told not to", () => {
    const spec = custom({ m: ["float16", [5, "n"]] });
    expect(inferred(spec, "y")).toBe("float16[5,n]");
    expect(inferred(spec, "y", { dims: new Map([["n", 4]]) })).toBe("float16[5,4]");
    expect(inferred(spec, "y", { useDeclared: false })).toBe("?[…]");
  });

  it("records an operator's contradiction and goes on", () => {
    const facts = inferFacts(
      buildModel({
        inputs: { a: ["float32", [2, 3]], b: ["float32", [4, 5]] },
        nodes: [{ op: "MatMul", inputs: ["a", "b"], outputs: ["y"] }],
        outputs: ["y"],
      }),
    );
    expect(facts.skipped.map(({ kind }) => kind)).toEqual(["shape-error"]);
  });

  it("keeps what it inferred against a declaration that differs, and says so", () => {
    const spec: ModelSpec = { ...relu, declared: { y: ["float32", ["batch", 4, "side", "side"]] } };
    const model = buildModel(spec);
    expect(inferred(spec, "y")).toBe("float32[batch,3,side,side]");
    expect(inferFacts(model).contradictions.map(({ value }) => value.name)).toEqual(["y"]);
  });
});

describe("functions", () => {
  const scaled: FunctionSpec = {
    domain: "my",
    name: "Turn",
    inputs: { a: undefined },
    nodes: [{ op: "Transpose", inputs: ["a"], outputs: ["b"], attributes: { perm: { reference: "order" } } }],
    outputs: ["b"],
    defaults: { order: [1, 0] },
  };
  const calling = (functions: readonly FunctionSpec[], attributes = {}): ModelSpec => ({
    inputs: { x: ["float32", [2, 3]] },
    nodes: [{ op: "Turn", domain: "my", name: "call", inputs: ["x"], outputs: ["y"], attributes }],
    outputs: ["y"],
    functions,
  });
  /** Each calls the next one twice. */
  const doubling = (depth: number): FunctionSpec[] => [
    ...Array.from({ length: depth }, (_, level): FunctionSpec => {
      const op = `F${level + 1}`;
      return {
        ...scaled,
        name: level === 0 ? "Turn" : `F${level}`,
        nodes: [
          { op, domain: "my", inputs: ["a"], outputs: ["h"] },
          { op, domain: "my", inputs: ["h"], outputs: ["b"] },
        ],
      };
    }),
    { ...scaled, name: `F${depth}` },
  ];

  it("see the caller's attributes, else their defaults", () => {
    expect(inferred(calling([scaled]), "y")).toBe("float32[3,2]");
    expect(inferred(calling([scaled], { order: [0, 1] }), "y")).toBe("float32[2,3]");
  });

  it("pass attributes on to functions they call", () => {
    const outer: FunctionSpec = {
      ...scaled,
      nodes: [
        {
          op: "Inner",
          domain: "my",
          inputs: ["a"],
          outputs: ["b"],
          attributes: { order: { reference: "order" } },
        },
      ],
    };
    expect(inferred(calling([outer, { ...scaled, name: "Inner", defaults: {} }]), "y")).toBe("float32[3,2]");
  });

  it("go before operators of the same name", () => {
    const spec: ModelSpec = {
      inputs: { x: ["float32", [2, 3]] },
      nodes: [{ op: "Relu", inputs: ["x"], outputs: ["y"] }],
      outputs: ["y"],
      functions: [{ ...scaled, domain: "", name: "Relu" }],
    };
    expect(inferred(spec, "y")).toBe("float32[3,2]");
  });

  it("are told apart by call", () => {
    const model = buildModel(calling([scaled]));
    expect([...inferFacts(model).scopes()].map(({ path }) => path)).toEqual(["graph", "graph/call:Turn"]);
  });

  it("may not recurse, nor double for ever", () => {
    const itself: FunctionSpec = {
      ...scaled,
      nodes: [{ op: "Turn", domain: "my", inputs: ["a"], outputs: ["b"] }],
    };
    expect(codeOf(() => inferFacts(buildModel(calling([itself]))))).toBe("recursive-function");
    // A few hundred bytes are no reason for a hundred thousand nodes.
    for (const depth of [17, 30]) {
      expect(codeOf(() => inferFacts(buildModel(calling(doubling(depth)))))).toBe(
        "function-expansion-too-large",
      );
    }
    expect(() => inferFacts(buildModel(calling(doubling(10))))).not.toThrow();
  });

  it("nest as deep as ONNX allows and no deeper", () => {
    const chain = (depth: number) =>
      Array.from({ length: depth }, (_, level): FunctionSpec => {
        const name = level === 0 ? "Turn" : `F${level}`;
        if (level === depth - 1) return { ...scaled, name };
        return {
          ...scaled,
          name,
          nodes: [{ op: `F${level + 1}`, domain: "my", inputs: ["a"], outputs: ["b"] }],
        };
      });
    expect(inferred(calling(chain(100)), "y")).toBe("float32[3,2]");
    expect(codeOf(() => inferFacts(buildModel(calling(chain(101)))))).toBe("function-nesting-too-deep");
  });

  it("are refused where graphs within functions nest beyond what a stack holds", () => {
    const nested = (levels: number, innermost: GraphSpec): GraphSpec =>
      levels === 0
        ? innermost
        : {
            nodes: [
              {
                op: "If",
                inputs: ["a"],
                outputs: ["b"],
                attributes: { then_branch: { graph: nested(levels - 1, innermost) } },
              },
            ],
            outputs: ["b"],
          };
    const deep = Array.from({ length: 95 }, (_, level): FunctionSpec => {
      const next = {
        nodes: [{ op: `F${level + 1}`, domain: "my", inputs: ["a"], outputs: ["b"] }],
        outputs: ["b"],
      };
      return { ...scaled, name: level === 0 ? "Turn" : `F${level}`, ...nested(45, next) };
    });
    expect(codeOf(() => inferFacts(buildModel(calling(deep))))).toBe("graph-nesting-too-deep");
  });
});

it("takes a million nodes in stride", () => {
  const nodes = Array.from({ length: 1_000_000 }, (_, index) => ({
    op: "Add",
    inputs: [`v${index}`, "bias"],
    outputs: [`v${index + 1}`],
  }));
  const model = buildModel({
    inputs: { v0: ["float32", ["batch", 64]] },
    initializers: { bias: { dtype: "float32", dims: [64] } },
    nodes,
    outputs: ["v1000000"],
  });
  const start = performance.now();
  const facts = inferFacts(model);
  const seconds = (performance.now() - start) / 1000;
  console.log(`1,000,000 nodes inferred in ${seconds.toFixed(1)} s`);
  expect(shapeText(facts.root.fact(valueNamed(model, "v1000000")))).toBe("float32[batch,64]");
  expect(seconds).toBeLessThan(20);
});
