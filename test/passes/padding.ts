/** @file Padding of everything that may be padded, by other amounts than anyone would choose; ONNX Runtime compares. */
import type { Tensor } from "onnxruntime-node";
import { expect } from "vitest";
import { type GraphBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import { type Atom, atomsOf, paddedSize } from "../../src/ir/axis.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { applyPadding } from "../../src/passes/align/apply.ts";
import { findSurprises } from "../../src/passes/align/check-padded.ts";
import { freeAtoms, freeAtomsOf } from "../../src/passes/align/free-atoms.ts";
import { blockUnsafe, collectFills, safeAtoms } from "../../src/passes/align/lanes.ts";
import { type Relations, relate } from "../../src/passes/align/relate.ts";
import { FreshNames } from "../../src/passes/names.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { bytesOfModel, type Feeds, floats, noise, type Results, run, volume } from "./folding.ts";

export interface Padding {
  readonly after: OpenModel;
  readonly relations: Relations;
  readonly sizes: ReadonlyMap<Atom, number>;
}

/** Every free atom grows by 1, 2 or 3 of `step`; with `areHeld` those, too, that ask for Slices and Pads. */
export function padEverything(before: OpenModel, step = 1, areHeld = false): Padding {
  const relations = relate(inferFacts(before));
  const fills = collectFills(relations);
  blockUnsafe(relations, freeAtoms(relations), fills);
  const values = relations.scope.graph.values.values();
  const held = areHeld ? [...freeAtomsOf(values, relations)].filter((atom) => atom.held !== undefined) : [];
  const grown = [...freeAtoms(relations), ...safeAtoms(relations, new Set(held), fills)];
  const atoms = grown.sort((a, b) => a.id - b.id);
  const sizes = new Map(atoms.map((atom, at) => [atom, atom.size + step * (1 + (at % 3))]));
  const open = (tensor: Parameters<typeof tensorBytes>[2]) =>
    tensorBytes(before.source, before.files, tensor, encodeNumbers);
  const names = new FreshNames(before);
  const patch = applyPadding({ model: before, relations, sizes, fills, names, open });
  const after = patched(before, patch, "padded.data");
  expect(findSurprises(inferFacts(after), relations, sizes)).toEqual([]);
  return { after, relations, sizes };
}

/** What ONNX Runtime makes of the padded model is what it makes of the model. */
export async function expectSamePadded(
  bytes: Uint8Array,
  feeds: Feeds,
  tolerance = 1e-5,
  step = 1,
  areHeld = false,
): Promise<Padding> {
  const padding = padEverything(modelFromBytes(bytes), step, areHeld);
  const expected = await run(bytes, feeds);
  const actual = await run(bytesOfModel(padding.after), feeds);
  expectClose(expected, actual, tolerance);
  return padding;
}

export function expectClose(expected: Results, actual: Results, tolerance: number): void {
  expect([...actual.keys()]).toEqual([...expected.keys()]);
  for (const [name, want] of expected) {
    const got = actual.get(name);
    expect(got?.dims, name).toEqual(want.dims);
    const [a, b] = [numbers(want), numbers(got)];
    const largest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const far = a.findIndex((value, at) => {
      const other = b[at] ?? Number.NaN;
      return !Object.is(value, other) && !(Math.abs(value - other) <= tolerance * largest);
    });
    expect(far < 0 ? "same" : `${name}[${far}] is ${b[far]}, was ${a[far]}`).toBe("same");
  }
}

function numbers(tensor: Tensor | undefined): number[] {
  return Array.from((tensor?.data ?? []) as ArrayLike<number | bigint>, Number);
}

/** Of an axis of a value: its padded size, or why it keeps its true one. */
export function fateOf({ relations, sizes }: Padding, name: string, position: number): number | string {
  const value = relations.scope.graph.values.get(name);
  const axis = value === undefined ? undefined : relations.axesOf(value)?.at(position);
  if (axis === undefined) throw new Error(`the test model has no axis ${position} of ${name}`);
  const size = paddedSize(axis, sizes);
  const reasons = atomsOf(axis).flatMap(({ blocked, held }) => blocked ?? held ?? []);
  return size > paddedSize(axis, new Map()) ? size : (reasons[0] ?? "not padded");
}

/** Weights that are the same in every run, and no two alike. */
export function weight(graph: GraphBuilder, dims: readonly number[], seed = 1): string {
  return graph.weight(dims, { values: noise(volume(dims), seed + volume(dims)) });
}

export function ints(graph: GraphBuilder, values: readonly number[]): string {
  return graph.weight([values.length], { dtype: "int64", values });
}

type Build = (graph: GraphBuilder, h: string) => string;

const options: ModelOptions = { name: "padding", opset: 17, domains: { "com.microsoft": 1 } };

/**
 * x [4,7], kept within [-1, 1], to h [4,6] with a bias, through `build`, and back to [.., 3] by weights of as many rows as
 * `rows`. What a caller feeds may be infinite, and there is more that may not be padded behind it.
 */
export function rowsModel(build: Build, rows = 6, opset = 17): Uint8Array {
  return model({ ...options, opset }, (graph) => {
    const x = graph.input("x", [4, 7]);
    const within = graph.node("Tanh", [x]);
    const h = graph.node("Gemm", [within, weight(graph, [7, 6]), weight(graph, [6])], {}, { outputs: ["h"] });
    graph.node("MatMul", [build(graph, h), weight(graph, [rows, 3])], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

export const rowsFeed: Feeds = { x: floats([4, 7]) };

/** x [2,3,8,8], kept within [-1, 1], to h [2,6,8,8], through `build`, and a 1×1 convolution of `channels`. */
export function imageModel(build: Build, channels = 6, opset = 17): Uint8Array {
  return model({ ...options, opset }, (graph) => {
    const x = graph.input("x", [2, 3, 8, 8]);
    const operands = [graph.node("Tanh", [x]), weight(graph, [6, 3, 3, 3]), weight(graph, [6])];
    const h = graph.node("Conv", operands, { pads: [1, 1, 1, 1] }, { outputs: ["h"] });
    graph.node("Conv", [build(graph, h), weight(graph, [5, channels, 1, 1])], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

export const imageFeed: Feeds = { x: floats([2, 3, 8, 8]) };
