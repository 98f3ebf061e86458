/** @file Random networks of 5 to 40 operators, of the kinds that padding has to pass through. */
import fc from "fast-check";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenGelu, writtenNorm } from "../../fixtures/layers.ts";
import { type Feeds, floats } from "./folding.ts";
import { ints, weight } from "./padding.ts";

/** One operator: which, on which value, and numbers to shape it by. */
export interface StepPlan {
  readonly step: string;
  readonly from: number;
  readonly draws: readonly number[];
}

export type NetworkPlan = readonly StepPlan[];

/** A value of the network under construction: [N, C, H, W] or [N, F]. */
interface Live {
  readonly name: string;
  readonly dims: readonly number[];
}

type Build = (
  graph: GraphBuilder,
  x: Live,
  draws: readonly number[],
  live: readonly Live[],
) => Live | undefined;

const pick = <T>(choices: readonly T[], draw: number): T => choices[draw % choices.length] as T;
const widths = [3, 5, 6, 7, 10, 12, 13];

const isImage = ({ dims }: Live) => dims.length === 4;

function conv(graph: GraphBuilder, x: Live, filters: number, kernel: number, groups = 1): Live {
  const [n = 1, c = 1, h = 1, w = 1] = x.dims;
  const operands = [
    x.name,
    weight(graph, [filters, c / groups, kernel, kernel], filters + kernel),
    weight(graph, [filters]),
  ];
  const pad = (kernel - 1) / 2;
  const name = graph.node("Conv", operands, { pads: [pad, pad, pad, pad], group: groups });
  return { name, dims: [n, filters, h, w] };
}

const unary =
  (type: string): Build =>
  (graph, x) => ({ name: graph.node(type, [x.name]), dims: x.dims });

