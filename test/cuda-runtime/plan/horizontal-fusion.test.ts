/** @file Products of one activation: which are one product, and what their results are. */
import { describe, expect, test } from "vitest";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf as bytesOf } from "../../gpu/node-tests-data.ts";
import { info, modelBytes, node, type types } from "../../onnx/build.ts";
import { attribute, familiesOf, launchesOf, planOf, weight } from "../small-plan.ts";

const [batch, length, depth] = [2, 24, 64];
const names = ["q", "k", "v"];

interface Given {
  readonly nodes: types.INodeProto[];
  readonly weights: types.ITensorProto[];
  readonly outputs?: readonly string[];
}

/** x [2, 24, 64] → products → one Tanh for each result, so that nothing is a graph output at once. */
function planned({ nodes, weights, outputs = names }: Given, precision: "fp16" | "fp32" = "fp16") {
  const graph = {
    node: [
      node("Softmax", ["input"], ["x"], { attribute: [attribute("axis", -1)] }),
      ...nodes,
      ...outputs.map((name) => node("Softmax", [name], [`${name}_out`])),
    ],
    initializer: weights,
    input: [info("input", [batch, length, depth])],
    output: outputs.map((name) => info(`${name}_out`)),
  };
  const { prepare, steps } = planOf(graph, precision);
  const products = launchesOf(steps).filter(
    ({ kernel }) =>
      kernel.kind === "built" && kernel.family.startsWith("gemm") && !kernel.entry.includes("sum"),
  );
  const softmaxes = launchesOf(steps)
    .filter(({ kernel }) => kernel.kind === "built" && kernel.family === "softmax")
    .slice(1);
  return { prepare, steps, products, results: softmaxes.map(({ reads }) => reads[0]) };
}

const matmuls = names.map((name) => node("MatMul", ["x", `w${name}`], [name]));
const weightsOf = (...columns: readonly number[]) =>
  names.map((name, at) => weight(`w${name}`, [depth, columns[at] ?? depth]));

