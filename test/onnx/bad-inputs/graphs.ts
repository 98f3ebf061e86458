/** @file Cases 46 to 55: graphs that make no sense, or make it in an unusual way. */
import { floats, info, join, modelBytes, node, type types, varint } from "../build.ts";
import { type BadInput, type Expected, file } from "./case.ts";

function graph(
  number: number,
  title: string,
  expect: Expected,
  nodes: readonly types.INodeProto[],
  extra: types.IGraphProto = {},
  rest: types.IModelProto = {},
): BadInput {
  const whole = { node: [...nodes], input: [info("x", ["N", 6, 8, 8])], output: [info("y")], ...extra };
  return file(number, title, expect, () => modelBytes(whole, rest));
}

const weights = (name: string, ...dims: number[]) =>
  floats(name, dims, Array(dims.reduce((total, dim) => total * dim, 1)).fill(0.5));

const ints = (name: string, ...values: number[]) => ({ name, type: 7, ints: values });

function conv(...attribute: types.IAttributeProto[]): types.INodeProto {
  return node("Conv", ["x", "w"], ["y"], { name: "conv", attribute });
}

/** A local function of one input and one output. */
function define(name: string, ...body: types.INodeProto[]): types.IFunctionProto {
  return {
    domain: "local",
    name,
    input: ["a"],
    output: ["b"],
    opsetImport: [{ domain: "", version: 17 }],
    node: body,
  };
}

const call = (name: string, from = "a", to = "b") => node(name, [from], [to], { domain: "local" });

/** Each function calls the next one ten times. */
function explosion(levels: number): types.IFunctionProto[] {
  return Array.from({ length: levels }, (_, level) => {
    const next = level + 1 < levels ? `F${level + 1}` : "Leaf";
    const steps = Array.from({ length: 10 }, (__, i) =>
      call(next, i === 0 ? "a" : `t${i}`, i === 9 ? "b" : `t${i + 1}`),
    );
    return define(`F${level}`, ...steps);
  }).concat(define("Leaf", node("Relu", ["a"], ["b"])));
}

function opset(version: number): types.IModelProto {
  return { opsetImport: [{ domain: "", version }] };
}

const branch = (name: string, g: types.IGraphProto) => ({ name, type: 5, g: { name, ...g } });

