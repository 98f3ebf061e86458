/** @file The observation of ranges itself: the model with the largest magnitude of each value as one more output. */
import type { Model } from "../ir/model.ts";
import { FreshNames } from "../ir/names.ts";
import { Patch } from "../ir/patch.ts";
import { exposeComputed } from "../onnx/expose.ts";
import { modelInMemory } from "../onnx/in-memory.ts";
import { openModel } from "../onnx/open.ts";
import { budgets } from "./budget.ts";
import { openSession, type Session } from "./ort.ts";
import { type PlanOptions, runOriginal } from "./plan.ts";
import { checkRunnable } from "./signature.ts";
import type { GivenSizes } from "./sizes.ts";
import { numbersOf, type Tensors } from "./tensor.ts";

/** Plain data, so that it can be sent to another process. */
export interface RangesTask {
  readonly path: string;
  readonly values: readonly string[];
  readonly samples: readonly Tensors[] | undefined;
  readonly seeds: number;
  readonly sizes: GivenSizes;
  readonly threads: number | undefined;
}

/** By name: the largest magnitude over all samples, Infinity where a NaN or an infinity was seen. */
export async function observeHere(
  task: RangesTask,
  onProgress: (what: string) => void,
): Promise<ReadonlyMap<string, number>> {
  using model = openModel(task.path);
  checkRunnable(model);
  const { patch, outputs } = magnitudes(model, task.values);
  const bytes = modelInMemory(task.path, () => exposeComputed(model, patch, [...outputs.values()]));
  onProgress("the model, loading");
  await using session = await openSession(
    { path: task.path, ...bytes },
    { optimization: "basic", threads: task.threads },
  );
  const ranges = new Map<string, number>();
  for (const result of await runAll(session, model, task, onProgress)) {
    for (const [value, output] of outputs) {
      const tensor = result.get(output);
      const seen = tensor === undefined ? Number.NaN : (numbersOf(tensor)[0] ?? 0);
      const magnitude = Number.isFinite(seen) ? seen : Number.POSITIVE_INFINITY;
      ranges.set(value, Math.max(ranges.get(value) ?? 0, magnitude));
    }
  }
  return ranges;
}

async function runAll(
  session: Session,
  model: Model,
  { samples, seeds, sizes }: RangesTask,
  onProgress: (what: string) => void,
): Promise<readonly Tensors[]> {
  // The draws that half precision is verified on later.
  const options: PlanOptions = { budget: budgets.float16, seeds, sizes, given: undefined, onProgress };
  if (samples === undefined) {
    return (await runOriginal(session, model, options)).runs.map(({ expected }) => expected);
  }
  const results: Tensors[] = [];
  for (const given of samples) {
    const { runs } = await runOriginal(session, model, { ...options, given });
    results.push(...runs.map(({ expected }) => expected));
  }
  return results;
}

/** Nodes that reduce each value to max |x|, with the names of their results by value. */
function magnitudes(model: Model, values: readonly string[]) {
  const names = new FreshNames(model);
  const patch = new Patch();
  const { last } = patch.of(model.graph);
  const outputs = new Map<string, string>();
  const scalar = new Map([["keepdims", { type: "int", value: 0 } as const]]);
  for (const value of new Set(values)) {
    const [size, largest] = [names.make(`${value}_size`), names.make(`${value}_largest`)];
    last.push({ opType: "Abs", inputs: [value], outputs: [size] });
    last.push({ opType: "ReduceMax", inputs: [size], outputs: [largest], attributes: scalar });
    outputs.set(value, largest);
  }
  return { patch, outputs };
}
