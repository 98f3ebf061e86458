import { describe, expect, it } from "vitest";
import type { Attribute, Model, TensorRef } from "../../src/ir/model.ts";
import { functionKey } from "../../src/ir/model.ts";
import { modelFromBytes, newestIrVersion } from "../../src/onnx/open.ts";
import { tensorsOf } from "../../src/onnx/weights.ts";
import {
  field,
  float,
  floats,
  info,
  int64,
  integers,
  join,
  modelBytes,
  node,
  onnx,
  reluModel,
  type types,
  varint,
} from "./build.ts";
import { compareWithOnnxProto } from "./oracle.ts";

const refused = (code: string) => expect.objectContaining({ name: "InputError", code });

function tensorOf(model: Model, name: string): TensorRef {
  const tensor = model.graph.values.get(name)?.initializer;
  if (tensor === undefined) throw new Error(`no initializer ${name}`);
  return tensor;
}

function elementsOf(model: Model, name: string): readonly number[] | undefined {
  return model.reader.elements(tensorOf(model, name), 1000);
}

/** A model whose one initializer "w" has these bytes behind its name. */
function withTensor(...parts: readonly Uint8Array[]): Model {
  const tensor = field(5, field(8, "w"), ...parts);
  return modelFromBytes(join(varint(1, 8), field(7, field(2, "g"), tensor)));
}

describe("A model", () => {
  it("is not what another model is, for the oracle of these tests", () => {
    const bytes = reluModel();
    expect(compareWithOnnxProto(modelFromBytes(bytes), bytes).differences).toEqual([]);
    const other = reluModel({ node: [node("Tanh", ["x"], ["y"])], input: [info("x", [1, 8])] });
    expect(compareWithOnnxProto(modelFromBytes(bytes), other).differences).toHaveLength(2);
  });

  it.each([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])(
    "of IR version %i is read without a word",
    (irVersion) => {
      using model = modelFromBytes(reluModel({}, { irVersion }));
      expect([model.irVersion, model.notices]).toEqual([irVersion, []]);
    },
  );

  it.each([0, 2, newestIrVersion + 1, 2 ** 40])("of IR version %i is read with a notice", (irVersion) => {
    using model = modelFromBytes(reluModel({}, { irVersion }));
    expect(model.notices.map(({ code }) => code)).toEqual(["ir-version"]);
    expect(model.graph.nodes).toHaveLength(1);
  });

  it("tells its opsets, by either spelling of ai.onnx", () => {
    const opsetImport = [
      { domain: "ai.onnx", version: 20 },
      { domain: "com.microsoft", version: 1 },
    ];
    using model = modelFromBytes(reluModel({}, { opsetImport }));
    expect([...model.opsets]).toEqual([
      ["", 20],
      ["com.microsoft", 1],
    ]);
  });

  it("keeps its fields apart whatever their order", () => {
    const graph = field(
      7,
      field(12, field(1, "y")),
      field(1, field(4, "Relu"), field(2, "y"), field(1, "x")),
      field(11, field(1, "x")),
    );
    using model = modelFromBytes(join(graph, field(8, varint(2, 17)), varint(1, 8)));
    expect([model.irVersion, model.opsets.get(""), model.graph.outputs[0]?.producer?.opType]).toEqual([
      8,
      17,
      "Relu",
    ]);
  });

  it("is read past fields that no schema has, at every level", () => {
    const unknown = [field(1000, "later"), varint(1001, 5), join(Uint8Array.of(0xfd, 0x3e), Buffer.alloc(4))];
    const type = field(
      2,
      field(1, varint(1, 1), field(2, field(1, varint(1, 8), ...unknown), ...unknown), ...unknown),
      ...unknown,
    );
    const operator = field(1, ...unknown, field(1, "x"), field(2, "y"), field(4, "Relu"));
    const graph = field(
      7,
      ...unknown,
      operator,
      field(11, field(1, "x"), type, ...unknown),
      field(12, field(1, "y")),
    );
    using model = modelFromBytes(join(...unknown, varint(1, 14), graph, field(26, "configuration")));
    expect(model.graph.inputs[0]?.declared).toEqual({ kind: "tensor", dtype: "float32", shape: [8] });
  });

  it("of a later ONNX may use element types, attribute types and data locations that no enumeration has", () => {
    const attribute = field(5, field(1, "later"), varint(20, 99), field(99, "value"));
    const tensor = field(5, field(8, "w"), varint(1, 2), varint(2, 77), field(9, "abc"));
    const input = field(11, field(1, "x"), field(2, field(1, varint(1, 77))));
    const operator = field(1, field(1, "x"), field(2, "y"), field(4, "Relu"), attribute);
    using model = modelFromBytes(join(varint(1, newestIrVersion + 1), field(7, operator, tensor, input)));
    expect(model.graph.nodes[0]?.attributes).toEqual([{ name: "later", value: { type: "other", code: 99 } }]);
    expect(tensorOf(model, "w")).toMatchObject({ dtype: undefined, dtypeCode: 77, dims: [2] });
    expect(model.graph.inputs[0]?.declared).toMatchObject({ dtype: undefined });
  });

  it("gives its metadata, and that of a node", () => {
    const metadata = field(9, field(1, "source"), field(2, "net.py:7"));
    const operator = field(1, field(1, "x"), field(2, "y"), field(4, "Relu"), metadata);
    const graph = field(7, operator, field(11, field(1, "x")));
    using model = modelFromBytes(join(varint(1, 10), graph, field(14, field(1, "author"), field(2, "me"))));
    const [relu] = model.graph.nodes;
    expect([...model.metadata]).toEqual([["author", "me"]]);
    expect(relu && [...model.reader.nodeMetadata(relu)]).toEqual([["source", "net.py:7"]]);
  });
});