export const graphCases: readonly BadInput[] = [
  graph(46, "a cycle", { error: "cycle" }, [
    node("Add", ["x", "b"], ["a"]),
    node("Relu", ["a"], ["b"]),
    node("Relu", ["b"], ["y"]),
  ]),
  graph(46, "a node that reads its own output", { error: "cycle" }, [node("Add", ["x", "y"], ["y"])]),
  graph(47, "nodes out of order", { notice: "unsorted" }, [
    node("Relu", ["a"], ["y"]),
    node("Relu", ["x"], ["a"]),
  ]),
  graph(48, "an output made twice", { error: "duplicate-name" }, [
    node("Relu", ["x"], ["y"]),
    node("Abs", ["x"], ["y"]),
  ]),
  graph(48, "two nodes of one name", "fine", [
    node("Relu", ["x"], ["a"], { name: "n" }),
    node("Relu", ["a"], ["y"], { name: "n" }),
  ]),
  graph(48, "names of every object's properties", "fine", [
    node("Relu", ["x"], ["__proto__"], { name: "__proto__" }),
    node("Relu", ["__proto__"], ["constructor"], { name: "constructor" }),
    node("Relu", ["constructor"], ["y"], { name: "hasOwnProperty" }),
  ]),
  graph(48, "an operator called __proto__", { skipped: 1 }, [node("__proto__", ["x"], ["y"])]),
  graph(48, "a domain called constructor", { skipped: 1 }, [
    node("toString", ["x"], ["y"], { domain: "constructor" }),
  ]),
  graph(48, "a dimension called __proto__", "fine", [node("Relu", ["x"], ["y"])], {
    input: [info("x", ["__proto__", 4])],
  }),
  graph(48, "an attribute called __proto__", "fine", [
    node("Relu", ["x"], ["y"], { attribute: [{ name: "__proto__", type: 2, i: 1 }] }),
  ]),
  graph(49, "an input that nothing makes", { error: "undefined-input" }, [
    node("Add", ["x", "nothing"], ["y"]),
  ]),
  graph(49, "an output that nothing makes", { error: "undefined-output" }, [node("Relu", ["x"], ["a"])]),
  graph(
    50,
    "branches that capture outer values",
    { notice: ["branch", "no-cuda-graph"] },
    [
      node("Relu", ["x"], ["a"]),
      node("If", ["c"], ["y"], {
        attribute: [
          branch("then_branch", { node: [node("Abs", ["a"], ["t"])], output: [info("t")] }),
          branch("else_branch", { output: [info("a")] }),
        ],
      }),
    ],
    { input: [info("x", ["N", 6]), info("c", [], 9)] },
  ),
  graph(
    51,
    "one weight for two nodes",
    "fine",
    [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "w"], ["y"])],
    {
      input: [info("x", ["N", 8])],
      initializer: [weights("w", 8, 8)],
    },
  ),
  graph(51, "a weight that the caller may override", "fine", [node("MatMul", ["x", "w"], ["y"])], {
    input: [info("x", ["N", 8]), info("w", [8, 8])],
    initializer: [weights("w", 8, 8)],
  }),
  graph(52, "omitted inputs and outputs", "fine", [
    node("Clip", ["x", "", ""], ["a"]),
    node("Dropout", ["a", "", ""], ["b", ""]),
    node("Relu", ["b"], ["y"]),
  ]),
  graph(
    53,
    "a function that calls itself",
    { error: "recursive-function" },
    [call("F", "x", "y")],
    {},
    { functions: [define("F", call("F"))] },
  ),
  graph(
    53,
    "functions that call each other",
    { error: "recursive-function" },
    [call("F", "x", "y")],
    {},
    {
      functions: [define("F", call("G")), define("G", call("H")), define("H", call("F"))],
    },
  ),
  graph(
    53,
    "functions that expand to 10^12 nodes",
    { error: "function-expansion-too-large" },
    [call("F0", "x", "y")],
    {},
    {
      functions: explosion(12),
    },
  ),
  graph(54, "a future opset", { notice: "opset-version" }, [node("Relu", ["x"], ["y"])], {}, opset(99)),
  graph(
    54,
    "an opset beyond 2^53",
    { notice: "opset-version" },
    [node("Relu", ["x"], ["y"])],
    {},
    opset(2 ** 60),
  ),
  graph(
    54,
    "opset 0",
    { error: "bad-opset", says: "opset 0 of ai.onnx is imported, expected 1 or later" },
    [node("Relu", ["x"], ["y"])],
    {},
    opset(0),
  ),
  graph(54, "an operator of a later opset", { skipped: 1 }, [node("FromTheFuture", ["x"], ["y"])]),
  graph(54, "a domain of one's own", { skipped: 1 }, [node("Fancy", ["x"], ["y"], { domain: "my.ops" })]),
  file(54, "no opset", { notice: "no-opset" }, () =>
    join(
      varint(1, 8),
      modelBytes(
        { node: [node("Relu", ["x"], ["y"])], input: [info("x")], output: [info("y")] },
        { opsetImport: [] },
      ),
    ),
  ),
  graph(55, "axes without sizes", "fine", [node("Relu", ["x"], ["y"])], {
    input: [info("x", [undefined, "N", undefined])],
  }),
  graph(55, "an input without a shape", "fine", [node("Relu", ["x"], ["y"])], { input: [info("x")] }),
  graph(
    55,
    "a declaration that contradicts the operator",
    { notice: "contradiction" },
    [node("Relu", ["x"], ["y"])],
    {
      input: [info("x", [2, 3])],
      output: [info("y", [4, 5])],
    },
  ),
  graph(55, "sizes that no MatMul takes", { error: "invalid-node" }, [node("MatMul", ["x", "w"], ["y"])], {
    input: [info("x", ["N", 7])],
    initializer: [weights("w", 8, 8)],
  }),
  graph(
    55,
    "a group that does not divide the channels",
    { error: "invalid-node" },
    [conv({ name: "group", type: 2, i: 4 })],
    {
      initializer: [weights("w", 8, 1, 1, 1)],
    },
  ),
  graph(55, "a group of 0", { error: "invalid-node" }, [conv({ name: "group", type: 2, i: 0 })], {
    initializer: [weights("w", 8, 6, 1, 1)],
  }),
  graph(55, "a stride of 0", { error: "invalid-node" }, [conv(ints("strides", 0, 1))], {
    initializer: [weights("w", 8, 6, 1, 1)],
  }),
  graph(55, "a kernel larger than its input", { error: "invalid-node" }, [conv()], {
    initializer: [weights("w", 8, 6, 9, 9)],
  }),
  graph(55, "pads for too few axes", { error: "invalid-node" }, [conv(ints("pads", 1, 1))], {
    initializer: [weights("w", 8, 6, 3, 3)],
  }),
];
