import fc from "fast-check";
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { bytesOfModel, type Feeds, floats, noise, run } from "./folding.ts";
import { halveBytes, runEmulation, runHalf } from "./halving.ts";

/** Ten layers of bounded functions, products of norm about 1. */
const tolerance = 0.05;
/** HALF_GRAPHS=2000 HALF_SEED=1 asks for more, and for others. */
const graphs = Number(process.env["HALF_GRAPHS"] ?? 60);
const seed = Number(process.env["HALF_SEED"] ?? 20261121);

/** One node, or a few; every value is [4, 8]. */
type Step = (graph: GraphBuilder, a: string, b: string, seed: number) => string;

const unary =
  (op: string): Step =>
  (graph, a) =>
    graph.node(op, [a]);
const binary =
  (op: string): Step =>
  (graph, a, b) =>
    graph.node("Tanh", [graph.node(op, [a, b])]);
const weight = (graph: GraphBuilder, dims: readonly number[], seed: number) =>
  graph.weight(dims, {
    values: noise(
      dims.reduce((total, dim) => total * dim, 1),
      seed + 1,
    ).map((v) => v * 0.5),
  });
const ints = (graph: GraphBuilder, values: readonly number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

const steps: Readonly<Record<string, Step>> = {
  relu: unary("Relu"),
  sigmoid: unary("Sigmoid"),
  abs: unary("Abs"),
  identity: unary("Identity"),
  erf: unary("Erf"),
  softmax: (graph, a) => graph.node("Softmax", [a], { axis: 1 }),
  add: binary("Add"),
  sub: binary("Sub"),
  mul: binary("Mul"),
  max: binary("Max"),
  product: (graph, a, _, seed) => graph.node("MatMul", [a, weight(graph, [8, 8], seed)]),
  shared: (graph, a) => graph.node("MatMul", [graph.node("MatMul", [a, "shared"]), "shared"]),
  gemm: (graph, a, _, seed) =>
    graph.node("Gemm", [a, weight(graph, [8, 8], seed), weight(graph, [8], seed + 9)]),
  twice: (graph, a) => graph.node("Min", [a, a]),
  square: (graph, a) =>
    graph.node("Sqrt", [graph.node("Add", [graph.node("Mul", [a, a]), graph.scalar(1e-6)])]),
  exponential: (graph, a) =>
    graph.node("Tanh", [graph.node("Exp", [graph.node("Neg", [graph.node("Abs", [a])])])]),
  normal: (graph, a, _, seed) =>
    graph.node("LayerNormalization", [a, weight(graph, [8], seed), weight(graph, [8], seed + 2)]),
  centered: (graph, a) => {
    const centered = graph.node("Sub", [a, graph.node("ReduceMean", [a], { axes: [1] })]);
    const variance = graph.node("ReduceMean", [graph.node("Pow", [centered, graph.scalar(2)])], {
      axes: [1],
    });
    return graph.node("Div", [
      centered,
      graph.node("Sqrt", [graph.node("Add", [variance, graph.scalar(1e-5)])]),
    ]);
  },
  clip: (graph, a) => graph.node("Clip", [a, graph.scalar(-0.5), graph.scalar(3.4e38)]),
  constant: (graph, a) =>
    graph.node("Add", [a, graph.node("Constant", [], { value_float: { float: 0.25 } })]),
  fill: (graph, a) => graph.node("Sub", [a, graph.node("ConstantOfShape", [graph.node("Shape", [a])])]),
  where: (graph, a, b) =>
    graph.node("Where", [graph.weight([8], { dtype: "bool", values: [1, 0, 1, 0, 0, 1, 1, 0] }), a, b]),
  halves: (graph, a) => {
    const parts = graph.nodes("Split", [a], { axis: 1 }, { outputs: 2 });
    return graph.node("Concat", [...parts].reverse(), { axis: 1 });
  },
  reshape: (graph, a) => {
    const turned = graph.node("Transpose", [graph.node("Reshape", [a, ints(graph, [8, 4])])], {
      perm: [1, 0],
    });
    return graph.node("Reshape", [turned, ints(graph, [4, 8])]);
  },
  rounded: (graph, a) => graph.node("Cast", [graph.node("Cast", [a], { to: 10 })], { to: 1 }),
  large: (graph, a) => graph.node("Mul", [graph.node("Mul", [a, graph.scalar(1e-7)]), graph.scalar(1e7)]),
  power: (graph, a) => {
    const cube = graph.node("Pow", [
      graph.node("Mul", [graph.node("Abs", [a]), graph.scalar(60)]),
      graph.scalar(3),
    ]);
    return graph.node("Div", [cube, graph.node("Add", [cube, graph.scalar(1)])]);
  },
  masked: (graph, a) => graph.node("Softmax", [graph.node("Add", [a, "mask"])], { axis: 1 }),
  scaledMask: (graph, a) => {
    const away = graph.node("Mul", [graph.node("Sub", [graph.scalar(1), "kept"]), graph.scalar(-1e9)]);
    return graph.node("Softmax", [graph.node("Add", [a, away])], { axis: 1 });
  },
  rows: (graph, a) => {
    const ids = graph.node("Cast", [graph.node("Mul", ["numbers", graph.scalar(1)])], { to: 7 });
    return graph.node("Add", [a, graph.node("Gather", ["table", ids], { axis: 0 })]);
  },
  lanes: (graph, a, _, seed) => {
    const tiny = (lane: number) => (lane % 2 === 0 ? 1e-8 : 1);
    const values = noise(64, seed + 1).map((value, at) => value * 0.5 * tiny(at % 8));
    const product = graph.node("MatMul", [a, graph.weight([8, 8], { values })]);
    const back = Array.from({ length: 8 }, (_, lane) => 1 / tiny(lane));
    return graph.node("Mul", [product, graph.weight([8], { values: back })]);
  },
  total: (graph, a) => {
    const sum = graph.node("ReduceSum", ["long", ints(graph, [0])], { keepdims: 1 });
    return graph.node("Add", [a, graph.node("Div", [sum, graph.scalar(1e5)])]);
  },
  branch: (graph, a, b, seed) => {
    const branch = (name: string, op: string) => {
      const inner = graph.inner(`${name}${seed}`);
      const output = `${a}_${name}_${seed}`;
      const product = inner.node("MatMul", [b, "shared"]);
      inner.node(
        op,
        [inner.node("MatMul", [a, weight(inner, [8, 8], seed)]), product],
        {},
        { outputs: [output] },
      );
      inner.output(output, "float32", [4, 8]);
      return { graph: inner };
    };
    const flag = graph.weight([], { dtype: "bool", values: [seed % 2] });
    return graph.node("Tanh", [
      graph.node("If", [flag], { then_branch: branch("yes", "Add"), else_branch: branch("no", "Sub") }),
    ]);
  },
};

const kinds = Object.keys(steps);

interface Plan {
  readonly steps: readonly { readonly kind: string; readonly a: number; readonly b: number }[];
  readonly outputs: readonly number[];
  readonly opset: number;
  readonly halfIo: boolean;
}

const plans: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(fc.record({ kind: fc.constantFrom(...kinds), a: fc.nat(), b: fc.nat() }), {
    minLength: 3,
    maxLength: 18,
  }),
  outputs: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
  opset: fc.constant(17),
  halfIo: fc.boolean(),
});