/** Each returns undefined where it does not fit the value. */
const steps: Readonly<Record<string, Build>> = {
  conv: (graph, x, [a = 0, b = 0]) =>
    isImage(x) ? conv(graph, x, pick(widths, a), pick([1, 3], b)) : undefined,
  depthwise: (graph, x) => (isImage(x) ? conv(graph, x, x.dims[1] ?? 1, 3, x.dims[1]) : undefined),
  grouped: (graph, x, [a = 0]) => {
    const channels = x.dims[1] ?? 1;
    const groups = [2, 3, 5].find((each) => channels % each === 0);
    return isImage(x) && groups !== undefined
      ? conv(graph, x, groups * pick([2, 3], a), 1, groups)
      : undefined;
  },
  transposed: (graph, x, [a = 0]) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || h > 8) return undefined;
    const filters = pick(widths, a);
    const operands = [x.name, weight(graph, [c, filters, 2, 2], a), weight(graph, [filters])];
    return {
      name: graph.node("ConvTranspose", operands, { strides: [2, 2] }),
      dims: [n, filters, 2 * h, 2 * w],
    };
  },
  relu: unary("Relu"),
  sigmoid: unary("Sigmoid"),
  hardSwish: unary("HardSwish"),
  tanh: unary("Tanh"),
  // Every other one as a GELU, in either form.
  erf: (graph, x, [a = 0]) => {
    const name =
      a % 2 === 0
        ? graph.node("Erf", [x.name])
        : writtenGelu(graph, x.name, a % 3 === 0 ? "tanh" : "erf", `gelu_of_${x.name}`);
    return { name, dims: x.dims };
  },
  silu: (graph, x) => ({ name: graph.node("Mul", [x.name, graph.node("Sigmoid", [x.name])]), dims: x.dims }),
  prelu: (graph, x) =>
    isImage(x)
      ? { name: graph.node("PRelu", [x.name, weight(graph, [x.dims[1] ?? 1, 1, 1], 5)]), dims: x.dims }
      : undefined,
  scale: (graph, x, [a = 0]) => {
    const dims = isImage(x) ? [1, x.dims[1] ?? 1, 1, 1] : [x.dims[1] ?? 1];
    return {
      name: graph.node(pick(["Mul", "Add", "Div", "Sub"], a), [x.name, weight(graph, dims, 7)]),
      dims: x.dims,
    };
  },
  batchNorm: (graph, x) => {
    if (!isImage(x)) return undefined;
    const [, c = 1] = x.dims;
    const variance = graph.weight([c], { values: Array.from({ length: c }, (_, i) => 0.5 + i / c) });
    const operands = [x.name, weight(graph, [c], 1), weight(graph, [c], 2), weight(graph, [c], 3), variance];
    return { name: graph.node("BatchNormalization", operands), dims: x.dims };
  },
  instanceNorm: (graph, x) => {
    const [, c = 1, h = 1] = x.dims;
    if (!isImage(x) || h < 2) return undefined;
    const operands = [x.name, weight(graph, [c], 1), weight(graph, [c], 2)];
    return { name: graph.node("InstanceNormalization", operands), dims: x.dims };
  },
  residual: (graph, x, _draws, live) => {
    const other = live.find(({ name, dims }) => name !== x.name && String(dims) === String(x.dims));
    return other && { name: graph.node("Add", [x.name, other.name]), dims: x.dims };
  },
  concat: (graph, x, _draws, live) => {
    const fits = ({ dims }: Live) =>
      dims.length === x.dims.length && dims.every((dim, axis) => axis === 1 || dim === x.dims[axis]);
    const other = live.findLast((each) => each.name !== x.name && fits(each)) ?? x;
    const channels = (x.dims[1] ?? 1) + (other.dims[1] ?? 1);
    if (channels > 60) return undefined;
    return { name: graph.node("Concat", [x.name, other.name], { axis: 1 }), dims: x.dims.with(1, channels) };
  },
  split: (graph, x, [a = 0]) => {
    const channels = x.dims[1] ?? 1;
    if (channels < 4) return undefined;
    const first = 1 + (a % (channels - 1));
    const sizes = ints(graph, [first, channels - first]);
    const [left = ""] = graph.nodes("Split", [x.name, sizes], { axis: 1 }, { outputs: 2 });
    return { name: left, dims: x.dims.with(1, first) };
  },
  slice: (graph, x, [a = 0]) => {
    const channels = x.dims[1] ?? 1;
    if (channels < 4) return undefined;
    const start = a % (channels - 2);
    const inputs = [[start], [channels], [1]].map((values) => ints(graph, values));
    return { name: graph.node("Slice", [x.name, ...inputs]), dims: x.dims.with(1, channels - start) };
  },
  gather: (graph, x, [a = 0, b = 0, c = 0]) => {
    const channels = x.dims[1] ?? 1;
    const indices = [a, b, c].map((draw) => draw % channels);
    return {
      name: graph.node("Gather", [x.name, ints(graph, indices)], { axis: 1 }),
      dims: x.dims.with(1, 3),
    };
  },
  shuffle: (graph, x) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || c % 2 !== 0) return undefined;
    const apart = graph.node("Reshape", [x.name, ints(graph, [n, 2, c / 2, h, w])]);
    const turned = graph.node("Transpose", [apart], { perm: [0, 2, 1, 3, 4] });
    return { name: graph.node("Reshape", [turned, ints(graph, [n, c, h, w])]), dims: x.dims };
  },
  maxPool: (graph, x) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || h < 4 || (x.dims[3] ?? 1) < 4) return undefined;
    const name = graph.node("MaxPool", [x.name], { kernel_shape: [2, 2], strides: [2, 2] });
    return { name, dims: [n, c, Math.floor(h / 2), Math.floor(w / 2)] };
  },
  excite: (graph, x, [a = 0]) => {
    if (!isImage(x)) return undefined;
    const [n = 1, c = 1] = x.dims;
    const pooled: Live = { name: graph.node("GlobalAveragePool", [x.name]), dims: [n, c, 1, 1] };
    const narrow = conv(graph, pooled, pick([2, 3, 5], a), 1);
    const wide = conv(graph, { ...narrow, name: graph.node("Relu", [narrow.name]) }, c, 1);
    return { name: graph.node("Mul", [x.name, graph.node("Sigmoid", [wide.name])]), dims: x.dims };
  },
  flatten: (graph, x) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    return isImage(x) && c * h * w < 700
      ? { name: graph.node("Flatten", [x.name]), dims: [n, c * h * w] }
      : undefined;
  },
  gemm: (graph, x, [a = 0]) => {
    if (isImage(x)) return undefined;
    const [n = 1, f = 1] = x.dims;
    const width = pick(widths, a);
    const operands = [x.name, weight(graph, [width, f], a), weight(graph, [width])];
    return { name: graph.node("Gemm", operands, { transB: 1 }), dims: [n, width] };
  },
  matMul: (graph, x, [a = 0]) => {
    const width = pick(widths, a);
    const last = x.dims.at(-1) ?? 1;
    return {
      name: graph.node("MatMul", [x.name, weight(graph, [last, width], a)]),
      dims: x.dims.with(-1, width),
    };
  },
  softmax: (graph, x) => ({ name: graph.node("Softmax", [x.name], { axis: -1 }), dims: x.dims }),
  layerNorm: (graph, x) => {
    const last = x.dims.at(-1) ?? 1;
    if (last < 3) return undefined;
    const operands = [x.name, weight(graph, [last], 1), weight(graph, [last], 2)];
    return { name: graph.node("LayerNormalization", operands), dims: x.dims };
  },
  writtenNorm: (graph, x, [a = 0], live) => {
    const last = x.dims.at(-1) ?? 1;
    if (last < 3) return undefined;
    const kind = pick(["layer", "rms"] as const, a);
    const options = { name: `norm_${live.length}`, parameter: () => weight(graph, [last], a) };
    return { name: writtenNorm(graph, x.name, last, kind, options), dims: x.dims };
  },
  mean: (graph, x) =>
    isImage(x)
      ? { name: graph.node("ReduceMean", [x.name], { axes: [2, 3], keepdims: 0 }), dims: x.dims.slice(0, 2) }
      : undefined,
  resize: (graph, x) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || h > 8) return undefined;
    const scales = graph.weight([4], { values: [1, 1, 2, 2] });
    const name = graph.node("Resize", [x.name, "", scales], {
      mode: "nearest",
      coordinate_transformation_mode: "asymmetric",
      nearest_mode: "floor",
    });
    return { name, dims: [n, c, 2 * h, 2 * w] };
  },
  pad: (graph, x) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || h > 12) return undefined;
    return {
      name: graph.node("Pad", [x.name, ints(graph, [0, 0, 1, 0, 0, 0, 1, 0])]),
      dims: [n, c, h + 2, w],
    };
  },
  depthToSpace: (graph, x, [a = 0]) => {
    const [n = 1, c = 1, h = 1, w = 1] = x.dims;
    if (!isImage(x) || c % 4 !== 0 || h > 8) return undefined;
    const mode = pick(["DCR", "CRD"], a);
    return {
      name: graph.node("DepthToSpace", [x.name], { blocksize: 2, mode }),
      dims: [n, c / 4, 2 * h, 2 * w],
    };
  },
};

