/** @file The batch pass over models in memory; ONNX Runtime compares each batch with runs of the original. */
import { Tensor } from "onnxruntime-node";
import { expect } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import { listText } from "../../src/ir/message.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { type BatchChoice, rebatch } from "../../src/passes/batch/batch.ts";
import { FreshNames } from "../../src/passes/names.ts";
import type { PassContext, PassNote, PassOptions } from "../../src/passes/pass.ts";
import { bytesOfModel, noise, run, volume } from "./folding.ts";

export interface Batched {
  readonly after: OpenModel;
  readonly notes: readonly PassNote[];
}

/** What the pass takes of its context. */
type BatchContext = Pick<PassContext, "model" | "facts" | "names" | "preview"> & {
  readonly options: Pick<PassOptions, "batch">;
};

/** Throws InputError where the batch is not free. */
export function batchModel(bytes: Uint8Array, batch: BatchChoice): Batched {
  const before = modelFromBytes(bytes);
  const context: BatchContext = {
    model: before,
    facts: inferFacts(before),
    names: new FreshNames(before),
    options: { batch },
    preview: (patch) => inferFacts(patched(before, patch, "preview.data")),
  };
  const { patch, notes } = rebatch.run(context as PassContext);
  const after = patch.isEmpty ? before : patched(before, patch, "batch.data");
  const facts = inferFacts(after);
  expect(facts.contradictions).toEqual([]);
  expect(facts.skipped).toEqual([]);
  return { after, notes };
}

/** Declared sizes of inputs and outputs: `x [batch,3,8,8]`. */
export function portsOf({ graph }: OpenModel): string[] {
  return [...graph.inputs, ...graph.outputs].map(({ name, declared }) => {
    const shape = declared?.kind === "tensor" ? declared.shape : undefined;
    return `${name} ${shape === undefined ? "?" : listText(shape)}`;
  });
}

export const build = (graph: (graph: GraphBuilder) => void, opset = 17): Uint8Array =>
  model({ name: "batch", opset }, graph);

/** Of inputs with as many samples as asked for, each drawn from its own number. */
function feedsOf({ graph }: OpenModel, samples: readonly number[]): Record<string, Tensor> {
  return Object.fromEntries(
    graph.inputs.map(({ name, declared }) => {
      const shape = declared?.kind === "tensor" ? (declared.shape ?? []) : [];
      const inner = shape.slice(1).map(Number);
      const data = samples.flatMap((sample) => noise(volume(inner), 100 + sample));
      return [name, new Tensor("float32", Float32Array.from(data), [samples.length, ...inner])];
    }),
  );
}

/** At each batch, the model gives what runs of the original on its samples give, stacked along `axis`. */
export async function expectStacked(bytes: Uint8Array, after: OpenModel, axis = 0): Promise<void> {
  const before = modelFromBytes(bytes);
  const first = before.graph.inputs[0]?.declared;
  const size = Number(first?.kind === "tensor" ? first.shape?.[0] : 1);
  for (const batch of [1, 2, 3].map((factor) => factor * size)) {
    const samples = Array.from({ length: batch }, (_, at) => at);
    const whole = await run(bytesOfModel(after), feedsOf(before, samples));
    for (let from = 0; from < batch; from += size) {
      const part = await run(bytes, feedsOf(before, samples.slice(from, from + size)));
      for (const [name, expected] of part) {
        const all = whole.get(name);
        if (all === undefined) throw new Error(`"${name}" is gone`);
        expect(all.dims.map((dim, at) => (at === axis ? (dim * size) / batch : dim))).toEqual(expected.dims);
        const inner = volume(expected.dims.slice(axis + 1));
        const own = expected.dims[axis] ?? 0;
        const rows = volume(expected.dims.slice(0, axis));
        const taken = Array.from({ length: rows }, (_, row) => {
          const start = (row * (all.dims[axis] ?? 0) + (from / size) * own) * inner;
          return Array.from(all.data.slice(start, start + own * inner), Number);
        }).flat();
        const wanted = Array.from(expected.data, Number);
        for (const [at, value] of wanted.entries()) expect(taken[at]).toBeCloseTo(value, 4);
      }
    }
  }
}
