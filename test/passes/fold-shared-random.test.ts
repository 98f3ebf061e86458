/** Drawn graphs over a few weights that everything shares, dense and sparse, old and new: folding keeps what they compute. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { info, integers, modelBytes, node, onnx, floats as tensorOf, type types } from "../onnx/build.ts";
import { bytesOfModel, difference, floats, foldBytes, noise, run } from "./folding.ts";

const { TC_LINT_FUZZ_RUNS: runsGiven = "120", TC_LINT_FUZZ_SEED: seedGiven = "20261122" } = process.env;
const seed = seedGiven === "random" ? {} : { seed: Number(seedGiven) };
const size = 6;

type Draws = readonly number[];

/** Nodes, and the weights that they come to need. */
class Network {
  readonly nodes: types.INodeProto[] = [];
  readonly initializers = new Map<string, types.ITensorProto>();
  readonly sparse = new Map<string, types.ISparseTensorProto>();
  readonly hasSparse: boolean;
  #count = 0;

  constructor(hasSparse: boolean) {
    this.hasSparse = hasSparse;
  }

  add(
    opType: string,
    inputs: string[],
    attributes: Readonly<Record<string, number | number[]>> = {},
  ): string {
    this.#count += 1;
    const output = `n${this.#count}`;
    const attribute = Object.entries(attributes).map(([name, value]) =>
      Array.isArray(value) ? { name, type: 7, ints: value } : { name, type: 2, i: value },
    );
    this.nodes.push(node(opType, inputs, [output], { attribute }));
    return output;
  }

  weight(name: string, dims: number[], values: readonly number[]): string {
    this.initializers.set(name, tensorOf(name, dims, values));
    return name;
  }

  matrix(draw: number): string {
    return this.weight(`w${draw % 3}`, [size, size], noise(size * size, 1 + (draw % 3)));
  }

  vector(draw: number): string {
    return this.weight(`v${draw % 3}`, [size], noise(size, 11 + (draw % 3)));
  }

  indices(values: number[]): string {
    const name = `i${values.join("_")}`;
    this.initializers.set(name, integers(name, [values.length], values));
    return name;
  }

  /** A row of which every other element is stored: an initializer or a Constant; a dense one where there are no such. */
  row(draw: number): string {
    if (!this.hasSparse) return this.vector(draw);
    const name = `s${draw % 2}`;
    const sparseTensor = {
      values: tensorOf(name, [3], noise(3, 21 + (draw % 2))),
      indices: integers("", [3], [0, 2, 4]),
      dims: [size],
    };
    if (draw % 3 === 0) {
      this.#count += 1;
      const attribute = [{ name: "sparse_value", type: 11, sparseTensor }];
      this.nodes.push(node("Constant", [], [`n${this.#count}`], { attribute }));
      return `n${this.#count}`;
    }
    this.sparse.set(name, sparseTensor);
    return name;
  }

  norm(x: string, draw: number): string {
    const variance = noise(size, 31).map((value) => value * value + 0.5);
    const parameters = [
      this.vector(draw),
      this.vector(draw + 1),
      this.vector(0),
      this.weight("var", [size], variance),
    ];
    return this.add("BatchNormalization", [x, ...parameters]);
  }
}

