import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { budgets } from "../../src/verify/index.ts";
import { float, floats, info, int64, integers, node, type types } from "../onnx/build.ts";
import { Models, pseudo } from "./models.ts";

let models: Models;
beforeAll(async () => {
  models = await Models.create();
});
afterAll(() => models[Symbol.dispose]());

interface Layers {
  /** Added to one weight of each layer, by index. */
  readonly wrong?: number;
  readonly by?: number;
}

/** Six products with Tanh between: h0 … h5, and a branch that joins before the end. */
function layered({ wrong, by = 0.01 }: Layers = {}): types.IGraphProto {
  const initializer: types.ITensorProto[] = [];
  const nodes: types.INodeProto[] = [];
  for (let layer = 0; layer < 6; layer++) {
    const weight = pseudo(64, layer);
    if (layer === wrong) weight[9] = (weight[9] ?? 0) + by;
    initializer.push(floats(`w${layer}`, [8, 8], weight));
    const input = layer === 0 ? "x" : `r${layer - 1}`;
    nodes.push(node("MatMul", [input, `w${layer}`], [`h${layer}`], { name: `layer${layer}` }));
    nodes.push(node("Tanh", [`h${layer}`], [`r${layer}`]));
  }
  nodes.push(node("Add", ["r1", "r5"], ["y"], { name: "join" }));
  return { node: nodes, initializer, input: [info("x", ["batch", 8])], output: [info("y", ["batch", 8])] };
}

function unary(opType: string, rest: types.INodeProto = {}): types.IGraphProto {
  return { node: [node(opType, ["x"], ["y"], rest)], input: [info("x", [4])], output: [info("y", [4])] };
}

describe("two models", () => {
  it("that are the same are the same, at two sizes of every symbol", async () => {
    const file = models.write("same", layered());
    const report = await models.report(file, file);
    expect(report).toMatchObject({ same: true, problems: [], firstDivergence: undefined });
    expect(new Set(report.draws.map(({ sizes }) => sizes["batch"]))).toEqual(new Set([0, 1, 3]));
    expect(new Set(report.draws.map(({ name }) => name.split(",")[0]))).toEqual(
      new Set(["normal", "large", "negative", "zero", "infinity", "nan", "huge"]),
    );
    expect(report.draws.slice(-2).map(({ name }) => name)).toEqual([
      "normal, seed 2, optimizations off",
      "normal, seed 2, all optimizations",
    ]);
    expect(report.outputs[0]?.difference).toMatchObject({ maximumError: 0, mismatches: 0 });
  });

  it.each([0, 2, 5])("of which one has a weight of layer %i changed differ there", async (wrong) => {
    const report = await models.report(models.write("a", layered()), models.write("b", layered({ wrong })));
    expect(report.same).toBe(false);
    expect(report.firstDivergence).toMatchObject({
      value: `h${wrong}`,
      node: `layer${wrong}`,
      operator: "MatMul",
    });
    const [output] = report.outputs;
    expect(output).toMatchObject({ name: "y", same: false });
    expect(output?.difference?.worst?.index).toHaveLength(2);
    expect(output?.difference?.maximumError).toBeGreaterThan(output?.allowed?.maximumError ?? Infinity);
  });

  it("differ by more than rounding, or not at all", async () => {
    const original = models.write("a", layered());
    const near = models.write("near", layered({ wrong: 3, by: 1e-9 }));
    expect(await models.report(original, near)).toMatchObject({ same: true });
    const far = models.write("far", layered({ wrong: 3, by: 1e-3 }));
    expect(await models.report(original, far)).toMatchObject({ same: false });
    const tolerant = { budget: { kind: "relative", tolerance: 0.1 } } as const;
    expect(await models.report(original, far, tolerant)).toMatchObject({ same: true });
  });

  it("hand out the inputs on which they differ, which show it again", async () => {
    const [a, b] = [models.write("a", layered()), models.write("b", layered({ wrong: 4 }))];
    const { failingInputs } = await models.compare(a, b);
    expect(failingInputs?.get("x")).toMatchObject({ dtype: "float32" });
    const again = await models.report(a, b, { inputs: failingInputs });
    expect(again).toMatchObject({
      same: false,
      draws: [{ name: "given" }, { name: "given, optimizations off" }, { name: "given, all optimizations" }],
    });
  });

  it("with other inputs or outputs are told apart without a run", async () => {
    const { problems, same } = await models.report(
      models.write("a", unary("Relu")),
      models.write("b", {
        node: [node("Relu", ["x2"], ["y"])],
        input: [info("x2", [4])],
        output: [info("y", [4])],
      }),
    );
    expect(same).toBe(false);
    expect(problems).toEqual(['input "x" is gone', 'input "x2" is new']);
  });

  it("of which the new one does not run differ", async () => {
    const broken = unary("Relu");
    broken.node = [node("NoSuchOperator", ["x"], ["y"])];
    const { same, problems } = await models.report(
      models.write("a", unary("Relu")),
      models.write("b", broken),
    );
    expect(same).toBe(false);
    expect(problems).toEqual([expect.stringMatching(/b\.onnx: ONNX Runtime cannot load it/)]);
  });

  it("with outputs of other shapes differ", async () => {
    const flat = { ...unary("Relu"), output: [info("y")] };
    const wide: types.IGraphProto = {
      node: [node("Concat", ["x", "x"], ["y"], { attribute: [{ name: "axis", type: 2, i: 0 }] })],
      input: [info("x", [4])],
      output: [info("y")],
    };
    const report = await models.report(models.write("a", flat), models.write("b", wide));
    expect(report.outputs).toMatchObject([{ same: false, problem: "has shape [8], expected [4]" }]);
  });
});