describe("queries, keys and values", () => {
  test("are one product, and slices of its result", () => {
    const { products, results } = planned({ nodes: matmuls, weights: weightsOf(64, 32, 16) });
    expect(products).toHaveLength(1);
    const [to] = products.flatMap(({ writes }) => writes);
    expect(to?.shape.at(-1)).toBe(112);
    expect(results.map((view) => view?.shape)).toEqual([
      [batch, length, 64],
      [batch, length, 32],
      [batch, length, 16],
    ]);
    expect(results.map((view) => view?.offset)).toEqual([0, 64, 96]);
    for (const view of results) {
      expect(view?.buffer).toBe(results[0]?.buffer);
      expect(view?.strides).toEqual([length * 112, 112, 1]);
    }
  });

  test("name each other in the step, and a product by itself nobody", () => {
    const ofProducts = ({ steps }: Pick<ReturnType<typeof planned>, "steps">) =>
      steps.filter(({ operator }) => operator === "MatMul");
    const together = ofProducts(planned({ nodes: matmuls, weights: weightsOf(64, 32, 16) }));
    expect(together.map(({ label, beside }) => [label, beside])).toEqual([
      ["MatMul(q)", ["MatMul(k)", "MatMul(v)"]],
    ]);
    const apart = ofProducts(planned({ nodes: matmuls, weights: weightsOf(63, 31, 15) }));
    expect(new Set(apart.map(({ label }) => label))).toEqual(
      new Set(["MatMul(q)", "MatMul(k)", "MatMul(v)"]),
    );
    for (const { beside } of apart) expect(beside).toBeUndefined();
  });

  test("have their weights put side by side once", () => {
    const { prepare, products, steps } = planned({ nodes: matmuls, weights: weightsOf(64, 32, 16) });
    const weights = products[0]?.reads[1];
    expect(weights?.shape).toEqual([depth, 112]);
    expect(weights?.buffer.kind).toBe("constant");
    const parts = launchesOf(prepare).flatMap(({ writes }) =>
      writes.filter(({ buffer }) => buffer === weights?.buffer),
    );
    expect(parts.map(({ shape }) => shape[1])).toEqual([64, 32, 16]);
    // What comes in, and each result as it goes out; nothing of the weights.
    expect(familiesOf(steps).filter((family) => family === "chain")).toHaveLength(1 + names.length);
  });

  test("bring weights and biases that an Identity hands on, as exporters do with tensors that are equal", () => {
    const nodes = names.flatMap((name) => [
      node("Identity", ["w"], [`w${name}`]),
      node("Identity", ["b"], [`b${name}`]),
      node("MatMul", ["x", `w${name}`], [`x${name}`]),
      node("Add", [`b${name}`, `x${name}`], [name]),
    ]);
    const { products, steps } = planned({ nodes, weights: [weight("w", [depth, 32]), weight("b", [32])] });
    expect(products.map(({ writes }) => writes[0]?.shape.at(-1))).toEqual([96]);
    expect(familiesOf(steps).filter((family) => family === "chain")).toHaveLength(1 + names.length);
  });

  test("bring the biases that follow them", () => {
    const nodes = [
      ...names.map((name) => node("MatMul", ["x", `w${name}`], [`p${name}`])),
      node("Add", ["pq", "bq"], ["q"]),
      node("Add", ["bk", "pk"], ["k"]),
      // Something else than a bias stays a step of its own.
      node("Add", ["pv", "x"], ["v"]),
    ];
    const weights = [...weightsOf(), weight("bq", [depth]), weight("bk", [depth])];
    const { products, results } = planned({ nodes, weights });
    expect(products).toHaveLength(1);
    const bias = products[0]?.reads.find(({ shape }) => shape.length === 1);
    expect([bias?.shape, bias?.type]).toEqual([[3 * depth], "float32"]);
    expect(results[0]?.buffer).toBe(results[1]?.buffer);
    expect(results[2]?.buffer).not.toBe(results[0]?.buffer);
  });

  test("may be Gemms over rows, their weights stored either way", () => {
    const gemm = (name: string, transB: number) =>
      node("Gemm", ["rows", `w${name}`, `b${name}`], [name], { attribute: [attribute("transB", transB)] });
    const graph = {
      node: [
        node("Softmax", ["input"], ["rows"]),
        gemm("q", 1),
        gemm("k", 0),
        node("Softmax", ["q"], ["y"]),
        node("Softmax", ["k"], ["z"]),
      ],
      initializer: [
        weight("wq", [32, depth]),
        weight("wk", [depth, 16]),
        weight("bq", [32]),
        weight("bk", [16]),
      ],
      input: [info("input", [length, depth])],
      output: [info("y", [length, 32]), info("z", [length, 16])],
    };
    const { prepare, steps } = planOf(graph, "fp16");
    const products = launchesOf(steps).filter(({ flops }) => flops !== undefined);
    expect(products).toHaveLength(1);
    const weights = products[0]?.reads[1]?.buffer;
    const parts = launchesOf(prepare).flatMap(({ reads, writes }) =>
      writes.flatMap(({ buffer, shape }) => (buffer === weights ? [[reads[0]?.strides[0], shape]] : [])),
    );
    // [32, 64] is read across: its first axis as a column of the common matrix.
    expect(parts).toEqual([
      [1, [depth, 32]],
      [16, [depth, 16]],
    ]);
  });

  test("are one product in float32, too", () => {
    expect(planned({ nodes: matmuls, weights: weightsOf() }, "fp32").products).toHaveLength(1);
  });
});