describe("A tensor", () => {
  it("has the same dims packed, one at a time, and mixed", () => {
    const packed = field(1, Uint8Array.of(2, 3));
    for (const dims of [[packed], [varint(1, 2), varint(1, 3)], [field(1, Uint8Array.of(2)), varint(1, 3)]]) {
      using model = withTensor(...dims, varint(2, 3), field(9, "abcdef")) as Model & Disposable;
      expect(tensorOf(model, "w").dims).toEqual([2, 3]);
    }
  });

  it("has the same elements packed, one at a time, and mixed", () => {
    const head = [varint(1, 4), varint(2, int64)];
    const single = (...values: number[]) => values.map((value) => varint(7, value));
    const packed = (...values: number[]) => field(7, Uint8Array.from(values));
    for (const data of [
      [packed(5, 6, 7, 8)],
      single(5, 6, 7, 8),
      [packed(5, 6), packed(7), packed(8)],
      [packed(5, 6), ...single(7, 8)],
      [...single(5, 6), packed(7, 8)],
      [...single(5), packed(6), ...single(7), packed(), ...single(8)],
      [...single(5, 6), field(12, "a word between"), ...single(7, 8)],
    ]) {
      const model = withTensor(...head, ...data);
      expect(elementsOf(model, "w")).toEqual([5, 6, 7, 8]);
    }
  });

  it("has negative and large integers", () => {
    const values = ["-1", "9223372036854775807", "-9223372036854775808", "9007199254740993"];
    const model = withTensor(varint(1, 4), varint(2, int64), ...values.map((value) => varint(7, value)));
    expect(elementsOf(model, "w")).toEqual([-1, 2 ** 63, -(2 ** 63), 2 ** 53]);
  });

  it("may be a scalar, or hold nothing", () => {
    expect(elementsOf(withTensor(varint(2, float), field(9, Buffer.alloc(4))), "w")).toEqual([0]);
    expect(elementsOf(withTensor(varint(1, 0), varint(1, 3), varint(2, float)), "w")).toEqual([]);
    expect(elementsOf(withTensor(varint(1, 0), varint(2, float), field(9)), "w")).toEqual([]);
  });

  it("gives no more elements than asked for", () => {
    const model = modelFromBytes(modelBytes({ initializer: [integers("w", [5], [1, 2, 3, 4, 5])] }));
    expect(model.reader.elements(tensorOf(model, "w"), 4)).toBeUndefined();
    expect(model.reader.elements(tensorOf(model, "w"), 5)).toEqual([1, 2, 3, 4, 5]);
  });

  it("keeps NaN, infinities, subnormals and -0", () => {
    const values = [Number.NaN, Number.POSITIVE_INFINITY, -0, 2 ** -149];
    const model = modelFromBytes(modelBytes({ initializer: [floats("w", [4], values)] }));
    expect(elementsOf(model, "w")).toEqual(values);
  });

  it.each([
    [
      "float16",
      10,
      [0x3c00, 0xc000, 0x7c00, 0x0001, 0x8000],
      [1, -2, Number.POSITIVE_INFINITY, 2 ** -24, -0],
    ],
    ["bfloat16", 16, [0x3f80, 0xc000, 0xff80], [1, -2, Number.NEGATIVE_INFINITY]],
  ])("of %s reads from int32_data and from raw_data", (_, code, bits, values) => {
    const head = [varint(1, bits.length), varint(2, code)];
    const raw = Buffer.from(Uint16Array.from(bits).buffer);
    expect(elementsOf(withTensor(...head, ...bits.map((value) => varint(5, value))), "w")).toEqual(values);
    expect(elementsOf(withTensor(...head, field(9, raw)), "w")).toEqual(values);
  });

  it("of four bits holds two elements a byte, the first one low", () => {
    const head = [varint(1, 3), field(9, Uint8Array.of(0xf1, 0x08))];
    expect(elementsOf(withTensor(...head, varint(2, 22)), "w")).toEqual([1, -1, -8]);
    expect(elementsOf(withTensor(...head, varint(2, 21)), "w")).toEqual([1, 15, 8]);
  });

  it("of strings is known by its shape, not by its elements", () => {
    const model = withTensor(varint(1, 2), varint(2, 8), field(6, "one"), field(6, Uint8Array.of(0xff)));
    expect(tensorOf(model, "w")).toMatchObject({ dtype: "string", dims: [2] });
    expect(elementsOf(model, "w")).toBeUndefined();
  });
});