describe("NaN and infinities", () => {
  /** x / (x - x): NaN for 0 / 0, an infinity of the sign of x otherwise. */
  function divided(sign: string): types.IGraphProto {
    return {
      node: [node("Sub", ["x", "x"], ["zero"]), node("Div", ["x", "zero"], ["q"]), node(sign, ["q"], ["y"])],
      input: [info("x", [4])],
      output: [info("y", [4])],
    };
  }

  it("are the same where they are the same, and said to be all there is", async () => {
    const file = models.write("a", divided("Identity"));
    const report = await models.report(file, file);
    expect(report.same).toBe(true);
    expect(report.notices).toEqual(['output "y" of the original holds no finite number in any run']);
  });

  it("differ from each other and from numbers", async () => {
    const a = models.write("a", divided("Identity"));
    for (const operator of ["Neg", "Relu", "Erf"]) {
      const report = await models.report(a, models.write("b", divided(operator)));
      expect(report.same).toBe(false);
      expect(report.outputs[0]?.difference?.mismatches).toBeGreaterThan(0);
    }
  });
});

describe("integers", () => {
  it("are compared exactly, to the last of 64 bits", async () => {
    const added = (value: bigint): types.IGraphProto => ({
      node: [node("Add", ["ids", "offset"], ["y"])],
      initializer: [
        { name: "offset", dims: [1], dataType: int64, rawData: Buffer.from(BigInt64Array.of(value).buffer) },
      ],
      input: [info("ids", [4], int64)],
      output: [info("y", [4], int64)],
    });
    const a = models.write("a", added(2n ** 60n));
    const report = await models.report(a, models.write("b", added(2n ** 60n + 1n)));
    expect(report.outputs[0]).toMatchObject({ same: false, difference: { mismatches: 4 } });
    expect(report.outputs[0]?.difference?.worst?.actual).toMatch(/^11529215046068469\d\d$/);
    expect((await models.report(a, a)).same).toBe(true);
  });

  it("that are positions stay inside their table, through what moves them", async () => {
    const embedding: types.IGraphProto = {
      node: [
        node("Unsqueeze", ["ids", "axes"], ["column"]),
        node("Cast", ["column"], ["narrow"], { attribute: [{ name: "to", type: 2, i: 6 }] }),
        node("Add", ["narrow", "shift"], ["moved"]),
        node("Gather", ["table", "moved"], ["y"]),
      ],
      initializer: [
        integers("axes", [1], [1]),
        { name: "shift", dims: [], dataType: 6, int32Data: [3] },
        floats("table", [7, 2], pseudo(14)),
      ],
      input: [info("ids", ["n"], int64)],
      output: [info("y")],
    };
    const file = models.write("embedding", embedding);
    const { report } = await models.compare(file, file, { seeds: 5 });
    expect(report).toMatchObject({ same: true });
    expect(report.draws.length).toBeGreaterThan(6);
  });
});

describe("sizes of symbolic axes", () => {
  /** Takes multiples of 32 only. */
  const strided: types.IGraphProto = {
    node: [node("Reshape", ["x", "shape"], ["y"])],
    initializer: [integers("shape", [2], [-1, 32])],
    input: [info("x", [1, "width"])],
    output: [info("y")],
  };

  it("are found by trying", async () => {
    const file = models.write("strided", strided);
    const report = await models.report(file, file);
    expect(report.same).toBe(true);
    expect(new Set(report.draws.map(({ sizes }) => sizes["width"]))).toEqual(new Set([64, 96]));
  });

  it("are taken as given", async () => {
    const file = models.write("strided", strided);
    const report = await models.report(file, file, { sizes: { width: [32, 320] } });
    expect(new Set(report.draws.map(({ sizes }) => sizes["width"]))).toEqual(new Set([32, 320]));
    await expect(models.report(file, file, { sizes: { width: [33] } })).rejects.toMatchObject({
      code: "cannot-run",
    });
    await expect(models.report(file, file, { sizes: { height: [1] } })).rejects.toThrow(
      /symbolic dimension "height"/,
    );
  });
});

