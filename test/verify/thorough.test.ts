import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { budgets } from "../../src/verify/index.ts";
import { float, floats, info, int64, integers, node, type types } from "../onnx/build.ts";
import { Models, pseudo } from "./models.ts";

/** Candidates that are wrong only where few look: each was verified once. */
let models: Models;
beforeAll(async () => {
  models = await Models.create();
});
afterAll(() => models[Symbol.dispose]());

const ints = (name: string, values: number[]) => ({ name, type: 7, ints: values });
const int = (name: string, i: number) => ({ name, type: 2, i });

/** x [batch, seq, 12] in three heads of four: the target of the Reshape is computed, or `baked` into the file. */
function heads(baked?: readonly number[]): types.IGraphProto {
  const target: types.INodeProto[] =
    baked === undefined
      ? [
          node("Shape", ["x"], ["shape"]),
          node("Gather", ["shape", "two"], ["rows"]),
          node("Concat", ["rows", "rest"], ["target"], { attribute: [int("axis", 0)] }),
        ]
      : [];
  return {
    node: [
      ...target,
      node("MatMul", ["x", "w"], ["p"]),
      node("Reshape", ["p", "target"], ["split"]),
      node("Transpose", ["split"], ["y"], { attribute: [ints("perm", [0, 2, 1, 3])] }),
    ],
    initializer: [
      floats("w", [12, 12], pseudo(144)),
      integers("two", [2], [0, 1]),
      integers("rest", [2], [3, 4]),
      ...(baked === undefined ? [] : [integers("target", [4], [...baked])]),
    ],
    input: [info("x", ["batch", "seq", 12])],
    output: [info("y", ["batch", 3, "seq", 4])],
  };
}

describe("sizes that a caller has bound", () => {
  const sizes = { batch: [8], seq: [64] };

  it("and that are baked into the candidate refute it", async () => {
    const original = models.write("heads", heads());
    expect(await models.report(original, original, { sizes, otherSizes: true })).toMatchObject({
      same: true,
    });
    for (const baked of [
      [8, 64, 3, 4],
      [8, -1, 3, 4],
      [-1, 64, 3, 4],
    ]) {
      const report = await models.report(original, models.write("baked", heads(baked)), {
        sizes,
        otherSizes: true,
      });
      expect(report.same, String(baked)).toBe(false);
    }
  });

  it("are the only ones where the caller says so", async () => {
    const original = models.write("heads", heads());
    const { draws, same } = await models.report(original, models.write("baked", heads([8, 64, 3, 4])), {
      sizes,
    });
    expect(same).toBe(true);
    expect(new Set(draws.map(({ sizes: { batch, seq } }) => `${batch} ${seq}`))).toEqual(new Set(["8 64"]));
  });

  it("may be of other models: those say nothing here", async () => {
    const original = models.write("heads", heads());
    const more = { ...sizes, height: [224] };
    expect(await models.report(original, original, { sizes: more, otherSizes: true })).toMatchObject({
      same: true,
    });
  });

  it("that alone run are said to be all", async () => {
    const only: types.IGraphProto = {
      node: [node("Add", ["x", "w"], ["y"])],
      initializer: [floats("w", [40, 1], pseudo(40))],
      input: [info("x", ["n", "wide"])],
      output: [info("y")],
    };
    const file = models.write("only", only);
    const report = await models.report(file, file, { sizes: { n: [40], wide: [6] }, otherSizes: true });
    expect(report.same).toBe(true);
    expect(new Set(report.draws.map(({ sizes: at }) => at["wide"])).size).toBeGreaterThan(1);
    // A single row is repeated forty times; no other size is.
    expect(new Set(report.draws.map(({ sizes: at }) => at["n"]))).toEqual(new Set([40, 1]));
  });
});

