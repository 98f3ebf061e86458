import onnxProto from "onnx-proto";
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { bytesOfModel, expectSame, floats, foldBytes, operators, run } from "./folding.ts";

const options = { name: "fold", opset: 17 };

/** x [2, 3, 4] through `build`, whose result is the output. */
function graphOf(
  build: (graph: GraphBuilder, x: string) => string,
  sizes: readonly (number | string)[] = [2, 3, 4],
) {
  return model(options, (graph) => {
    const x = graph.input("x", sizes);
    graph.node("Relu", [build(graph, x)], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

const x = floats([2, 3, 4]);

describe("constants", () => {
  it("computes static shape arithmetic ahead", async () => {
    const bytes = graphOf((graph, input) => {
      const shape = graph.node("Shape", [input]);
      const rows = graph.node("Gather", [shape, graph.weight([1], { dtype: "int64", values: [0] })]);
      const target = graph.node("Concat", [rows, graph.weight([1], { dtype: "int64", values: [12] })], {
        axis: 0,
      });
      return graph.node("Reshape", [input, target]);
    });
    const { after } = await expectSame(bytes, { x });
    expect(operators(after)).toEqual(["Reshape", "Relu"]);
  });

  it("lets an axis of symbolic size take what remains", async () => {
    const bytes = graphOf(
      (graph, input) => {
        const rows = graph.node("Slice", [
          graph.node("Shape", [input]),
          graph.weight([1], { dtype: "int64", values: [0] }),
          graph.weight([1], { dtype: "int64", values: [1] }),
        ]);
        const target = graph.node("Concat", [rows, graph.weight([1], { dtype: "int64", values: [12] })], {
          axis: 0,
        });
        return graph.node("Reshape", [input, target]);
      },
      ["N", 3, 4],
    );
    const { after } = await expectSame(bytes, { x });
    expect(operators(after)).toEqual(["Reshape", "Relu"]);
    expect((await run(bytesOfModel(after), { x: floats([5, 3, 4]) })).get("y")?.dims).toEqual([5, 12]);
  });

  it("keeps what depends on a symbol", async () => {
    const bytes = graphOf(
      (graph, input) => graph.node("Expand", [graph.scalar(2), graph.node("Shape", [input])]),
      ["N", 3, 4],
    );
    expect(operators((await expectSame(bytes, { x })).after)).toEqual(["Shape", "Expand", "Relu"]);
  });

  it("leaves outputs of the model to the nodes that make them", async () => {
    const bytes = model(options, (graph) => {
      graph.input("x", [2, 3, 4]);
      graph.node("Shape", ["x"], {}, { outputs: ["shape"] });
      graph.node("Add", ["shape", "shape"], {}, { outputs: ["twice"] });
      graph.output("twice", "int64", [3]);
    });
    const { after } = await expectSame(bytes, { x });
    expect(operators(after)).toEqual(["Add"]);
    expect(after.graph.outputs.map(({ name }) => name)).toEqual(["twice"]);
  });

  it("keeps names that subgraphs read", async () => {
    const bytes = model(options, (graph) => {
      graph.input("x", [2, 3, 4]);
      graph.input("choose", [], "bool");
      graph.node("Shape", ["x"], {}, { outputs: ["shape"] });
      graph.node("Cast", ["shape"], { to: 1 }, { outputs: ["sizes"] });
      graph.node("Identity", ["x"], {}, { outputs: ["same"] });
      const branch = (stem: string, operator: string) => {
        const inner = graph.inner(stem);
        inner.node(
          "ReduceSum",
          [inner.node(operator, ["same"])],
          { keepdims: 0 },
          { outputs: [`${stem}_sum`] },
        );
        inner.node("Add", [`${stem}_sum`, "sizes"], {}, { outputs: [`${stem}_out`] });
        inner.output(`${stem}_out`);
        return inner;
      };
      const branches = {
        then_branch: { graph: branch("then", "Neg") },
        else_branch: { graph: branch("else", "Abs") },
      };
      graph.node("If", ["choose"], branches, { outputs: ["y"] });
      graph.output("y");
    });
    const choose = new Tensor("bool", [true], []);
    const { after } = await expectSame(bytes, { x, choose });
    expect(operators(after)).toEqual(["Identity", "If"]);
    expect(after.graph.values.get("sizes")?.initializer?.dims).toEqual([3]);
  });

  it("does not take an initializer that a caller may override for a constant", async () => {
    const bytes = model(options, (graph) => {
      graph.input("x", [2, 3, 4]);
      graph.input("target", [1], "int64");
      graph.weight([1], { dtype: "int64", name: "target", values: [-1] });
      graph.node("Reshape", ["x", graph.node("Identity", ["target"])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectSame(bytes, { x });
    expect(operators(after)).toEqual(["Reshape"]);
    expect(after.graph.nodes[0]?.inputs.map((value) => value?.name)).toEqual(["x", "target"]);
    expect(after.graph.values.get("target")?.initializer).toBeDefined();
  });

  it("does not compute with integers beyond 2^53", async () => {
    const bytes = model(options, (graph) => {
      graph.input("x", [2, 3, 4]);
      const [a, b] = ["a", "b"].map((name) => graph.weight([1], { dtype: "int64", name, values: [0] }));
      const zero = ints(graph, 0);
      const end = graph.node("Concat", [a ?? ""], { axis: 0 });
      const size = graph.node("Slice", [graph.node("Shape", ["x"]), zero, end, zero]);
      const isSame = graph.node("Cast", [graph.node("Equal", [a ?? "", b ?? ""])], { to: 7 });
      graph.node("Reshape", ["x", graph.node("Sub", [size, ints(graph, 0, 0, 0)])], {}, { outputs: ["y"] });
      graph.node(
        "Add",
        [graph.node("Identity", [isSame]), graph.node("Shape", ["y"])],
        {},
        { outputs: ["z"] },
      );
      graph.output("y");
      graph.output("z", "int64");
    });
    const proto = onnxProto.onnx.ModelProto.decode(bytes);
    for (const tensor of proto.graph?.initializer ?? []) {
      const value = { a: 2n ** 63n - 1n, b: 2n ** 63n - 2n }[tensor.name ?? ""];
      if (value !== undefined) tensor.rawData = new Uint8Array(BigInt64Array.of(value).buffer);
    }
    const { after } = await expectSame(onnxProto.onnx.ModelProto.encode(proto).finish(), { x }, 0);
    // "To the end" is understood; whether the two are equal is left to the model.
    expect(operators(after).toSorted()).toEqual(["Add", "Cast", "Equal", "Reshape"]);
  });
});

type Build = (graph: GraphBuilder, x: string) => string;
const ints = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

const noOps: Readonly<Record<string, Build>> = {
  Identity: (graph, input) => graph.node("Identity", [input]),
  Dropout: (graph, input) => graph.node("Dropout", [input, graph.scalar(0.5)]),
  "Dropout told not to train": (graph, input) =>
    graph.node("Dropout", [input, graph.scalar(0.5), graph.weight([], { dtype: "bool", values: [0] })]),
  Cast: (graph, input) => graph.node("Cast", [input], { to: 1 }),
  CastLike: (graph, input) => graph.node("CastLike", [input, graph.scalar(1)]),
  "Cast there and back": (graph, input) =>
    graph.node("Cast", [graph.node("Cast", [input], { to: 11 })], { to: 1 }),
  Transpose: (graph, input) => graph.node("Transpose", [input], { perm: [0, 1, 2] }),
  "Transpose there and back": (graph, input) =>
    graph.node("Transpose", [graph.node("Transpose", [input], { perm: [2, 0, 1] })], { perm: [1, 2, 0] }),
  "Transpose three times": (graph, input) => {
    const turn = (name: string) => graph.node("Transpose", [name], { perm: [1, 2, 0] });
    return turn(turn(turn(input)));
  },
  Reshape: (graph, input) => graph.node("Reshape", [input, ints(graph, 0, -1, 4)]),
  "Reshape there and back": (graph, input) =>
    graph.node("Reshape", [graph.node("Reshape", [input, ints(graph, 6, 4)]), ints(graph, 2, 3, 4)]),
  "Unsqueeze and Squeeze": (graph, input) =>
    graph.node("Squeeze", [graph.node("Unsqueeze", [input, ints(graph, 1)]), ints(graph, 1)]),
  Expand: (graph, input) => graph.node("Expand", [input, ints(graph, 3, 1)]),
  Tile: (graph, input) => graph.node("Tile", [input, ints(graph, 1, 1, 1)]),
  Pad: (graph, input) => graph.node("Pad", [input, ints(graph, 0, 0, 0, 0, 0, 0)]),
  Slice: (graph, input) => graph.node("Slice", [input, ints(graph, 0), ints(graph, 9), ints(graph, 2)]),
  Concat: (graph, input) => graph.node("Concat", [input], { axis: 1 }),
  Split: (graph, input) => graph.node("Split", [input, ints(graph, 3)], { axis: 1 }),
  Max: (graph, input) => graph.node("Max", [input]),
};

const shortened: Readonly<Record<string, readonly [Build, readonly string[]]>> = {
  "two Transposes": [
    (graph, input) =>
      graph.node("Transpose", [graph.node("Transpose", [input], { perm: [1, 0, 2] })], { perm: [0, 2, 1] }),
    ["Transpose"],
  ],
  "Reshapes in a row": [
    (graph, input) =>
      graph.node("Reshape", [graph.node("Reshape", [input, ints(graph, 6, 4)]), ints(graph, 3, -1)]),
    ["Reshape"],
  ],
  "a Reshape that copies a size of the one before": [
    (graph, input) =>
      graph.node("Reshape", [graph.node("Reshape", [input, ints(graph, 6, 4)]), ints(graph, 0, 2, 2)]),
    ["Reshape", "Reshape"],
  ],
  "a Cast by way of a wider type": [
    (graph, input) =>
      graph.node("Cast", [graph.node("Cast", [graph.node("Cast", [input], { to: 11 })], { to: 10 })], {
        to: 1,
      }),
    ["Cast", "Cast"],
  ],
};

const kept: Readonly<Record<string, readonly [Build, readonly string[]]>> = {
  "Cast by way of a narrower type": [
    (graph, input) => graph.node("Cast", [graph.node("Cast", [input], { to: 10 })], { to: 1 }),
    ["Cast", "Cast"],
  ],
  "Slice that turns an axis round": [
    (graph, input) =>
      graph.node("Slice", [input, ints(graph, -1), ints(graph, -9), ints(graph, 1), ints(graph, -1)]),
    ["Slice"],
  ],
  "Pad that shifts": [(graph, input) => graph.node("Pad", [input, ints(graph, 0, 1, 0, 0, -1, 0)]), ["Pad"]],
  "Transpose of equal sizes": [
    (graph, input) => {
      const square = graph.node("Slice", [input, ints(graph, 0), ints(graph, 3), ints(graph, 2)]);
      return graph.node("Transpose", [square], { perm: [0, 2, 1] });
    },
    ["Slice", "Transpose"],
  ],
  "Dropout whose mask is read": [
    (graph, input) => {
      const [data = "", mask = ""] = graph.nodes("Dropout", [input], {}, { outputs: 2 });
      return graph.node("Where", [mask, data, graph.scalar(3)]);
    },
    ["Dropout", "Where"],
  ],
};

describe("nodes that change nothing", () => {
  it.each(Object.entries(noOps))("%s goes", async (_, build) => {
    const { after } = await expectSame(graphOf(build), { x }, 0);
    expect(operators(after)).toEqual(["Relu"]);
    expect(after.graph.nodes.at(-1)?.inputs.map((value) => value?.name)).toEqual(["x"]);
  });

  it.each(Object.entries(noOps))("%s before an output leaves the output its name", async (_, build) => {
    const bytes = model(options, (graph) => {
      const relu = graph.node("Relu", [graph.input("x", [2, 3, 4])]);
      graph.node("Neg", [relu], {}, { outputs: ["other"] });
      graph.node("Identity", [build(graph, relu)], {}, { outputs: ["y"] });
      graph.output("y");
      graph.output("other");
    });
    const { after } = await expectSame(bytes, { x }, 0);
    expect(operators(after)).toEqual(["Relu", "Neg"]);
    expect(after.graph.nodes[0]?.outputs.map((value) => value?.name)).toEqual(["y"]);
  });

  it.each(Object.entries({ ...shortened, ...kept }))("%s", async (_, [build, wanted]) => {
    const { after } = await expectSame(graphOf(build), { x }, 0);
    expect(operators(after)).toEqual([...wanted, "Relu"]);
  });

  it("keeps an Identity between an input and an output of the model, and between two outputs", async () => {
    const bytes = model(options, (graph) => {
      graph.input("x", [2, 3, 4]);
      graph.node("Identity", ["x"], {}, { outputs: ["same"] });
      graph.node("Relu", ["x"], {}, { outputs: ["y"] });
      graph.node("Identity", ["y"], {}, { outputs: ["z"] });
      for (const name of ["same", "y", "z"]) graph.output(name);
    });
    expect(foldBytes(bytes).patch.isEmpty).toBe(true);
  });

  it("go by the hundred thousand", () => {
    const bytes = graphOf((graph, input) => {
      let last = input;
      for (let count = 0; count < 150_000; count++) last = graph.node("Identity", [last]);
      return last;
    });
    expect(operators(foldBytes(bytes).after)).toEqual(["Relu"]);
  });

  it("drops Reshapes of symbolic sizes that change nothing", async () => {
    const bytes = graphOf(
      (graph, input) => graph.node("Reshape", [input, ints(graph, 0, 3, -1)]),
      ["N", 3, "M"],
    );
    expect(operators((await expectSame(bytes, { x }, 0)).after)).toEqual(["Relu"]);
  });
});

describe("what nobody reads", () => {
  it("goes, with its declaration; inputs and unknown operators stay", () => {
    const bytes = model({ ...options, domains: { custom: 1 } }, (graph) => {
      graph.input("x", [2]);
      graph.input("unused", [2]);
      graph.input("default", [2]);
      graph.weight([2], { name: "default", values: [1, 2] });
      graph.weight([2], { name: "dropped", values: [1, 2] });
      graph.node("Add", ["x", "dropped"], {}, { outputs: ["nobody"] });
      graph.node("Neg", [graph.node("Exp", ["x"])]);
      graph.node("Log", ["x"], {}, { domain: "custom" });
      graph.node("Relu", ["x"], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const proto = onnxProto.onnx.ModelProto.decode(bytes);
    const tensorType = { elemType: 1, shape: { dim: [{ dimValue: 2 }] } };
    proto.graph?.valueInfo?.push(
      onnxProto.onnx.ValueInfoProto.create({ name: "nobody", type: { tensorType } }),
    );
    const { after } = foldBytes(onnxProto.onnx.ModelProto.encode(proto).finish());
    const left = onnxProto.onnx.ModelProto.decode(bytesOfModel(after)).graph;
    expect(left?.node?.map(({ opType }) => opType)).toEqual(["Log", "Relu"]);
    expect(left?.initializer?.map(({ name }) => name)).toEqual(["default"]);
    expect(left?.input?.map(({ name }) => name)).toEqual(["x", "unused", "default"]);
    expect(left?.valueInfo).toEqual([]);
  });

  it("stays where a quantization annotation names it", () => {
    const bytes = graphOf((graph, input) =>
      graph.node("Identity", [graph.node("Neg", [input])], {}, { outputs: ["q"] }),
    );
    const proto = onnxProto.onnx.ModelProto.decode(bytes);
    const scale = { name: "scale", dims: [1], dataType: 1, floatData: [0.5] };
    proto.graph?.initializer?.push(onnxProto.onnx.TensorProto.create(scale));
    const annotation = {
      tensorName: "q",
      quantParameterTensorNames: [{ key: "SCALE_TENSOR", value: "scale" }],
    };
    proto.graph?.quantizationAnnotation?.push(onnxProto.onnx.TensorAnnotation.create(annotation));
    const { after } = foldBytes(onnxProto.onnx.ModelProto.encode(proto).finish());
    expect(after.graph.values.get("scale")?.initializer).toBeDefined();
    expect(after.graph.values.get("q")).toBeDefined();
    expect(operators(after)).toEqual(["Neg", "Relu"]);
  });

  it("stays, with everything else, in a model with training information", () => {
    const bytes = graphOf((graph, input) => graph.node("Identity", [input]));
    const proto = onnxProto.onnx.ModelProto.decode(bytes);
    proto.trainingInfo = [onnxProto.onnx.TrainingInfoProto.create({ algorithm: { name: "step" } })];
    const { patch, notes } = foldBytes(onnxProto.onnx.ModelProto.encode(proto).finish());
    expect(patch.isEmpty).toBe(true);
    expect(notes.map(({ kind }) => kind)).toEqual(["kept"]);
  });

  it("leaves a model alone in which there is nothing to do", () => {
    expect(foldBytes(graphOf((_, input) => input)).patch.isEmpty).toBe(true);
  });
});