describe("half precision", () => {
  const half = 10;
  function product(inner: number, bias: number): types.IGraphProto {
    const weight = Float32Array.from(pseudo(64));
    const cast = (from: string, to: string, code: number) =>
      node("Cast", [from], [to], { attribute: [{ name: "to", type: 2, i: code }] });
    return {
      node: [
        cast("x", "xh", inner),
        cast("w", "wh", inner),
        node("MatMul", ["xh", "wh"], ["p"]),
        cast("p", "q", float),
        node("Add", ["q", "b"], ["y"]),
      ],
      initializer: [floats("w", [8, 8], [...weight]), floats("b", [1], [bias])],
      input: [info("x", [4, 8])],
      output: [info("y", [4, 8])],
    };
  }

  it("is within what rounding weights and inputs costs, and not within the budget of padding", async () => {
    const [a, b] = [models.write("a", product(float, 0)), models.write("b", product(half, 0))];
    expect(await models.report(a, b, { budget: budgets.float16 })).toMatchObject({ same: true });
    expect(await models.report(a, b)).toMatchObject({ same: false });
  });

  it("that is wrong by more is found", async () => {
    const [a, b] = [models.write("a", product(float, 0)), models.write("b", product(half, 0.05))];
    const report = await models.report(a, b, { budget: budgets.float16 });
    expect(report).toMatchObject({ same: false, firstDivergence: { operator: "Add" } });
  });
});

describe("an ill-conditioned original", () => {
  /** sin(factor x), the product in one step or in two: the last bit of it is `factor` times as large in the end. */
  function waves(factor: number, isSplit: boolean): types.IGraphProto {
    const nodes = isSplit
      ? [node("Mul", ["x", "less"], ["p"]), node("Add", ["p", "x"], ["q"])]
      : [node("Mul", ["x", "factor"], ["q"])];
    return {
      node: [...nodes, node("Sin", ["q"], ["y"])],
      initializer: [floats("factor", [], [factor]), floats("less", [], [factor - 1])],
      input: [info("x", [256])],
      output: [info("y", [256])],
    };
  }

  it("is given what its own rounding makes of it", async () => {
    const inputs = new Map([
      [
        "x",
        { dtype: "float32", dims: [256], data: Float32Array.from(pseudo(256), (each) => 3 * each) } as const,
      ],
    ]);
    const [a, b] = [models.write("a", waves(100, false)), models.write("b", waves(100, true))];
    expect(await models.report(a, b)).toMatchObject({ same: true });
    const report = await models.report(a, b, { inputs });
    expect(report.same).toBe(true);
    const [output] = report.outputs;
    expect(output?.difference?.maximumError).toBeGreaterThan(1e-5);
    expect(output?.allowed?.maximumError).toBeLessThanOrEqual(1e-3);
  });

  it("is not given more than a thousandth", async () => {
    const report = await models.report(
      models.write("a", waves(1e6, false)),
      models.write("b", waves(1e6, true)),
    );
    expect(report.same).toBe(false);
  });
});

describe("padded values", () => {
  /** Two products with `inner` columns between, of which six are real. */
  function perceptron(inner: number, wrong: number): types.IGraphProto {
    const into = Array.from({ length: 4 * inner }, (_, i) =>
      i % inner < 6 ? (pseudo(24)[6 * Math.floor(i / inner) + (i % inner)] ?? 0) : 0,
    );
    const out = Array.from({ length: 3 * inner }, (_, i) => (i < 18 ? (pseudo(18, 2)[i] ?? 0) : 0));
    into[1] = (into[1] ?? 0) + wrong;
    return {
      node: [node("MatMul", ["x", "into"], ["h"]), node("MatMul", ["h", "out"], ["y"])],
      initializer: [floats("into", [4, inner], into), floats("out", [inner, 3], out)],
      input: [info("x", [2, 4])],
      output: [info("y", [2, 3])],
    };
  }

  it("are the same function, and compared on their real lanes where it is not", async () => {
    const original = models.write("a", perceptron(6, 0));
    expect(await models.report(original, models.write("b", perceptron(8, 0)))).toMatchObject({ same: true });
    const wrong = models.write("wrong", perceptron(8, 0.01));
    expect((await models.report(original, wrong)).firstDivergence).toMatchObject({ value: "y" });
    const lanes = new Map([["h", [undefined, [0, 1, 2, 3, 4, 5]]]]);
    const { firstDivergence } = await models.report(original, wrong, { lanes });
    expect(firstDivergence).toMatchObject({
      value: "h",
      difference: { worst: { index: [expect.any(Number), 1] } },
    });
  });
});