describe("sizes that nobody has bound", () => {
  it("vary where the axis has no name", async () => {
    const anonymous = (baked?: number): types.IGraphProto => ({
      node: baked === undefined ? [node("Flatten", ["x"], ["y"])] : [node("Reshape", ["x", "target"], ["y"])],
      initializer: baked === undefined ? [] : [integers("target", [2], [baked, -1])],
      input: [
        { name: "x", type: { tensorType: { elemType: float, shape: { dim: [{}, { dimValue: 3 }, {}] } } } },
      ],
      output: [info("y")],
    });
    const original = models.write("anonymous", anonymous());
    for (const baked of [1, 3]) {
      const report = await models.report(original, models.write("baked", anonymous(baked)));
      expect(report.same).toBe(false);
    }
  });

  it("are alike where the original takes nothing else", async () => {
    const tied: types.IGraphProto = {
      node: [node("Concat", ["a", "b"], ["y"], { attribute: [int("axis", 2)] })],
      input: [info("a", ["batch_a", 4, 2]), info("b", ["rows", "rows", 2])],
      output: [info("y")],
    };
    // b is square, and a has four columns: nothing runs but four rows, as the file's own numbers say.
    const file = models.write("tied", tied);
    const settled = await models.report(file, file);
    expect(settled.same).toBe(true);
    expect(new Set(settled.draws.map(({ sizes }) => sizes["rows"]))).toEqual(new Set([4]));
    const free: types.IGraphProto = {
      ...tied,
      input: [info("a", ["batch_a", "columns", 2]), info("b", ["rows", "rows", 2])],
    };
    const second = models.write("free", free);
    const report = await models.report(second, second);
    expect(report.same).toBe(true);
    expect(new Set(report.draws.map(({ sizes }) => sizes["rows"])).size).toBeGreaterThan(1);
  });

  it("include no samples at all", async () => {
    const reduced = (keep: number): types.IGraphProto => ({
      // A mean of nothing is NaN; a Reshape that takes 0 for "as it was" is not one that takes it for 0.
      node: [node("Reshape", ["x", "target"], ["y"], { attribute: [int("allowzero", 0)] })],
      initializer: [integers("target", [2], [keep, 6])],
      input: [info("x", ["batch", 6])],
      output: [info("y")],
    });
    const original = models.write("reduced", reduced(0));
    const { report } = await models.compare(original, models.write("rest", reduced(-1)));
    expect(report.draws.some(({ sizes }) => sizes["batch"] === 0)).toBe(true);
  });
});

it("a batch of nothing that ends ONNX Runtime itself is left out", async () => {
  const gru: types.IGraphProto = {
    node: [node("GRU", ["x", "w", "r"], ["y"], { attribute: [int("hidden_size", 2)] })],
    initializer: [floats("w", [1, 6, 3], pseudo(18)), floats("r", [1, 6, 2], pseudo(12))],
    input: [info("x", [4, "batch", 3])],
    output: [info("y")],
  };
  const file = models.write("gru", gru);
  const { same, notices } = await models.report(file, file);
  expect(same).toBe(true);
  expect(notices).toEqual([expect.stringMatching(/^not compared at a batch of 0/)]);
});

