/**
 * @file Random networks over sequences, of the kinds that a fix was once wrong on: tables tied to heads and read from their end,
 * shapes that the model computes, masks, norms without an epsilon, recurrent layers that saturate, values added to
 * themselves, Splits put together in another order, sparse initializers, training information.
 */
import fc from "fast-check";
import onnxProto, { type onnx as types } from "onnx-proto";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenGelu } from "../../fixtures/layers.ts";
import { noise, volume } from "./folding.ts";
import { ints, weight } from "./padding.ts";
import type { StepPlan } from "./random-network.ts";

const { onnx } = onnxProto;

export interface SequencePlan {
  readonly steps: readonly StepPlan[];
  /** Ids that a table embeds, else numbers. */
  readonly hasIds: boolean;
  readonly isTied: boolean;
  readonly isSymbolic: boolean;
  readonly mask: "none" | "scores" | "bool";
  readonly width: number;
  readonly rows: number;
  /** One weight in eight is sparse. */
  readonly isSparse: boolean;
  readonly isTraining: boolean;
}

/** A value [batch, seq, width]. */
interface Live {
  readonly name: string;
  readonly width: number;
}

interface Site {
  readonly graph: GraphBuilder;
  readonly live: readonly Live[];
  readonly mask: string | undefined;
  readonly maskIsBool: boolean;
}

type Build = (site: Site, x: Live, draws: readonly number[]) => Live | undefined;

const widths = [3, 5, 6, 7, 10, 12, 13];
const pick = <T>(choices: readonly T[], draw: number): T => choices[draw % choices.length] as T;
const batch = 2;
const length = 5;

const same =
  (build: (graph: GraphBuilder, x: string, draws: readonly number[], width: number) => string): Build =>
  ({ graph }, x, draws) => ({ name: build(graph, x.name, draws, x.width), width: x.width });

const unary = (type: string): Build => same((graph, x) => graph.node(type, [x]));

/** Weights in (-scale, scale). */
function weights(graph: GraphBuilder, dims: readonly number[], seed: number, scale = 1): string {
  return graph.weight(dims, { values: noise(volume(dims), seed + volume(dims)).map((each) => scale * each) });
}

/** The first two sizes of a value, followed by `rest`: computed when it runs. */
function shapeLike(graph: GraphBuilder, value: string, rest: readonly number[]): string {
  const rows = graph.node("Gather", [graph.node("Shape", [value]), ints(graph, [0, 1])]);
  return graph.node("Concat", [rows, ints(graph, rest)], { axis: 0 });
}

function heads(graph: GraphBuilder, x: Live, count: number, seed: number): string {
  const projected = graph.node("MatMul", [x.name, weights(graph, [x.width, x.width], seed, 0.5)]);
  const apart = graph.node("Reshape", [projected, shapeLike(graph, x.name, [count, x.width / count])]);
  return graph.node("Transpose", [apart], { perm: [0, 2, 1, 3] });
}

const attention: Build = ({ graph, mask, maskIsBool }, x, [seed = 0]) => {
  const count = [3, 2, 5].find((each) => x.width % each === 0 && x.width > each);
  if (count === undefined) return undefined;
  const [q, k, v] = [1, 2, 3].map((each) => heads(graph, x, count, seed + each));
  const turned = graph.node("Transpose", [k ?? ""], { perm: [0, 1, 3, 2] });
  let scores = graph.node("MatMul", [q ?? "", turned]);
  if (mask !== undefined) {
    scores = maskIsBool
      ? graph.node("Where", [mask, scores, graph.scalar(-1e9)])
      : graph.node("Add", [scores, mask]);
  }
  const mixed = graph.node("MatMul", [graph.node("Softmax", [scores], { axis: -1 }), v ?? ""]);
  const together = graph.node("Transpose", [mixed], { perm: [0, 2, 1, 3] });
  const name = graph.node("Reshape", [together, shapeLike(graph, x.name, [x.width])]);
  return { name, width: x.width };
};

/** Weights that drive every gate to its end. */
const recurrent: Build = ({ graph }, x, [a = 0, b = 0]) => {
  const [type, gates] = pick(
    [
      ["LSTM", 4],
      ["GRU", 3],
      ["RNN", 1],
    ] as const,
    a,
  );
  const hidden = pick(widths, b);
  const scale = pick([0.3, 8], a + b);
  const turned = graph.node("Transpose", [x.name], { perm: [1, 0, 2] });
  const operands = [
    turned,
    weights(graph, [1, gates * hidden, x.width], a, scale),
    weights(graph, [1, gates * hidden, hidden], b, scale),
    weights(graph, [1, 2 * gates * hidden], a + b, scale),
  ];
  const [all = ""] = graph.nodes(type, operands, { hidden_size: hidden }, { outputs: 1 });
  const flat = graph.node("Squeeze", [all, ints(graph, [1])]);
  return { name: graph.node("Transpose", [flat], { perm: [1, 0, 2] }), width: hidden };
};

