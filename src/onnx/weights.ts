/** @file Which external data files a model names, whether they are there, and whether they are large enough. */
import { dirname, join } from "node:path";
import { bytesOf } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { Graph, Model, TensorRef } from "../ir/model.ts";
import { WireError } from "../wire/error.ts";
import type { DataFiles } from "./data-files.ts";

/** A model, and where its external data is. */
export interface ModelWithFiles extends Model {
  readonly files: DataFiles;
}

export interface WeightFile {
  /** As the model names it. */
  readonly location: string;
  readonly present: boolean;
  /** What the tensors in it need: the end of the last one. */
  readonly neededBytes: number;
}

/**
 * Looks at every external data file without reading it. A missing one is stated, not an error: shapes are enough to
 * lint. Throws InputError where one lies outside the model's folder or is too short.
 */
export function weightFiles(model: ModelWithFiles): readonly WeightFile[] {
  const needed = new Map<string, { bytes: number; tensor: string }>();
  for (const tensor of tensorsOf(model)) {
    const { data } = tensor;
    if (data.kind !== "external") continue;
    const end = data.offset + (data.length ?? 0);
    const before = needed.get(data.location);
    if (before === undefined || end > before.bytes)
      needed.set(data.location, { bytes: end, tensor: tensor.name });
  }
  return [...needed].map(([location, { bytes, tensor }]) => {
    const found = resolve(model, location);
    if (found !== undefined && found.bytes < bytes) {
      throw new InputError(
        "external-truncated",
        `${model.path}: tensor "${tensor}" ends at byte ${bytes} of "${location}", which has ${found.bytes} bytes`,
      );
    }
    return { location, present: found !== undefined, neededBytes: bytes };
  });
}

/** Of each external file, what of it is the model's tensors: bytes by where they begin. */
export function externalRanges(model: Model): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const files = new Map<string, Map<number, number>>();
  for (const { data, dims, dtype } of tensorsOf(model)) {
    if (data.kind !== "external") continue;
    const elements = dims.reduce((product, size) => product * size, 1);
    const length = data.length ?? (dtype === undefined ? 0 : bytesOf(dtype, elements));
    const ranges = files.get(data.location) ?? new Map<number, number>();
    files.set(data.location, ranges.set(data.offset, Math.max(length, ranges.get(data.offset) ?? 0)));
  }
  return files;
}

/** Paths of the files that are there. */
export function presentWeights(model: ModelWithFiles, files = weightFiles(model)): string[] {
  return files.filter(({ present }) => present).map(({ location }) => join(dirname(model.path), location));
}

function resolve(model: ModelWithFiles, location: string): { bytes: number } | undefined {
  try {
    return model.files.find(location);
  } catch (error) {
    if (error instanceof WireError) throw new InputError(error.code, error.message, { cause: error });
    throw error;
  }
}

/** Every tensor of the model: initializers and attributes, subgraphs and functions included. */
export function* tensorsOf(model: Model): Iterable<TensorRef> {
  yield* tensorsOfGraph(model.graph);
  for (const { graph } of model.functions.values()) yield* tensorsOfGraph(graph);
}

function* tensorsOfGraph(graph: Graph): Iterable<TensorRef> {
  for (const value of graph.values.values()) if (value.initializer !== undefined) yield value.initializer;
  for (const node of graph.nodes) {
    for (const { value } of node.attributes) {
      if (value.type === "tensor") yield value.tensor;
      else if (value.type === "graph") yield* tensorsOfGraph(value.graph);
      else if (value.type === "graphs") for (const inner of value.graphs) yield* tensorsOfGraph(inner);
    }
  }
}