describe("unusual inputs", () => {
  it("are ids counted from the end of a table", async () => {
    const table = (rows: number): types.IGraphProto => ({
      node: [node("Gather", ["table", "ids"], ["y"])],
      initializer: [
        floats("table", [rows, 2], [...pseudo(14), ...new Array<number>(2 * (rows - 7)).fill(0)]),
      ],
      input: [info("ids", [2, 3], int64)],
      output: [info("y")],
    });
    const original = models.write("table", table(7));
    expect(await models.report(original, original)).toMatchObject({ same: true });
    const report = await models.report(original, models.write("padded", table(8)));
    expect(report).toMatchObject({ same: false });
    expect(report.outputs[0]?.draw).toMatch(/^negative ids/);
  });

  /** x · into → Tanh → · out, with `inner` columns between, of which six are real and the others zero. */
  function saturated(inner: number): types.IGraphProto {
    const into = Array.from({ length: 4 * inner }, (_, i) => (i % inner < 6 ? 0.5 + (i % inner) / 8 : 0));
    const out = Array.from({ length: 3 * inner }, (_, i) => (i < 18 ? (pseudo(18, 2)[i] ?? 0) : 0));
    return {
      node: [
        node("MatMul", ["x", "into"], ["h"]),
        node("Tanh", ["h"], ["t"]),
        node("MatMul", ["t", "out"], ["y"]),
      ],
      initializer: [floats("into", [4, inner], into), floats("out", [inner, 3], out)],
      input: [info("x", [2, 4])],
      output: [info("y", [2, 3])],
    };
  }

  it("are infinities, which saturate, and of which padding makes NaN", async () => {
    const original = models.write("six", saturated(6));
    expect(await models.report(original, original)).toMatchObject({ same: true });
    const report = await models.report(original, models.write("eight", saturated(8)));
    expect(report.same).toBe(false);
    expect(report.outputs[0]?.draw).toMatch(/^infinity/);
  });

  it("are zeros of both signs", async () => {
    const absolute = (nodes: types.INodeProto[]): types.IGraphProto => ({
      node: [...nodes, node("Reciprocal", ["a"], ["y"])],
      initializer: [floats("zero", [], [0])],
      input: [info("x", [4])],
      output: [info("y", [4])],
    });
    const original = models.write("sign", absolute([node("Identity", ["x"], ["a"])]));
    const added = models.write("added", absolute([node("Add", ["x", "zero"], ["a"])]));
    expect(await models.report(original, added)).toMatchObject({ same: false });
  });

  it("are masks that leave nothing", async () => {
    const least = -3.4028234663852886e38;
    const masked = (isClamped: boolean): types.IGraphProto => ({
      node: [
        ...(isClamped ? [node("Max", ["mask", "least"], ["bounded"])] : []),
        node("Add", ["x", isClamped ? "bounded" : "mask"], ["scores"]),
        node("Softmax", ["scores"], ["y"], { attribute: [int("axis", -1)] }),
      ],
      initializer: [floats("least", [], [least])],
      input: [info("x", [1, 4, 8]), info("mask", [1, 4, 8])],
      output: [info("y", [1, 4, 8])],
    });
    const report = await models.report(
      models.write("masked", masked(false)),
      models.write("clamped", masked(true)),
    );
    expect(report.same).toBe(false);
  });

  it("are masks of numbers that half does not have, where the input stays FP32", async () => {
    const cast = (from: string, to: string, code: number) =>
      node("Cast", [from], [to], { attribute: [int("to", code)] });
    const graph = (nodes: types.INodeProto[]): types.IGraphProto => ({
      node: nodes,
      input: [info("x", [1, 4, 8]), info("mask", [1, 4, 8])],
      output: [info("y", [1, 4, 8])],
    });
    const softmax = (from: string, to: string) => [
      node("Softmax", [from], [to], { attribute: [int("axis", -1)] }),
    ];
    const original = models.write("masked", graph([node("Add", ["x", "mask"], ["s"]), ...softmax("s", "y")]));
    const halved = models.write(
      "halved",
      graph([
        cast("mask", "half", 10),
        cast("half", "wide", 1),
        node("Add", ["x", "wide"], ["s"]),
        ...softmax("s", "y"),
      ]),
    );
    const report = await models.report(original, halved, { budget: budgets.float16 });
    expect(report.same).toBe(false);
    expect(report.outputs[0]?.draw).toMatch(/^masked/);
  });

  it("do not count where the original itself overflows this way or that", async () => {
    // 1e30 · 1e30 overflows at once, or not at all where 1e-30 comes first; its variants tell, and nothing else.
    const sines = (factor: number): types.IGraphProto => ({
      node: [node("Mul", ["x", "f"], ["p"]), node("Sin", ["p"], ["y"])],
      initializer: [floats("f", [], [factor])],
      input: [info("x", [64])],
      output: [info("y", [64])],
    });
    const [a, b] = [models.write("a", sines(2)), models.write("b", sines(2 * (1 + 2 ** -23)))];
    expect(await models.report(a, b)).toMatchObject({ same: true });
  });
});

describe("optimizations", () => {
  /** A Cast of a constant, into a Clip that has no kernel for what it gives: folded away, unless nothing is. */
  const hidden: types.IGraphProto = {
    node: [
      node("Cast", ["w"], ["narrow"], { attribute: [int("to", 10)] }),
      node("Erf", ["narrow"], ["e"]),
      node("Cast", ["e"], ["wide"], { attribute: [int("to", 1)] }),
      node("Mul", ["x", "wide"], ["y"]),
    ],
    initializer: [floats("w", [4], [0, 0, 0, 0])],
    input: [info("x", [4])],
    output: [info("y", [4])],
  };

  it("are off in one run", async () => {
    const file = models.write("hidden", hidden);
    const report = await models.report(file, file);
    expect(report.draws.filter(({ name }) => name.endsWith("optimizations off"))).toHaveLength(1);
    expect(report.notices).toEqual([]);
  });
});