const sequenceSteps: Readonly<Record<string, Build>> = {
  linear: ({ graph }, x, [a = 0]) => {
    const width = pick(widths, a);
    const product = graph.node("MatMul", [x.name, weights(graph, [x.width, width], a)]);
    return { name: graph.node("Add", [product, weight(graph, [width], a)]), width };
  },
  bare: ({ graph }, x, [a = 0]) => {
    const width = pick(widths, a);
    return { name: graph.node("MatMul", [x.name, weights(graph, [x.width, width], a, 8)]), width };
  },
  relu: unary("Relu"),
  tanh: unary("Tanh"),
  sigmoid: unary("Sigmoid"),
  // Every other one as a GELU, in either form.
  erf: same((graph, x, [a = 0]) =>
    a % 2 === 0
      ? graph.node("Erf", [x])
      : writtenGelu(graph, x, a % 3 === 0 ? "tanh" : "erf", `gelu_of_${x}`),
  ),
  abs: unary("Abs"),
  clip: same((graph, x) => graph.node("Clip", [x, graph.scalar(-2), graph.scalar(3)])),
  root: same((graph, x) => graph.node("Sqrt", [graph.node("Abs", [x])])),
  exponential: same((graph, x) => graph.node("Exp", [graph.node("Neg", [graph.node("Abs", [x])])])),
  twice: same((graph, x) => graph.node("Add", [x, x])),
  square: same((graph, x) => graph.node("Mul", [x, x])),
  ratio: same((graph, x) =>
    graph.node("Div", [x, graph.node("Add", [graph.node("Abs", [x]), graph.scalar(1)])]),
  ),
  scale: same((graph, x, [a = 0], width) =>
    graph.node(pick(["Mul", "Add", "Sub", "Div"], a), [x, weight(graph, [width], a)]),
  ),
  softmax: same((graph, x) => graph.node("Softmax", [x], { axis: -1 })),
  layerNorm: same((graph, x, [a = 0], width) => {
    const epsilon = { float: pick([1e-5, 0], a) };
    return graph.node("LayerNormalization", [x, weight(graph, [width], 1), weight(graph, [width], 2)], {
      epsilon,
    });
  }),
  rmsNorm: same((graph, x, [a = 0], width) => {
    const mean = graph.node("ReduceMean", [graph.node("Mul", [x, x])], { axes: [2] });
    const root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(pick([1e-6, 0], a))])]);
    return graph.node("Mul", [graph.node("Div", [x, root]), weight(graph, [width], a)]);
  }),
  residual: ({ graph, live }, x) => {
    const other = live.find(({ name, width }) => name !== x.name && width === x.width);
    return other && { name: graph.node("Add", [x.name, other.name]), width: x.width };
  },
  concat: ({ graph, live }, x) => {
    const other = live.at(-2) ?? x;
    const width = x.width + other.width;
    return width > 40 ? undefined : { name: graph.node("Concat", [x.name, other.name], { axis: 2 }), width };
  },
  reversed: ({ graph }, x, [a = 0]) => {
    const count = [2, 3, 5, 7].find((each) => x.width % each === 0);
    if (count === undefined) return undefined;
    const parts = graph.nodes("Split", [x.name], { axis: 2 }, { outputs: count });
    const order = a % 2 === 0 ? [...parts].reverse() : [...parts.slice(1), ...parts.slice(0, 1)];
    return { name: graph.node("Concat", order, { axis: 2 }), width: x.width };
  },
  slice: ({ graph }, x, [a = 0]) => {
    if (x.width < 4) return undefined;
    const start = a % (x.width - 2);
    const inputs = [[start], [x.width], [2]].map((values) => ints(graph, values));
    return { name: graph.node("Slice", [x.name, ...inputs]), width: x.width - start };
  },
  /** Indices that the model computes, some of them from the end. */
  lookup: ({ graph }, x, [a = 0]) => {
    const width = pick(widths, a);
    const best = graph.node("ArgMax", [x.name], { axis: 2, keepdims: 0 });
    const moved = a % 2 === 0 ? best : graph.node("Sub", [best, graph.scalar(x.width, "int64")]);
    return { name: graph.node("Gather", [weights(graph, [x.width, width], a), moved]), width };
  },
  pooled: same((graph, x) => graph.node("Sub", [x, graph.node("ReduceMax", [x], { axes: [1] })])),
  attention,
  recurrent,
};