/** What fixes were once wrong on, and what only the whole of a fix is held to: passes alone need not foresee all of it. */
const hardSteps: Readonly<Record<string, Build>> = {
  twice: (graph, x) => ({ name: graph.node("Add", [x.name, x.name]), dims: x.dims }),
  reversed: (graph, x, [a = 0]) => {
    const count = [2, 3, 5, 7].find((each) => (x.dims[1] ?? 1) % each === 0);
    if (count === undefined) return undefined;
    const parts = graph.nodes("Split", [x.name], { axis: 1 }, { outputs: count });
    const order = a % 2 === 0 ? [...parts].reverse() : [...parts.slice(1), ...parts.slice(0, 1)];
    return { name: graph.node("Concat", order, { axis: 1 }), dims: x.dims };
  },
  /** A plane of zeros is 0/0. */
  bareNorm: (graph, x) => {
    const [, c = 1, h = 1] = x.dims;
    if (!isImage(x) || h < 2) return undefined;
    const operands = [x.name, weight(graph, [c], 1), weight(graph, [c], 2)];
    return { name: graph.node("InstanceNormalization", operands, { epsilon: { float: 0 } }), dims: x.dims };
  },
  /** Sums of hundreds: Tanh is ±1, whatever the last bits are. */
  saturated: (graph, x) => {
    const scaled = graph.node("Mul", [x.name, graph.scalar(300)]);
    return { name: graph.node("Tanh", [scaled]), dims: x.dims };
  },
  clip: (graph, x) => ({
    name: graph.node("Clip", [x.name, graph.scalar(-2), graph.scalar(3)]),
    dims: x.dims,
  }),
  doubledNorm: (graph, x) => {
    if (!isImage(x)) return undefined;
    const [, c = 1] = x.dims;
    const doubled = graph.node("Add", [x.name, x.name]);
    const variance = graph.weight([c], { values: Array.from({ length: c }, (_, i) => 0.5 + i / c) });
    const operands = [doubled, weight(graph, [c], 1), weight(graph, [c], 2), weight(graph, [c], 3), variance];
    return { name: graph.node("BatchNormalization", operands), dims: x.dims };
  },
};

const allSteps = { ...steps, ...hardSteps };

const planOf = (names: readonly string[]) =>
  fc.record({
    step: fc.constantFrom(...names),
    // Mostly on the newest value, so that networks grow deep.
    from: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
    draws: fc.array(fc.nat({ max: 999 }), { minLength: 3, maxLength: 3 }),
  });

export const networks: fc.Arbitrary<NetworkPlan> = fc.array(planOf(Object.keys(steps)), {
  minLength: 5,
  maxLength: 40,
});

export const hardNetworks: fc.Arbitrary<NetworkPlan> = fc.array(planOf(Object.keys(allSteps)), {
  minLength: 5,
  maxLength: 25,
});

const inputDims = [2, 3, 8, 8];

/** The network: a stem, the steps that fit, and the last two values as outputs. */
export function networkOf(plan: NetworkPlan): { bytes: Uint8Array; feeds: Feeds; operators: number } {
  let operators = 0;
  const bytes = model({ name: "random", opset: 17 }, (graph) => {
    const x: Live = { name: graph.input("x", inputDims), dims: inputDims };
    const live: Live[] = [x, conv(graph, x, 6, 3)];
    for (const { step, from, draws } of plan) {
      const value = live.at(-1 - (from % live.length));
      const next = value && allSteps[step]?.(graph, value, draws, live);
      if (next === undefined || next.dims.reduce((size, dim) => size * dim, 1) > 40_000) continue;
      operators += 1;
      live.push(next);
    }
    const outputs = new Set(
      live
        .slice(2)
        .slice(-2)
        .map(({ name }) => name),
    );
    if (outputs.size === 0) outputs.add(live[1]?.name ?? "");
    for (const name of outputs) graph.output(name);
  });
  return { bytes, feeds: { x: floats(inputDims) }, operators };
}