describe("transposed inputs and outputs", () => {
  const transposed = (perm: number[]) => ({ attribute: [{ name: "perm", type: 7, ints: perm }] });

  it("are compared where the caller says how", async () => {
    const a = models.write("nchw", {
      node: [node("Mul", ["x", "k"], ["y"])],
      initializer: [floats("k", [3, 1, 1], [1, 2, 3])],
      input: [info("x", [1, 3, 4, 5])],
      output: [info("y", [1, 3, 4, 5])],
    });
    const b = models.write("nhwc", {
      node: [
        node("Transpose", ["x"], ["t"], transposed([0, 3, 1, 2])),
        node("Mul", ["t", "k"], ["s"]),
        node("Transpose", ["s"], ["y"], transposed([0, 2, 3, 1])),
      ],
      initializer: [floats("k", [3, 1, 1], [1, 2, 3])],
      input: [info("x", [1, 4, 5, 3])],
      output: [info("y", [1, 4, 5, 3])],
    });
    const toNhwc = [0, 2, 3, 1];
    const permutations = new Map([
      ["x", toNhwc],
      ["y", toNhwc],
    ]);
    expect(await models.report(a, b, { permutations })).toMatchObject({ same: true });
    expect(await models.report(a, b)).toMatchObject({ same: false });
  });
});

describe("what cannot be compared", () => {
  it("is named: missing weights, random numbers, inputs without a shape", async () => {
    const external: types.ITensorProto = {
      name: "w",
      dims: [4],
      dataType: float,
      dataLocation: 1,
      externalData: [{ key: "location", value: "gone.bin" }],
    };
    const skeleton = models.write("skeleton", {
      ...unary("Relu"),
      node: [node("Add", ["x", "w"], ["y"])],
      initializer: [external],
    });
    await expect(models.report(skeleton, skeleton)).rejects.toMatchObject({ code: "weights-missing" });
    const random = models.write("random", {
      node: [node("RandomNormalLike", ["x"], ["y"])],
      input: [info("x", [4])],
      output: [info("y", [4])],
    });
    await expect(models.report(random, random)).rejects.toMatchObject({ code: "random-operator" });
    const shapeless = models.write("shapeless", { ...unary("Relu"), input: [info("x")] });
    await expect(models.report(shapeless, shapeless)).rejects.toMatchObject({ code: "unknown-shape" });
    const absent = path.join(models.folder, "absent.onnx");
    await expect(models.report(absent, absent)).rejects.toMatchObject({ code: "not-found" });
  });
});

describe("the child process", () => {
  /** A loop of products that runs for many minutes. */
  function endless(): types.IGraphProto {
    const body: types.IGraphProto = {
      name: "body",
      node: [
        node("Identity", ["cond"], ["cond_out"]),
        node("MatMul", ["v", "v"], ["p"]),
        node("Tanh", ["p"], ["v_out"]),
      ],
      input: [info("i", [], int64), info("cond", [], 9), info("v", [256, 256])],
      output: [info("cond_out", [], 9), info("v_out", [256, 256])],
    };
    return {
      node: [node("Loop", ["rounds", "", "x"], ["y"], { attribute: [{ name: "body", type: 5, g: body }] })],
      initializer: [integers("rounds", [], [100_000_000])],
      input: [info("x", [256, 256])],
      output: [info("y", [256, 256])],
    };
  }

  it("is killed when it takes too long", async () => {
    const file = models.write("endless", endless());
    const start = performance.now();
    await expect(models.report(file, file, { timeoutSeconds: 3 })).rejects.toMatchObject({
      code: "verify-timeout",
      message: expect.stringMatching(/stopped after 3 s, while at: the original, normal, seed 1/),
    });
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it("that crashes is named, with what it said", async () => {
    const script = path.join(models.folder, "crash.mjs");
    writeFileSync(
      script,
      'process.on("message", () => { process.stderr.write("so long"); process.abort(); });',
    );
    const file = models.write("a", unary("Relu"));
    await expect(models.report(file, file, { childUrl: pathToFileURL(script) })).rejects.toMatchObject({
      code: "verify-crashed",
      message: expect.stringMatching(/ended by SIGABRT.*so long/s),
    });
  });

  it("ends itself when it takes too much memory", async () => {
    const expanded: types.IGraphProto = {
      node: [
        node("Expand", ["x", "shape"], ["large"]),
        node("Sin", ["large"], ["sin"]),
        node("ReduceSum", ["sin"], ["y"]),
      ],
      initializer: [integers("shape", [2], [1 << 14, 1 << 14])],
      input: [info("x", [1])],
      output: [info("y")],
    };
    const file = models.write("expanded", expanded);
    await expect(models.report(file, file, { memoryBytes: 600e6 })).rejects.toMatchObject({
      code: "verify-memory",
    });
  });
});