describe("A sparse initializer", () => {
  const sparse = (dims: number[], indices: number[], indexDims = [indices.length]) =>
    modelFromBytes(
      modelBytes({
        sparseInitializer: [
          {
            values: floats("w", [indexDims[0] ?? 0], Array(indexDims[0]).fill(1)),
            indices: integers("", indexDims, indices),
            dims,
          },
        ],
      }),
    );

  it("has the dims of the dense tensor", () => {
    expect(tensorOf(sparse([3, 4], [0, 5, 11]), "w")).toMatchObject({
      dtype: "float32",
      dims: [3, 4],
      data: { kind: "sparse" },
    });
    expect(tensorOf(sparse([3, 4], [0, 1, 2, 3], [2, 2]), "w").dims).toEqual([3, 4]);
    expect(tensorOf(sparse([3, 4], []), "w").dims).toEqual([3, 4]);
  });

  it.each([
    ["indices out of order", [3, 4], [5, 0], undefined],
    ["an index twice", [3, 4], [5, 5], undefined],
    ["an index beyond the end", [3, 4], [0, 12], undefined],
    ["a negative index", [3, 4], [-1, 0], undefined],
    ["coordinates out of order", [3, 4], [1, 0, 0, 1], [2, 2]],
    ["a coordinate beyond its axis", [3, 4], [0, 4, 1, 0], [2, 2]],
    ["coordinates of another rank", [3, 4], [0, 1, 2], [1, 3]],
    ["no dims", [], [0], undefined],
    ["a negative dim", [-3], [0], undefined],
  ])("is refused with %s", (_, dims, indices, indexDims) => {
    expect(() => sparse(dims, indices, indexDims)).toThrow(refused("sparse-tensor"));
  });
});

