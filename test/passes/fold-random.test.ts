/** @file Drawn graphs, folded: ONNX Runtime says that they compute the same. */
import fc from "fast-check";
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import {
  bytesOfModel,
  difference,
  expectSame,
  floats,
  foldBytes,
  noise,
  operators,
  run,
  volume,
} from "./folding.ts";

/** A value [N, …tail] of a drawn graph. */
interface Drawn {
  readonly name: string;
  readonly tail: readonly number[];
}

/** Numbers that steer one step; each step takes what it needs. */
type Draws = readonly number[];

type Step = (graph: GraphBuilder, value: Drawn, draws: Draws) => Drawn | undefined;

const int64 = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

function pick<T>(list: readonly T[], draw: number | undefined): T {
  const item = list[(draw ?? 0) % list.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** The axes 1 … rank in an order that the draws choose. */
function orderOf(rank: number, draws: Draws): number[] {
  const left = Array.from({ length: rank }, (_, axis) => axis + 1);
  return Array.from(
    { length: rank },
    (_, index) => left.splice((draws[index] ?? 0) % left.length, 1)[0] ?? 0,
  );
}

/** Other tails of as many elements. */
function regroupings(tail: readonly number[]): number[][] {
  const count = volume(tail);
  const merged = tail.length < 2 ? [] : [[(tail[0] ?? 1) * (tail[1] ?? 1), ...tail.slice(2)]];
  const split = tail.flatMap((size, axis) =>
    size % 2 === 0 && size > 2 ? [[...tail.slice(0, axis), 2, size / 2, ...tail.slice(axis + 1)]] : [],
  );
  return [[...tail], [count], [1, ...tail], ...merged, ...split].filter((each) => each.length <= 4);
}

/** A size of the value as a vector, computed. */
function sizeOf(graph: GraphBuilder, name: string, axis: number): string {
  return graph.node("Gather", [graph.node("Shape", [name]), int64(graph, axis)]);
}

/** A Reshape target in one of the ways of exporters. */
function targetOf(graph: GraphBuilder, { name }: Drawn, tail: readonly number[], draw: number): string {
  if (draw % 3 === 0) return int64(graph, -1, ...tail);
  if (draw % 3 === 1) return int64(graph, 0, ...tail);
  return graph.node("Concat", [sizeOf(graph, name, 0), int64(graph, ...tail)], { axis: 0 });
}

function normOf(graph: GraphBuilder, name: string, channels: number, seed: number): string {
  const parameter = (index: number) => {
    const values = noise(channels, seed + index);
    return graph.weight([channels], {
      values: index < 3 ? values : values.map((value) => value * value + 0.5),
    });
  };
  return graph.node("BatchNormalization", [name, ...[0, 1, 2, 3].map(parameter)]);
}

const steps: Readonly<Record<string, Step>> = {
  Relu: (graph, { name, tail }) => ({ name: graph.node("Relu", [name]), tail }),
  Identity: (graph, { name, tail }) => ({ name: graph.node("Identity", [name]), tail }),
  Dropout: (graph, { name, tail }) => ({ name: graph.node("Dropout", [name]), tail }),
  Cast: (graph, { name, tail }, [first, second]) => {
    const middle = graph.node("Cast", [name], { to: pick([1, 10, 11], first) });
    return {
      name: graph.node("Cast", [graph.node("Cast", [middle], { to: pick([1, 11], second) })], { to: 1 }),
      tail,
    };
  },
  Transpose: (graph, { name, tail }, draws) => {
    const perm = [0, ...orderOf(tail.length, draws)];
    return {
      name: graph.node("Transpose", [name], { perm }),
      tail: perm.slice(1).map((axis) => tail[axis - 1] ?? 1),
    };
  },
  "Transpose there and back": (graph, { name, tail }, draws) => {
    const perm = orderOf(tail.length + 1, draws).map((axis) => axis - 1);
    const back = perm.map((_, axis) => perm.indexOf(axis));
    const there = graph.node("Transpose", [name], { perm });
    return { name: graph.node("Transpose", [there], { perm: back }), tail };
  },
  Reshape: (graph, value, [choice, form = 0]) => {
    const tail = pick(regroupings(value.tail), choice);
    return { name: graph.node("Reshape", [value.name, targetOf(graph, value, tail, form)]), tail };
  },
  Unsqueeze: (graph, { name, tail }) =>
    tail.length < 4
      ? { name: graph.node("Unsqueeze", [name, int64(graph, 1)]), tail: [1, ...tail] }
      : undefined,
  Squeeze: (graph, { name, tail }) =>
    tail[0] === 1 && tail.length > 1
      ? { name: graph.node("Squeeze", [name, int64(graph, 1)]), tail: tail.slice(1) }
      : undefined,
  Flatten: (graph, { name, tail }) => ({ name: graph.node("Flatten", [name]), tail: [volume(tail)] }),
  Slice: (graph, { name, tail }, [from = 0, step]) => {
    const size = tail.at(-1) ?? 1;
    const isForward = pick([true, true, false], step);
    const start = isForward ? from % Math.min(size, 2) : -1;
    const bounds = isForward ? [start, size, 1] : [start, -size - 1, -1];
    const inputs = bounds.map((bound) => int64(graph, bound));
    const [begin = "", end = "", stride = ""] = inputs;
    const sliced = graph.node("Slice", [name, begin, end, int64(graph, tail.length), stride]);
    return { name: sliced, tail: [...tail.slice(0, -1), size - Math.max(start, 0)] };
  },
  Pad: (graph, { name, tail }, [before = 0, after = 0]) => {
    const zeros = tail.map(() => 0);
    const pads = int64(graph, ...zeros, before % 2, ...zeros, after % 2);
    return {
      name: graph.node("Pad", [name, pads]),
      tail: [...tail.slice(0, -1), (tail.at(-1) ?? 1) + (before % 2) + (after % 2)],
    };
  },
  Concat: (graph, { name, tail }, [count]) => {
    const copies = pick([1, 1, 2], count);
    const inputs = new Array<string>(copies).fill(name);
    return {
      name: graph.node("Concat", inputs, { axis: 1 }),
      tail: [(tail[0] ?? 1) * copies, ...tail.slice(1)],
    };
  },
  Expand: (graph, { name, tail }, [form = 0]) => {
    const shape = form % 2 === 0 ? int64(graph, 1) : graph.node("Shape", [name]);
    return { name: graph.node("Expand", [name, shape]), tail };
  },
  "scaled by the root of a size": (graph, { name, tail }) => {
    const root = graph.node("Sqrt", [graph.node("Cast", [sizeOf(graph, name, tail.length)], { to: 1 })]);
    return { name: graph.node("Div", [name, root]), tail };
  },
  Add: (graph, { name, tail }, [seed = 0]) => ({
    name: graph.node("Add", [name, graph.weight(tail.slice(-1), { values: noise(tail.at(-1) ?? 1, seed) })]),
    tail,
  }),
  BatchNormalization: (graph, { name, tail }, [seed = 0]) => ({
    name: normOf(graph, name, tail[0] ?? 1, seed),
    tail,
  }),
  Conv: (graph, { name, tail }, [seed = 0, grouping, filters = 0]) => {
    const [channels = 1, ...spatial] = tail;
    if (spatial.length === 0 || channels > 16) return undefined;
    const groups = channels % 2 === 0 ? pick([1, 2], grouping) : 1;
    const outputs = groups * (1 + (filters % 3));
    const weights = graph.weight([outputs, channels / groups, ...spatial.map(() => 1)], {
      values: noise((outputs * channels) / groups, seed),
    });
    return { name: graph.node("Conv", [name, weights], { group: groups }), tail: [outputs, ...spatial] };
  },
  ConvTranspose: (graph, { name, tail }, [seed = 0, grouping, filters = 0]) => {
    const [channels = 1, ...spatial] = tail;
    if (spatial.length === 0 || channels > 16) return undefined;
    const groups = channels % 2 === 0 ? pick([1, 2], grouping) : 1;
    const perGroup = 1 + (filters % 3);
    const weights = graph.weight([channels, perGroup, ...spatial.map(() => 1)], {
      values: noise(channels * perGroup, seed),
    });
    const bias = graph.weight([groups * perGroup], { values: noise(groups * perGroup, seed + 1) });
    const attributes = { group: groups };
    return {
      name: graph.node("ConvTranspose", [name, weights, bias], attributes),
      tail: [groups * perGroup, ...spatial],
    };
  },
  Gemm: (graph, { name, tail }, [seed = 0, columns = 0, transB = 0]) => {
    const [size = 1] = tail;
    if (tail.length !== 1 || size > 32) return undefined;
    const outputs = 1 + (columns % 4);
    const dims = transB % 2 === 1 ? [outputs, size] : [size, outputs];
    const weights = graph.weight(dims, { values: noise(outputs * size, seed) });
    const bias = graph.weight([outputs], { values: noise(outputs, seed + 1) });
    return { name: graph.node("Gemm", [name, weights, bias], { transB: transB % 2 }), tail: [outputs] };
  },
  MatMul: (graph, { name, tail }, [seed = 0, columns = 0]) => {
    const size = tail.at(-1) ?? 1;
    if (size > 32) return undefined;
    const outputs = 1 + (columns % 4);
    const weights = graph.weight([size, outputs], { values: noise(outputs * size, seed) });
    return { name: graph.node("MatMul", [name, weights]), tail: [...tail.slice(0, -1), outputs] };
  },
};

interface Plan {
  readonly batch: number | "N";
  readonly steps: readonly { readonly step: string; readonly from: number; readonly draws: Draws }[];
  /** Which values are outputs, besides the last. */
  readonly outputs: readonly number[];
}

const draw = fc.nat({ max: 1000 });
const plans: fc.Arbitrary<Plan> = fc.record({
  batch: fc.constantFrom<number | "N">(3, "N"),
  steps: fc.array(
    fc.record({
      step: fc.constantFrom(...Object.keys(steps)),
      // Mostly on from the last value.
      from: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 4 }) }),
      draws: fc.array(draw, { minLength: 4, maxLength: 4 }),
    }),
    { minLength: 2, maxLength: 14 },
  ),
  outputs: fc.array(fc.nat({ max: 13 }), { maxLength: 2 }),
});