const rows = noise(40_000, 98);

function build(plan: Plan): Uint8Array {
  return model({ name: "fuzz", opset: plan.opset }, (graph) => {
    graph.weight([8, 8], { name: "shared", values: noise(64, 99).map((value) => value * 0.4) });
    graph.weight([5000, 8], { name: "table", values: rows });
    const values = [graph.input("x", [4, 8]), graph.input("z", [4, 8])];
    for (const name of ["mask", "kept"]) graph.input(name, [4, 8]);
    graph.input("numbers", [4]);
    graph.input("long", ["n", 8]);
    for (const [index, { kind, a, b }] of plan.steps.entries()) {
      const pick = (choice: number) =>
        values[values.length - 1 - (choice % Math.min(values.length, 5))] ?? "x";
      values.push(steps[kind]?.(graph, pick(a), pick(b), index) ?? "x");
    }
    const made = values.slice(2);
    const outputs = new Set([made.length - 1, ...plan.outputs.map((choice) => choice % made.length)]);
    for (const output of outputs) graph.output(made[output] ?? "", "float32", [4, 8]);
  });
}

const filled = (dims: readonly number[], fill: (at: number) => number) => {
  const length = dims.reduce((total, dim) => total * dim, 1);
  return new Tensor(
    "float32",
    Float32Array.from({ length }, (_, at) => fill(at)),
    dims,
  );
};
/** The last row as a whole, and a few more. */
const isMasked = (at: number) => at >= 24 || at % 3 === 1;
const feeds: Feeds = {
  x: floats([4, 8], 5),
  z: floats([4, 8], 6),
  mask: filled([4, 8], (at) => (isMasked(at) ? -3.4028234663852886e38 : 0)),
  kept: filled([4, 8], (at) => (isMasked(at) ? 0 : 1)),
  numbers: filled([4], (at) => 4095 + 2 * at),
  long: filled([4096, 8], () => 20),
};
const halfFeeds: Feeds = Object.fromEntries(
  Object.entries(feeds).map(([name, { data, dims }]) => {
    const bits = new Uint16Array(encodeNumbers("float16", Array.from(data as Float32Array)).buffer);
    return [name, new Tensor("float16", bits, dims)];
  }),
);

