/** @file What the model should compute: ONNX Runtime's word, or where it is not installed, that of our own FP32. */
import { InputError } from "../../ir/errors.ts";
import { openModel } from "../../onnx/open.ts";
import { verifyChildUrl } from "../../verify/child-url.ts";
import type { Budget, Tensors } from "../../verify/index.ts";
import { type DrawKind, drawInputs } from "../../verify/inputs.ts";
import type { Run } from "../../verify/plan.ts";
import { type Reference, type ReferenceTask, referenceOf } from "../../verify/reference.ts";
import { roundedInputs } from "../../verify/reference-here.ts";
import { sizeAttempts } from "../../verify/sizes.ts";
import type { Bindings } from "../../verify/use.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "../process.ts";
import type { ModelRun } from "../protocol.ts";

/** Throws InputError. */
export async function validateReference(
  task: ReferenceTask,
  device: number,
  limits: GpuLimits,
  signal?: AbortSignal,
): Promise<Reference> {
  try {
    return await referenceOf(task, { ...limits, childUrl: verifyChildUrl, signal });
  } catch (error) {
    if (!(error instanceof InputError && error.code === "onnxruntime-missing")) throw error;
    const own = await ownReference(task, device, limits);
    return { ...own, notices: [...own.notices, `the reference is tc-lint's own FP32: ${error.message}`] };
  }
}

/** The first sizes that the runtime takes. */
async function ownReference(task: ReferenceTask, device: number, limits: GpuLimits): Promise<Reference> {
  let refusal: unknown;
  for (const draws of candidateDraws(task)) {
    try {
      return await referenceOn(task, draws, device, limits);
    } catch (error) {
      if (!(error instanceof InputError && (error.code === "gpu-unsupported" || error.code === "cannot-run")))
        throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new InputError("cannot-run", `${task.path}: there is nothing to run it on`);
}

type Draws = readonly Omit<Run, "expected">[];

function candidateDraws({ path, inputs, sizes, seeds }: ReferenceTask): Draws[] {
  if (inputs !== undefined) return [[{ draw: { name: "given", sizes: {} }, inputs }]];
  using model = openModel(path);
  const kinds: readonly { kind: DrawKind; seed: number }[] = [
    ...Array.from({ length: seeds }, (_, index) => ({ kind: "normal" as const, seed: index + 1 })),
    { kind: "negative", seed: 1 },
    { kind: "zero", seed: 1 },
  ];
  const drawn = (bindings: Bindings): Draws =>
    kinds.map(({ kind, seed }) => ({
      draw: { name: `${kind}, seed ${seed}`, sizes: Object.fromEntries(bindings) },
      inputs: drawInputs(model, { kind, seed, sizes: bindings, isNarrow: false }),
    }));
  return sizeAttempts(model, sizes).flatMap(([first]) => (first === undefined ? [] : [drawn(first)]));
}

async function referenceOn(
  { path, budget, expose }: ReferenceTask,
  draws: Draws,
  device: number,
  limits: GpuLimits,
): Promise<Reference> {
  const exact: ModelRun = {
    label: "the reference, FP32",
    model: { path, precision: "fp32", expose },
    inputs: { kind: "given", sets: draws.map(({ inputs }) => inputs) },
  };
  const runs = [exact, ...roundedRun(path, budget, draws)];
  const { runs: results } = await askGpu({ kind: "run", device, kernels: kernelsUrl, runs }, limits);
  const [expected, rounded] = results.map(({ outputs }) => outputs);
  return {
    runtime: "tc-lint's own FP32 on the same GPU",
    runs: draws.map((each, index) => ({ ...each, expected: expected?.[index] ?? new Map() })),
    rounded,
    notices: [],
  };
}

function roundedRun(path: string, budget: Budget, draws: Draws): ModelRun[] {
  if (budget.kind !== "half") return [];
  const sets: Tensors[] = draws.map(({ inputs }) => roundedInputs(inputs, budget.dtype));
  const model = { path, precision: "fp32", rounded: budget.dtype } as const;
  return [{ label: "the reference, weights rounded", model, inputs: { kind: "given", sets } }];
}