/** On values [4, 6]. */
const steps: Readonly<Record<string, (net: Network, x: string, draws: Draws, other: string) => string>> = {
  Relu: (net, x) => net.add("Relu", [x]),
  Identity: (net, x) => net.add("Identity", [x]),
  // By way of half a last bit would be a large one.
  Casts: (net, x) => net.add("Cast", [net.add("Cast", [x], { to: 11 })], { to: 1 }),
  "Add of itself": (net, x) => net.add("Add", [x, x]),
  "Add of another": (net, x, _, other) => net.add("Add", [x, other]),
  "Add of a sparse row": (net, x, [row = 0]) => net.add("Add", [x, net.row(row)]),
  MatMul: (net, x, [w = 0]) => net.add("MatMul", [x, net.matrix(w)]),
  "MatMul of its own": (net, x, [seed = 0]) =>
    net.add("MatMul", [x, net.weight(`o${seed}`, [size, size], noise(size * size, seed))]),
  "MatMul turned": (net, x, [w = 0]) =>
    net.add("MatMul", [x, net.add("Transpose", [net.matrix(w)], { perm: [1, 0] })]),
  Gemm: (net, x, [w = 0, v = 0]) => net.add("Gemm", [x, net.matrix(w), net.vector(v)], { transB: w % 2 }),
  "Transpose there and back": (net, x) =>
    net.add("Transpose", [net.add("Transpose", [x], { perm: [1, 0] })], { perm: [1, 0] }),
  "MatMul, bias": (net, x, [seed = 0, v = 0]) =>
    net.add("Add", [
      net.add("MatMul", [x, net.weight(`o${seed}`, [size, size], noise(size * size, seed))]),
      net.vector(v),
    ]),
  BatchNormalization: (net, x, [draw = 0]) => net.norm(x, draw),
  Expand: (net, x, [row = 0]) =>
    net.add("Add", [x, net.add("Expand", [net.vector(row), net.indices([4, size])])]),
  Tile: (net, x, [row = 0]) => {
    const flat = net.add("Reshape", [net.vector(row), net.indices([1, size])]);
    return net.add("Add", [x, net.add("Tile", [flat, net.indices([4, 1])])]);
  },
  Reshape: (net, x) => {
    const count = net.add("Gather", [net.add("Shape", [x]), net.indices([1])]);
    const target = net.add("Concat", [net.indices([4]), count], { axis: 0 });
    return net.add("Reshape", [net.add("Reshape", [x, net.indices([-1])]), target]);
  },
};

const plans = fc.record({
  irVersion: fc.constantFrom(3, 8),
  hasSparse: fc.boolean(),
  steps: fc.array(
    fc.record({
      step: fc.constantFrom(...Object.keys(steps)),
      from: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 3 }) }),
      draws: fc.array(fc.nat({ max: 50 }), { minLength: 2, maxLength: 2 }),
    }),
    { minLength: 2, maxLength: 14 },
  ),
  outputs: fc.array(fc.nat({ max: 13 }), { maxLength: 2 }),
});

type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never;

function build({ irVersion, hasSparse, steps: plan, outputs }: Plan): Uint8Array {
  const net = new Network(hasSparse && irVersion > 3);
  const values = ["x"];
  for (const { step, from, draws } of plan) {
    const x = values.at(-1 - (from % values.length)) ?? "x";
    values.push(steps[step]?.(net, x, draws, values.at(-2) ?? "x") ?? "x");
  }
  const named = new Set([values.length - 1, ...outputs.map((at) => 1 + (at % (values.length - 1)))]);
  const initializer = [...net.initializers.values()];
  const listed = irVersion < 4 ? initializer : [];
  return modelBytes(
    {
      node: net.nodes,
      input: [info("x", [4, size]), ...listed.map(declare)],
      output: [...named].map((at) => info(values[at] ?? "", [4, size])),
      initializer,
      sparseInitializer: [...net.sparse.values()],
    },
    { irVersion, opsetImport: [{ domain: "", version: irVersion < 4 ? 8 : 17 }] },
  );
}

function declare({ name, dims, dataType }: types.ITensorProto): types.IValueInfoProto {
  return info(name ?? "", (dims ?? []).map(Number), dataType ?? 1);
}

/** Bytes of a small constant, its name and its declaration. */
const maxGrowth = 400;

describe("Drawn graphs over shared weights", () => {
  it("compute the same after folding, in files of the same kind that are not larger", async () => {
    let removed = 0;
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const bytes = build(plan);
        const { before, after } = foldBytes(bytes);
        const gone = before.graph.nodes.length - after.graph.nodes.length;
        removed += gone;
        expect(after.bytes - before.bytes).toBeLessThanOrEqual(maxGrowth * gone);
        const feeds = { x: floats([4, size]) };
        const written = bytesOfModel(after);
        expect(difference(await run(bytes, feeds), await run(written, feeds))).toBeLessThanOrEqual(1e-4);
        const { graph } = onnx.ModelProto.decode(written);
        const listed = plan.irVersion < 4 ? (graph?.initializer ?? []) : [];
        const names = (list: readonly { readonly name?: string | null }[]) =>
          list.map(({ name }) => name).sort();
        expect(names(graph?.input ?? [])).toEqual(["x", ...names(listed)].sort());
      }),
      { numRuns: Number(runsGiven), ...seed },
    );
    expect(removed).toBeGreaterThan(100);
  });
});