/** The network, all that it is drawn from in `plan`; its inputs are "x" or "ids", and "mask". */
export function sequenceNetworkOf(plan: SequencePlan): { bytes: Uint8Array; operators: number } {
  let operators = 0;
  const [rows, columns] = plan.isSymbolic ? (["batch", "seq"] as const) : ([batch, length] as const);
  const bytes = model({ name: "sequence", opset: 17 }, (graph) => {
    const table = plan.hasIds ? weights(graph, [plan.rows, plan.width], 3) : "";
    const first = plan.hasIds
      ? graph.node("Gather", [table, graph.input("ids", [rows, columns], "int64")])
      : graph.input("x", [rows, columns, plan.width]);
    const maskIsBool = plan.mask === "bool";
    const dtype = maskIsBool ? "bool" : "float32";
    const mask = plan.mask === "none" ? undefined : graph.input("mask", [rows, 1, 1, columns], dtype);
    const live: Live[] = [{ name: first, width: plan.width }];
    for (const { step, from, draws } of plan.steps) {
      const value = live.at(-1 - (from % live.length));
      const next = value && sequenceSteps[step]?.({ graph, live, mask, maskIsBool }, value, draws);
      if (next === undefined) continue;
      operators += 1;
      live.push(next);
    }
    const last = live.at(-1) ?? { name: first, width: plan.width };
    graph.output(finish(graph, last, plan, table));
    // What is computed last is an output as well, for defects that the head would hide.
    if (plan.hasIds && plan.isTied && last.name !== first) graph.output(last.name);
  });
  return { bytes: decorated(bytes, plan), operators };
}

/** Logits over the table that the ids are from, or by weights of its own. */
function finish(
  graph: GraphBuilder,
  last: Live,
  { hasIds, isTied, width }: SequencePlan,
  table: string,
): string {
  if (!hasIds || !isTied) return graph.node("MatMul", [last.name, weights(graph, [last.width, 9], 8)]);
  const back = graph.node("MatMul", [last.name, weights(graph, [last.width, width], 8)]);
  return graph.node("MatMul", [back, graph.node("Transpose", [table], { perm: [1, 0] })]);
}

/** With what the writer has no word for. */
function decorated(bytes: Uint8Array, { isSparse, isTraining }: SequencePlan): Uint8Array {
  if (!isSparse && !isTraining) return bytes;
  const decoded = onnx.ModelProto.decode(bytes);
  const graph = decoded.graph;
  if (isSparse && graph?.initializer) {
    const chosen = graph.initializer.find(({ dims, dataType }) => dims?.length === 2 && dataType === 1);
    if (chosen !== undefined) {
      graph.initializer = graph.initializer.filter((each) => each !== chosen);
      graph.sparseInitializer = [sparse(chosen)];
    }
  }
  if (isTraining) decoded.trainingInfo = [{ algorithm: { name: "step", node: [] } }];
  return onnx.ModelProto.encode(decoded).finish();
}

/** Every third number of a tensor, and zeros between. */
function sparse({ name, dims, rawData }: types.ITensorProto): types.ISparseTensorProto {
  const bytes = Uint8Array.from(rawData ?? []);
  const numbers = new Float32Array(bytes.buffer).filter((_, at) => at % 3 === 0);
  const places = BigInt64Array.from(numbers, (_, at) => BigInt(3 * at));
  const raw = (array: Float32Array | BigInt64Array) => new Uint8Array(array.buffer);
  return {
    values: { name: name ?? "", dims: [numbers.length], dataType: 1, rawData: raw(numbers) },
    indices: { name: `${name}_places`, dims: [places.length], dataType: 7, rawData: raw(places) },
    dims: dims ?? [],
  };
}

const stepPlans = fc.record({
  step: fc.constantFrom(...Object.keys(sequenceSteps)),
  from: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
  draws: fc.array(fc.nat({ max: 999 }), { minLength: 3, maxLength: 3 }),
});

/** Seldom, where most would be left alone for it. */
const seldom = fc.nat({ max: 9 }).map((draw) => draw === 0);

export const sequenceNetworks: fc.Arbitrary<SequencePlan> = fc.record({
  steps: fc.array(stepPlans, { minLength: 3, maxLength: 16 }),
  hasIds: fc.boolean(),
  isTied: fc.boolean(),
  isSymbolic: fc.boolean(),
  mask: fc.constantFrom("none", "scores", "bool"),
  width: fc.constantFrom(6, 10, 12, 13),
  rows: fc.constantFrom(11, 13, 30, 51),
  isSparse: seldom,
  isTraining: seldom,
});