const maxElements = 512;

/** Bytes of a small constant, its name and header. */
const maxGrowth = 256;

function build({ batch, steps: plan, outputs }: Plan): Uint8Array {
  return model({ name: "drawn", opset: 17 }, (graph) => {
    const values: Drawn[] = [{ name: graph.input("x", [batch, 4, 2, 3]), tail: [4, 2, 3] }];
    for (const { step, from, draws } of plan) {
      const value = values[Math.max(0, values.length - 1 - from)];
      const next = value && steps[step]?.(graph, value, draws);
      if (next !== undefined && volume(next.tail) <= maxElements) values.push(next);
    }
    // The input itself is no output.
    const named = new Set([values.length - 1, ...outputs].filter((at) => at > 0 && at < values.length));
    if (named.size === 0) graph.output(graph.node("Neg", ["x"]));
    for (const at of named) graph.output(values[at]?.name ?? "");
  });
}

describe("drawn graphs", () => {
  it("compute the same after folding", async () => {
    let removed = 0;
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const bytes = build(plan);
        const { before, after } = foldBytes(bytes);
        const gone = before.graph.nodes.length - after.graph.nodes.length;
        removed += gone;
        expect(after.bytes - before.bytes).toBeLessThanOrEqual(maxGrowth * gone);
        for (const batch of plan.batch === "N" ? [1, 3] : [3]) {
          const feeds = { x: floats([batch, 4, 2, 3], batch) };
          const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(after), feeds)];
          expect(difference(expected, actual)).toBeLessThanOrEqual(5e-5);
        }
      }),
      { numRuns: 150 },
    );
    expect(removed).toBeGreaterThan(100);
  });
});

