/** @file The fold pass over models in memory, and ONNX Runtime's word on what they compute. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { expect } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import type { Patch } from "../../src/ir/patch.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { FreshNames } from "../../src/passes/names.ts";
import type { PassContext, PassNote } from "../../src/passes/pass.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { readRange } from "../../src/wire/source.ts";

export interface Folded {
  readonly before: OpenModel;
  readonly after: OpenModel;
  readonly patch: Patch;
  readonly notes: readonly PassNote[];
}

/** What the pass takes of its context; prices and options are none of its business. */
type FoldContext = Pick<PassContext, "model" | "facts" | "names" | "open">;

function runFold(model: OpenModel) {
  const context: FoldContext = {
    model,
    facts: inferFacts(model),
    names: new FreshNames(model),
    open: (tensor) => tensorBytes(model.source, model.files, tensor, encodeNumbers),
  };
  return fold.run(context as PassContext);
}

/** Folds, and checks that folding what came out changes nothing. */
export function foldModel(before: OpenModel): Folded {
  const { patch, notes } = runFold(before);
  const after = patch.isEmpty ? before : patched(before, patch, "fold.data");
  const again = runFold(after);
  expect(again.notes.filter(({ kind }) => kind === "changed")).toEqual([]);
  expect(again.patch.isEmpty).toBe(true);
  return { before, after, patch, notes };
}

export function foldBytes(bytes: Uint8Array): Folded {
  return foldModel(modelFromBytes(bytes));
}

export function bytesOfModel({ source }: OpenModel): Uint8Array {
  return readRange(source, 0, source.size);
}

/** Operators of the main graph, in order, Constants left out. */
export function operators(model: OpenModel): string[] {
  return model.graph.nodes.map(({ opType }) => opType).filter((type) => type !== "Constant");
}

export type Feeds = Readonly<Record<string, Tensor>>;

export type Results = ReadonlyMap<string, Tensor>;

/** Outputs by name, as the model computes them without any optimization. */
export async function run(model: Uint8Array | string, feeds: Feeds): Promise<Results> {
  const options = { logSeverityLevel: 4, graphOptimizationLevel: "disabled" } as const;
  const session =
    typeof model === "string"
      ? await InferenceSession.create(model, options)
      : await InferenceSession.create(model, options);
  try {
    return new Map(Object.entries(await session.run(feeds)));
  } finally {
    await session.release();
  }
}

/** Largest difference over all outputs, as a share of the largest finite magnitude of its output; NaN where just one is NaN. */
export function difference(expected: Results, actual: Results): number {
  expect([...actual.keys()]).toEqual([...expected.keys()]);
  let worst = 0;
  for (const [name, want] of expected) {
    const got = actual.get(name);
    expect(got?.dims, name).toEqual(want.dims);
    const [a, b] = [numbers(want), got === undefined ? [] : numbers(got)];
    const largest = a.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    for (const [index, value] of a.entries()) {
      const other = b[index] ?? Number.NaN;
      if (Object.is(value, other) || value === other) continue;
      const share = Math.abs(value - other) / largest;
      // Nothing that comes later makes up for it: NaN is neither more nor less than any number.
      if (Number.isNaN(share)) return share;
      worst = Math.max(worst, share);
    }
  }
  return worst;
}

function numbers({ data }: Tensor): number[] {
  return Array.from(data as ArrayLike<number | bigint>, Number);
}

/** Folding keeps what a model computes. Gives what was folded. */
export async function expectSame(bytes: Uint8Array, feeds: Feeds, tolerance = 1e-6): Promise<Folded> {
  const folded = foldBytes(bytes);
  const expected = await run(bytes, feeds);
  const actual = await run(bytesOfModel(folded.after), feeds);
  expect(difference(expected, actual)).toBeLessThanOrEqual(tolerance);
  return folded;
}

export function floats(dims: readonly number[], seed = 1): Tensor {
  return new Tensor("float32", Float32Array.from(noise(volume(dims), seed)), dims);
}

/** Numbers in (-1, 1), the same for the same seed. */
export function noise(count: number, seed: number): number[] {
  let state = seed * 2654435761 + 1;
  return Array.from({ length: count }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  });
}

export function volume(dims: readonly number[]): number {
  return dims.reduce((total, dim) => total * dim, 1);
}