describe("random graphs", () => {
  it(`are valid in FP16 and compute the same (${graphs} graphs)`, { timeout: 600_000 }, async () => {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const bytes = build(plan);
        const { after, changed: isChanged } = halveBytes(bytes, { halfIo: plan.halfIo });
        if (!isChanged) return;
        changed += 1;
        expect(runHalf(after, { halfIo: plan.halfIo }).changed).toBe(false);
        const expected = await run(bytes, feeds);
        const emulated = await run(bytesOfModel(runEmulation(modelFromBytes(bytes))), feeds);
        for (const [name, want] of expected) expectNear(want, emulated.get(name), name);
        const actual = await run(bytesOfModel(after), plan.halfIo ? feedsFor(after.graph.inputs) : feeds);
        for (const [name, want] of expected) expectNear(want, actual.get(name), name);
      }),
      { numRuns: graphs, seed },
    );
    expect(changed).toBeGreaterThan(graphs / 2);
  });
});

/** An input that a body refers to by name keeps its type. */
function feedsFor(inputs: readonly { name: string; declared: unknown }[]): Feeds {
  return Object.fromEntries(
    inputs.flatMap(({ name, declared }) => {
      const isHalf = JSON.stringify(declared).includes("float16");
      const tensor = (isHalf ? halfFeeds : feeds)[name];
      return tensor === undefined ? [] : [[name, tensor]];
    }),
  );
}

function expectNear(want: Tensor, got: Tensor | undefined, name: string): void {
  expect(got?.dims, name).toEqual(want.dims);
  const values = Array.from(got?.data as ArrayLike<number>, (value) =>
    got?.type === "float16" && got.data instanceof Uint16Array ? fromBits(value) : value,
  );
  for (const [index, value] of Array.from(want.data as Float32Array).entries()) {
    const other = values[index] ?? Number.NaN;
    if (!(Math.abs(value - other) <= tolerance * Math.max(1, Math.abs(value))))
      throw new Error(`${name}[${index}] is ${other}, expected ${value}`);
  }
}

function fromBits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
