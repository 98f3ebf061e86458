/** @file The observation of ranges itself: the model with the largest magnitude of each value as one more output. */
import { dtypes } from "../ir/dtype.ts";
import { pushAll } from "../ir/lists.ts";
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
import { floatScalar, numbersOf, type Tensors } from "./tensor.ts";

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
    pushAll(
      results,
      runs.map(({ expected }) => expected),
    );
  }
  return results;
}

/** Where and IsNaN are of opset 9; a model older than that has its NaN passed over. */
const firstWhere = 9;

/** Nodes that reduce each value to max |x|, with the names of their results by value. */
function magnitudes(model: Model, values: readonly string[]) {
  const names = new FreshNames(model);
  const patch = new Patch();
  const graph = patch.of(model.graph);
  const infinity = names.make("infinity");
  const seesNaN = (model.opsets.get("") ?? 1) >= firstWhere;
  if (seesNaN) graph.added.set(infinity, floatScalar(Number.POSITIVE_INFINITY));
  const outputs = new Map<string, string>();
  for (const value of new Set(values)) {
    const make = (suffix: string) => names.make(`${value}_${suffix}`);
    const [float, size, largest] = [make("float"), make("size"), make("largest")];
    graph.last.push(
      { opType: "Cast", inputs: [value], outputs: [float], attributes: integer("to", dtypes.float32.code) },
      { opType: "Abs", inputs: [float], outputs: [size] },
    );
    let counted = size;
    if (seesNaN) {
      // A maximum passes NaN over.
      const invalid = make("invalid");
      counted = make("counted");
      graph.last.push(
        { opType: "IsNaN", inputs: [float], outputs: [invalid] },
        { opType: "Where", inputs: [invalid, infinity, size], outputs: [counted] },
      );
    }
    const attributes = integer("keepdims", 0);
    graph.last.push({ opType: "ReduceMax", inputs: [counted], outputs: [largest], attributes });
    outputs.set(value, largest);
  }
  return { patch, outputs };
}

function integer(name: string, value: number) {
  return new Map([[name, { type: "int", value } as const]]);
}