describe("Names", () => {
  it("lead from a value to who makes and who uses it", () => {
    const nodes = [
      node("Relu", ["x"], ["a"]),
      node("Add", ["a", "a"], ["b"]),
      node("Clip", ["b", "", "a"], ["y", ""]),
    ];
    using model = modelFromBytes(modelBytes({ node: nodes, input: [info("x")], output: [info("y")] }));
    const [relu, add, clip] = model.graph.nodes;
    const a = model.graph.values.get("a");
    expect(a?.producer).toBe(relu);
    expect(a?.consumers).toEqual([add, clip]);
    expect(clip?.inputs.map((value) => value?.name)).toEqual(["b", undefined, "a"]);
    expect(clip?.outputs.map((value) => value?.name)).toEqual(["y", undefined]);
    expect([...model.graph.values.values()].map(({ id }) => id).sort()).toEqual([0, 1, 2, 3]);
  });

  it("may be those of every object's properties", () => {
    const nodes = [node("Relu", ["__proto__"], ["constructor"]), node("Relu", ["constructor"], ["toString"])];
    using model = modelFromBytes(
      modelBytes({ node: nodes, input: [info("__proto__")], output: [info("toString")] }),
    );
    expect(model.graph.outputs[0]?.producer?.inputs[0]?.producer?.inputs[0]?.name).toBe("__proto__");
  });

  it("of an initializer may be an input: a default to override, not a constant", () => {
    const w = floats("w", [2], [1, 2]);
    using model = modelFromBytes(reluModel({ initializer: [w], input: [info("x"), info("w", [2])] }));
    expect(model.graph.values.get("w")).toMatchObject({ isInput: true, initializer: { name: "w" } });
    expect(() => modelFromBytes(reluModel({ initializer: [w, w] }))).toThrow(refused("duplicate-name"));
  });

  describe.each([
    ["an input", { node: [node("Relu", ["v"], ["y"])], input: [info("v", [2], 77)] }],
    [
      "an initializer",
      {
        node: [node("Relu", ["v"], ["y"])],
        initializer: [{ name: "v", dims: [2], dataType: 77, rawData: new Uint8Array(2) }],
      },
    ],
    [
      "an inner value",
      {
        node: [node("Neg", ["x"], ["v"]), node("Relu", ["v"], ["y"])],
        input: [info("x")],
        valueInfo: [info("v", [2], 77)],
      },
    ],
    [
      "a constant of a branch",
      {
        node: [
          node("If", ["c"], ["y"], {
            attribute: ["then_branch", "else_branch"].map((name) => ({
              name,
              type: onnx.AttributeProto.AttributeType.GRAPH,
              g: {
                name,
                node: [node("Relu", ["v"], ["b"])],
                initializer: [{ name: "v", dims: [2], dataType: 77, rawData: new Uint8Array(2) }],
                output: [info("b")],
              },
            })),
          }),
        ],
        input: [info("c")],
      },
    ],
  ] satisfies [string, types.IGraphProto][])("of no data type: %s", (_, graph) => {
    const bytes = (irVersion: number) => modelBytes({ ...graph, output: [info("y")] }, { irVersion });

    it("are refused", () => {
      expect(() => modelFromBytes(bytes(newestIrVersion))).toThrow(
        'model.onnx: 77, the element type of "v", is none of ONNX\'s data types (1 to 26)',
      );
      expect(() => modelFromBytes(bytes(newestIrVersion))).toThrow(refused("bad-dtype"));
    });

    it("are named where the file may be of a later ONNX", () => {
      using model = modelFromBytes(bytes(newestIrVersion + 1));
      expect(model.notices).toContainEqual({
        code: "unknown-dtype",
        message: '77, the element type of "v", is no data type that tc-lint knows',
      });
    });
  });

  it("are sorted into an order, where the file has none", () => {
    const nodes = [node("Tanh", ["b"], ["y"]), node("Relu", ["a"], ["b"]), node("Relu", ["x"], ["a"])];
    using model = modelFromBytes(modelBytes({ node: nodes, input: [info("x")], output: [info("y")] }));
    expect(model.graph.nodes.map(({ outputs }) => outputs[0]?.name)).toEqual(["a", "b", "y"]);
    expect(model.notices.map(({ code }) => code)).toEqual(["unsorted"]);
  });

  it("may only be used where they are defined", () => {
    const graph = { input: [info("x")], output: [info("y")] };
    const cases: [types: string, nodes: ReturnType<typeof node>[]][] = [
      ["undefined-input", [node("Relu", ["nothing"], ["y"])]],
      ["undefined-output", [node("Relu", ["x"], ["z"])]],
      ["duplicate-name", [node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"])]],
      ["duplicate-name", [node("Relu", ["x"], ["x"])]],
      ["cycle", [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]],
      ["cycle", [node("Add", ["x", "y"], ["y"])]],
    ];
    for (const [code, nodes] of cases) {
      expect(() => modelFromBytes(modelBytes({ ...graph, node: nodes }))).toThrow(refused(code));
    }
  });
});

describe("A subgraph", () => {
  const branch = (name: string, nodes: ReturnType<typeof node>[], output: string) => ({
    name,
    type: onnx.AttributeProto.AttributeType.GRAPH,
    g: { name, node: nodes, output: [info(output)] },
  });

  function ifModel(
    then: ReturnType<typeof node>[],
    thenOutput: string,
    rest: ReturnType<typeof node>[] = [],
  ): Uint8Array {
    const attribute = [
      branch("then_branch", then, thenOutput),
      branch("else_branch", [node("Neg", ["a"], ["e"])], "e"),
    ];
    return modelBytes({
      node: [node("If", ["c"], ["y"], { attribute }), ...rest],
      input: [info("x"), info("c", [], 9)],
      output: [info("y")],
    });
  }

  it("captures values of the graphs around it", () => {
    using model = modelFromBytes(ifModel([node("Relu", ["a"], ["t"])], "t", [node("Abs", ["x"], ["a"])]));
    const a = model.graph.values.get("a");
    // The node that defines `a` stands after the one whose branches read it.
    expect(model.graph.nodes.map(({ opType }) => opType)).toEqual(["Abs", "If"]);
    expect(a?.consumers.map(({ opType, graph }) => `${graph.name}:${opType}`)).toEqual([
      "then_branch:Relu",
      "else_branch:Neg",
    ]);
    expect(model.graph.nodes[1]?.attributes.map(graphName)).toEqual(["then_branch", "else_branch"]);
  });

  it("may give out a captured value as it is", () => {
    using model = modelFromBytes(ifModel([], "a", [node("Abs", ["x"], ["a"])]));
    const [attribute] = model.graph.nodes[1]?.attributes ?? [];
    const output = attribute?.value.type === "graph" ? attribute.value.graph.outputs[0] : undefined;
    expect(output).toBe(model.graph.values.get("a"));
    expect(output?.isOutput).toBe(false);
  });

  it("keeps its own values to itself", () => {
    const leak = [node("Abs", ["x"], ["a"]), node("Relu", ["t"], ["z"])];
    expect(() => modelFromBytes(ifModel([node("Relu", ["a"], ["t"])], "t", leak))).toThrow(
      refused("undefined-input"),
    );
  });

  it("cannot wait for the node it belongs to", () => {
    expect(() =>
      modelFromBytes(ifModel([node("Relu", ["y"], ["t"])], "t", [node("Abs", ["x"], ["a"])])),
    ).toThrow(refused("cycle"));
  });

  it("has tensors that are tensors of the model", () => {
    const constant = node("Constant", [], ["t"], {
      attribute: [{ name: "value", type: 4, t: floats("k", [1], [1]) }],
    });
    using model = modelFromBytes(ifModel([constant], "t", [node("Abs", ["x"], ["a"])]));
    expect([...tensorsOf(model)].map(({ name }) => name)).toEqual(["k"]);
  });
});

function graphName({ value }: Attribute): string | undefined {
  return value.type === "graph" ? value.graph.name : undefined;
}

describe("A local function", () => {
  const twice = {
    domain: "local",
    name: "Twice",
    input: ["a"],
    output: ["b"],
    attribute: ["alpha"],
    opsetImport: [{ domain: "", version: 18 }],
    node: [
      node("LeakyRelu", ["a"], ["m"], { attribute: [{ name: "alpha", type: 1, refAttrName: "alpha" }] }),
      node("Add", ["m", "m"], ["b"]),
    ],
  };

  it("is a graph with its own values, opsets and attribute references", () => {
    const call = node("Twice", ["x"], ["y"], { domain: "local" });
    using model = modelFromBytes(reluModel({ node: [call] }, { functions: [twice] }));
    const definition = model.functions.get(functionKey("local", "Twice", ""));
    expect(definition?.opsets.get("")).toBe(18);
    expect(definition?.graph.inputs.map(({ name }) => name)).toEqual(["a"]);
    expect(definition?.graph.nodes[0]?.attributes).toEqual([
      { name: "alpha", value: { type: "reference", to: "alpha" } },
    ]);
    expect(definition?.graph.outputs[0]?.producer?.opType).toBe("Add");
  });

  it("may be overloaded, but not defined twice", () => {
    const encoded = onnx.FunctionProto.encode(twice).finish();
    const head = join(varint(1, 10), field(7, field(2, "g")));
    const other = field(
      25,
      encoded,
      field(13, "other"),
      field(11, field(1, "beta"), varint(20, 2), varint(3, 4)),
    );
    using model = modelFromBytes(join(head, field(25, encoded), other));
    expect([...model.functions.values()].map(({ overload }) => overload)).toEqual(["", "other"]);
    expect(model.functions.get(functionKey("local", "Twice", "other"))?.defaults).toEqual([
      { name: "beta", value: { type: "int", value: 4 } },
    ]);
    expect(() => modelFromBytes(join(head, field(25, encoded), field(25, encoded)))).toThrow(
      refused("duplicate-function"),
    );
  });

  it("sees no values but its own", () => {
    const leaky = { ...twice, node: [node("Add", ["a", "x"], ["b"])] };
    expect(() => modelFromBytes(reluModel({}, { functions: [leaky] }))).toThrow(refused("undefined-input"));
  });
});