/** Arithmetic on constants as facts fold it: two operands of a type give one of it. */
const arithmetic = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Mean", "Sum"] as const;
const functions = ["Neg", "Abs", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Relu", "Sign"] as const;
const special = [0, -0, 1, -1, 0.5, 2.5, 1e-3, 7, 1e30, Number.POSITIVE_INFINITY];

const chains = fc.record({
  dtype: fc.constantFrom<DType>("float32", "int64", "int32"),
  values: fc.array(fc.oneof(fc.constantFrom(...special), fc.float({ noNaN: true, min: -100, max: 100 })), {
    minLength: 6,
    maxLength: 6,
  }),
  steps: fc.array(
    fc.record({ operator: fc.constantFrom(...arithmetic, ...functions, "Pow", "Cast"), operand: fc.nat() }),
    {
      minLength: 1,
      maxLength: 8,
    },
  ),
});

describe("drawn arithmetic on constants", () => {
  it("is folded to the bits that ONNX Runtime computes", async () => {
    let folded = 0;
    await fc.assert(
      fc.asyncProperty(chains, async ({ dtype, values, steps: plan }) => {
        const own = values.map((value) => {
          if (dtype === "float32") return Math.fround(value);
          return Number.isFinite(value) && Math.abs(value) < 1e6 ? Math.trunc(value) + 0 : 3;
        });
        const bytes = model({ name: "arithmetic", opset: 17 }, (graph) => {
          const constants = own.map((value) => graph.weight([2], { dtype, values: [value, own[0] ?? 1] }));
          let last = constants[0] ?? "";
          for (const { operator, operand } of plan)
            last = apply(graph, dtype, operator, last, pick(constants, operand));
          graph.input("x", [2], dtype);
          graph.node(
            "Where",
            [graph.weight([1], { dtype: "bool", values: [1] }), last, "x"],
            {},
            { outputs: ["y"] },
          );
          graph.output("y", dtype);
        });
        const data =
          dtype === "float32"
            ? Float32Array.of(0, 0)
            : dtype === "int32"
              ? Int32Array.of(0, 0)
              : BigInt64Array.of(0n, 0n);
        const { after } = await expectSame(bytes, { x: new Tensor(data as Float32Array, [2]) }, 0);
        if (operators(after).length === 1) folded += 1;
      }),
      { numRuns: 150 },
    );
    expect(folded).toBeGreaterThan(50);
  });
});

function apply(graph: GraphBuilder, dtype: DType, operator: string, value: string, operand: string): string {
  if (operator === "Pow")
    return graph.node("Pow", [value, graph.scalar(pick([1, 2], operand.length), dtype)]);
  if (operator === "Cast") {
    const there = graph.node("Cast", [value], {
      to: dtypes[dtype === "float32" ? "float64" : "float32"].code,
    });
    return graph.node("Cast", [there], { to: dtypes[dtype].code });
  }
  const floatOnly = ["Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Relu", "Mean", "Sum", "Div"];
  if (dtype !== "float32" && floatOnly.includes(operator)) return graph.node("Neg", [value]);
  const inputs = (functions as readonly string[]).includes(operator) ? [value] : [value, operand];
  return graph.node(operator, inputs);
}
