import { describe, expect, it } from "vitest";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { requiredInputs } from "../../src/ir/symbols.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { type Draw, drawInputs } from "../../src/verify/inputs.ts";
import { sizeAttempts } from "../../src/verify/sizes.ts";
import { numbersOf } from "../../src/verify/tensor.ts";
import { useOf } from "../../src/verify/use.ts";
import { floats, info, int64, integers, modelBytes, node, type types } from "../onnx/build.ts";

const plain: Draw = { kind: "normal", seed: 1, sizes: new Map(), isNarrow: false };

function open(graph: types.IGraphProto, rest: types.IModelProto = {}): OpenModel {
  return modelFromBytes(modelBytes(graph, rest));
}

function useOfInput(graph: types.IGraphProto, name = "ids", rest: types.IModelProto = {}) {
  using model = open(graph, rest);
  const input = requiredInputs(model).find((value) => value.name === name);
  if (input === undefined) throw new Error(`no input ${name}`);
  return useOf(model, input, new Map());
}

function drawn(graph: types.IGraphProto, draw: Draw, name = "ids"): number[] {
  using model = open(graph);
  const tensor = drawInputs(model, draw).get(name);
  return tensor === undefined ? [] : Array.from(numbersOf(tensor));
}

const attribute = (name: string, i: number) => ({ name, type: 2, i });
const table = floats("table", [7, 2], new Array<number>(14).fill(0));

/** A table of 7 rows, read at `ids` after `nodes` have moved them from "ids" to "at". */
function lookup(nodes: types.INodeProto[], more: types.ITensorProto[] = []): types.IGraphProto {
  return {
    node: [...nodes, node("Gather", ["table", "at"], ["y"])],
    initializer: [table, ...more],
    input: [info("ids", [2, 50], int64)],
    output: [info("y")],
  };
}

describe("the use of an input", () => {
  it("is an index of a table, through what moves elements", () => {
    for (const nodes of [
      [node("Identity", ["ids"], ["at"])],
      [node("Transpose", ["ids"], ["t"]), node("Flatten", ["t"], ["at"])],
      [node("Concat", ["ids", "ids"], ["at"], { attribute: [attribute("axis", 0)] })],
      [node("Cast", ["ids"], ["at"], { attribute: [attribute("to", 6)] })],
    ]) {
      expect(useOfInput(lookup(nodes))).toEqual({ kind: "index", below: 7 });
    }
  });

  it("counts what is added to it, and takes the smallest of several tables", () => {
    const shifted = lookup([node("Add", ["ids", "shift"], ["at"])], [integers("shift", [2], [1, 3])]);
    expect(useOfInput(shifted)).toEqual({ kind: "index", below: 4 });
    const graph = lookup([node("Identity", ["ids"], ["at"]), node("Gather", ["small", "ids"], ["z"])]);
    graph.initializer?.push(floats("small", [3, 1], [0, 0, 0]));
    expect(useOfInput(graph)).toEqual({ kind: "index", below: 3 });
  });

  it("is found inside local functions and subgraphs", () => {
    const body: types.IFunctionProto = {
      domain: "local",
      name: "Embed",
      input: ["t", "i"],
      output: ["o"],
      node: [node("Gather", ["t", "i"], ["o"], { attribute: [attribute("axis", 0)] })],
      opsetImport: [{ domain: "", version: 17 }],
    };
    const graph: types.IGraphProto = {
      node: [node("Embed", ["table", "ids"], ["y"], { domain: "local" })],
      initializer: [table],
      input: [info("ids", [2], int64)],
      output: [info("y")],
    };
    const opsetImport = [
      { domain: "", version: 17 },
      { domain: "local", version: 1 },
    ];
    expect(useOfInput(graph, "ids", { functions: [body], opsetImport })).toEqual({ kind: "index", below: 7 });
    const branch: types.IGraphProto = {
      name: "branch",
      node: [node("Gather", ["table", "ids"], ["o"])],
      output: [info("o")],
    };
    const conditional: types.IGraphProto = {
      node: [
        node("If", ["c"], ["y"], {
          attribute: [
            { name: "then_branch", type: 5, g: branch },
            {
              name: "else_branch",
              type: 5,
              g: { ...branch, node: [node("Gather", ["table", "ids"], ["o"])] },
            },
          ],
        }),
      ],
      initializer: [table],
      input: [info("ids", [2], int64), info("c", [], 9)],
      output: [info("y")],
    };
    expect(useOfInput(conditional)).toEqual({ kind: "index", below: 7 });
    expect(useOfInput(conditional, "c")).toEqual({ kind: "mask" });
  });

  it("is a length of a sequence, a count, or a mask", () => {
    const lstm: types.IGraphProto = {
      node: [node("LSTM", ["x", "w", "r", "", "ids"], ["y"], { attribute: [attribute("hidden_size", 2)] })],
      initializer: [
        floats("w", [1, 8, 3], new Array<number>(24).fill(0)),
        floats("r", [1, 8, 2], new Array<number>(16).fill(0)),
      ],
      input: [info("x", [5, 2, 3]), info("ids", [2], 6)],
      output: [info("y")],
    };
    expect(useOfInput(lstm)).toEqual({ kind: "count", most: 5 });
    const named: types.IGraphProto = {
      node: [node("Cast", ["attention_mask"], ["y"], { attribute: [attribute("to", 1)] })],
      input: [info("attention_mask", [2, 3], int64)],
      output: [info("y")],
    };
    expect(useOfInput(named, "attention_mask")).toEqual({ kind: "mask" });
  });
});