describe("a function of the model", () => {
  const matrices = { initializer: [weight("a", [depth, 16]), weight("b", [depth, 16]), weight("c", [16])] };
  const product = (operator: string, b: string, y: string) => node(operator, ["x", b], [y]);

  /** How many tensors each launch of a product reads. */
  function readsOfProducts(nodes: types.INodeProto[], functions: types.IFunctionProto[]): number[] {
    const outputs = ["p", "q"].map((name) => node("Softmax", [name], [`${name}_out`]));
    const bytes = modelBytes(
      {
        ...matrices,
        node: [node("Softmax", ["input"], ["x"]), ...nodes, ...outputs],
        input: [info("input", [length, depth])],
        output: [info("p_out", [length, 16]), info("q_out", [length, 16])],
      },
      { functions },
    );
    using model = modelFromBytes(bytes);
    const { steps } = planModel({ model, precision: "fp16", weights: bytesOf(model) });
    return launchesOf(steps).flatMap(({ flops, reads }) => (flops === undefined ? [] : [reads.length]));
  }

  function functionOf(name: string, nodes: types.INodeProto[]): types.IFunctionProto {
    const opsetImport = [{ domain: "", version: 17 }];
    return { name, domain: "", input: ["v", "w"], output: ["r"], node: nodes, opsetImport };
  }

  test("is no product beside others, whatever its name", () => {
    const nodes = [product("MatMul", "a", "p"), product("Gemm", "b", "q")];
    expect(readsOfProducts(nodes, [])).toEqual([2]);
    const called = functionOf("Gemm", [node("MatMul", ["v", "w"], ["m"]), node("Relu", ["m"], ["r"])]);
    expect(readsOfProducts(nodes, [called])).toEqual([2, 2]);
  });

  test("is no bias behind one", () => {
    const nodes = [product("MatMul", "a", "p"), product("MatMul", "b", "s"), node("Add", ["s", "c"], ["q"])];
    expect(readsOfProducts(nodes, [])).toEqual([3]);
    expect(readsOfProducts(nodes, [functionOf("Add", [node("Sub", ["v", "w"], ["r"])])])).toEqual([2]);
  });
});

describe("a product stays on its own", () => {
  const alone = (given: Given) => planned(given).products.length;

  test("where it has columns off the multiple of 8, which would shift those after it", () => {
    expect(alone({ nodes: matmuls, weights: weightsOf(64, 31, 16) })).toBe(2);
    expect(alone({ nodes: matmuls, weights: weightsOf(31, 64, 16) })).toBe(2);
    expect(alone({ nodes: matmuls, weights: weightsOf(64, 16, 31) })).toBe(2);
    expect(alone({ nodes: matmuls, weights: weightsOf(31, 33, 16) })).toBe(3);
  });

  test("where its result is a graph output", () => {
    const graph = {
      node: [node("MatMul", ["x", "wq"], ["q"]), node("MatMul", ["x", "wk"], ["k"])],
      initializer: weightsOf().slice(0, 2),
      input: [info("x", [length, depth])],
      output: [info("q", [length, depth]), info("k", [length, depth])],
    };
    const products = launchesOf(planOf(graph, "fp32").steps).filter(({ flops }) => flops !== undefined);
    expect(products).toHaveLength(2);
  });

  test("where it is scaled, or the activation is the second operand", () => {
    const scaled = node("Gemm", ["rows", "wq"], ["q"], { attribute: [{ name: "alpha", type: 1, f: 0.5 }] });
    const graph = {
      node: [
        node("Softmax", ["input"], ["rows"]),
        scaled,
        node("Gemm", ["rows", "wk"], ["k"]),
        node("MatMul", ["wv", "rows"], ["v"]),
        ...names.map((name) => node("Softmax", [name], [`${name}_out`])),
      ],
      initializer: [weight("wq", [depth, 64]), weight("wk", [depth, 64]), weight("wv", [8, length])],
      input: [info("input", [length, depth])],
      output: names.map((name) => info(`${name}_out`)),
    };
    const products = launchesOf(planOf(graph, "fp16").steps).filter(({ flops }) => flops !== undefined);
    expect(products).toHaveLength(3);
  });
});
