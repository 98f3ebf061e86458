/** @file Small models of what stands in every network: a layer with what follows it, queries, keys and values, a normalization. */
import { type GraphBuilder, model } from "../../fixtures/builder.ts";

const dtype = "float16";

function drawn(graph: GraphBuilder, dims: readonly number[], scale: number): string {
  let state = dims.reduce((a, b) => a * 31 + b, 7);
  const count = dims.reduce((total, size) => total * size, 1);
  const values = Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.round(((state >>> 8) / 2 ** 24 - 0.5) * 1024) * (scale / 512);
  });
  return graph.weight(dims, { dtype, values });
}

function filled(graph: GraphBuilder, count: number, value: number): string {
  return graph.weight([count], { dtype, values: new Array<number>(count).fill(value) });
}

/** y from x, both [N, H, W, C] as a network has them between two of its layers. */
function channelsLast(
  name: string,
  from: readonly number[],
  to: readonly number[],
  write: (graph: GraphBuilder, x: string) => string,
): Uint8Array {
  return model({ name }, (graph) => {
    const x = graph.node("Transpose", [graph.input("x", from, dtype)], { perm: [0, 3, 1, 2] });
    const y = write(graph, x);
    graph.nodes("Transpose", [y], { perm: [0, 2, 3, 1] }, { outputs: ["y"] });
    graph.output("y", dtype, to);
  });
}

function silu(graph: GraphBuilder, x: string): string {
  return graph.node("Mul", [x, graph.node("Sigmoid", [x])]);
}

export function convNormSilu(batch: number, channels: number, size: number, filters: number): Uint8Array {
  const shape = [batch, size, size];
  return channelsLast("conv-norm-silu", [...shape, channels], [...shape, filters], (graph, x) => {
    const conv = graph.node("Conv", [x, drawn(graph, [filters, channels, 3, 3], 2 ** -5)], {
      pads: [1, 1, 1, 1],
    });
    const statistics = [1, 0, 0, 1].map((value) => filled(graph, filters, value));
    return silu(graph, graph.node("BatchNormalization", [conv, ...statistics]));
  });
}

export function groupNormSilu(batch: number, channels: number, size: number): Uint8Array {
  const shape = [batch, size, size, channels];
  return channelsLast("group-norm-silu", shape, shape, (graph, x) => {
    const ints = (values: readonly number[]) => graph.weight([values.length], { dtype: "int64", values });
    const apart = graph.node("Reshape", [x, ints([batch, 32, -1])]);
    const norm = graph.node("InstanceNormalization", [apart, filled(graph, 32, 1), filled(graph, 32, 0)], {
      epsilon: { float: 1e-5 },
    });
    const whole = graph.node("Reshape", [norm, ints([batch, channels, size, size])]);
    const scaled = graph.node("Mul", [whole, drawn(graph, [channels, 1, 1], 1)]);
    return silu(graph, graph.node("Add", [scaled, drawn(graph, [channels, 1, 1], 1)]));
  });
}

/** Three products of one activation, side by side. */
export function queriesKeysValues(rows: number, width: number): Uint8Array {
  return model({ name: "qkv" }, (graph) => {
    const x = graph.input("x", [rows, width], dtype);
    const parts = ["q", "k", "v"].map((name) =>
      graph.node("MatMul", [x, drawn(graph, [width, width], 2 ** -5)], {}, { name }),
    );
    graph.nodes("Concat", parts, { axis: 1 }, { outputs: ["y"] });
    graph.output("y", dtype, [rows, 3 * width]);
  });
}