describe("drawn inputs", () => {
  const ids = lookup([node("Identity", ["ids"], ["at"])]);

  it("are positions in the table, its ends among them", () => {
    for (const kind of ["normal", "large", "negative", "zero"] as const) {
      for (const value of drawn(ids, { ...plain, kind })) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThan(7);
      }
    }
    expect(new Set(drawn(ids, plain)).size).toBe(7);
    expect(new Set(drawn(ids, { ...plain, kind: "large" }))).toEqual(new Set([0, 6]));
    expect(new Set(drawn(ids, { ...plain, kind: "zero" }))).toEqual(new Set([0]));
  });

  it("are the same for a seed, and others for another", () => {
    expect(drawn(ids, plain)).toEqual(drawn(ids, plain));
    expect(drawn(ids, { ...plain, seed: 2 })).not.toEqual(drawn(ids, plain));
  });

  it("are normal, negative, large or zero where they are floats", () => {
    const graph = { node: [node("Relu", ["x"], ["y"])], input: [info("x", [4000])], output: [info("y")] };
    const of = (kind: Draw["kind"]) => drawn(graph, { ...plain, kind }, "x");
    const normal = of("normal");
    const mean = normal.reduce((total, value) => total + value, 0) / normal.length;
    const square = normal.reduce((total, value) => total + value * value, 0) / normal.length;
    expect(Math.abs(mean)).toBeLessThan(0.06);
    expect(Math.abs(square - 1)).toBeLessThan(0.08);
    expect(Math.max(...of("negative"))).toBeLessThanOrEqual(0);
    expect(Math.max(...of("large").map(Math.abs))).toBeGreaterThan(30);
    expect(new Set(of("zero"))).toEqual(new Set([0]));
  });

  it("keep something in every row of a mask", () => {
    const graph = {
      node: [node("Where", ["m", "x", "x"], ["y"])],
      input: [info("m", [30, 8], 9), info("x", [30, 8])],
      output: [info("y")],
    };
    const mask = drawn(graph, plain, "m");
    const rows = Array.from({ length: 30 }, (_, row) => mask.slice(8 * row, 8 * row + 8));
    for (const row of rows) expect(row[0]).toBe(1);
    expect(rows.some((row) => row.includes(0))).toBe(true);
  });
});

describe("sizes", () => {
  it("are two of each symbol, and sums of symbols by their name", () => {
    using model = open({
      node: [node("Add", ["x", "x"], ["y"]), node("Relu", ["m"], ["z"])],
      input: [info("x", ["batch", "past", "width"]), info("m", ["batch", "past + width"])],
      output: [info("y"), info("z")],
    });
    const [first = []] = sizeAttempts(model, {});
    expect(first.map((bindings) => Object.fromEntries(bindings))).toEqual([
      { batch: 1, past: 8, width: 8, "past + width": 16 },
      { batch: 3, past: 12, width: 12, "past + width": 24 },
    ]);
    const [given = []] = sizeAttempts(model, { width: [5, 6, 7] });
    expect(given.map((bindings) => bindings.get("width"))).toEqual([5, 6, 7]);
  });

  it("of inputs that are initializers are not asked for", () => {
    using model = open({
      node: [node("Add", ["x", "w"], ["y"])],
      initializer: [floats("w", [2], [1, 2])],
      input: [info("x", [2]), info("w", [2])],
      output: [info("y")],
    });
    expect(requiredInputs(model).map(({ name }) => name)).toEqual(["x"]);
    expect(sizeAttempts(model, {})).toEqual([[new Map()]]);
  });
});

it("inputs that are too large to draw are refused by name", () => {
  const graph = {
    node: [node("Relu", ["ids"], ["y"])],
    input: [info("ids", ["n"])],
    output: [info("y", ["n"])],
  };
  const draw = { ...plain, sizes: new Map([["n", 1e9]]) };
  expect(() => drawn(graph, draw)).toThrow(/"ids" has 1,000,000,000 elements .* at most 268,435,456/);
});

it("draws a mask whose sum is a sequence's length with nothing masked: a decoder as ONNX Runtime GenAI's builder writes it", () => {
  const { bytes } = genaiDecoder({
    ...{ name: "decoder", sizes: decoderSizes["llama-small"], form: { ...plainForm, block: 32 } },
    isExternal: true,
  });
  using model = modelFromBytes(bytes);
  const sizes = new Map([
    ["batch_size", 1],
    ["sequence_length", 4],
    ["past_sequence_length", 12],
    ["total_sequence_length", 16],
  ]);
  const mask = drawInputs(model, { ...plain, sizes }).get("attention_mask");
  expect(mask && Array.from(numbersOf(mask))).toEqual(new Array<number>(16).fill(1));
});
