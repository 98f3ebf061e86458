/** @file Runs a model on the GPU, and says whether it computes what it should, and how much faster. */
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { versionText } from "../../../cuda-runtime/session/open.ts";
import { InputError } from "../../ir/errors.ts";
import { openModel } from "../../onnx/open.ts";
import type { Overflow } from "../../passes/half/overflow.ts";
import type { Budget } from "../../verify/budget.ts";
import { verifyChildUrl } from "../../verify/child-url.ts";
import { type Evidence, type Judged, judge, worstOutputs } from "../../verify/judge.ts";
import type { Run } from "../../verify/plan.ts";
import type { Reference, ReferenceTask } from "../../verify/reference.ts";
import type { OutputReport } from "../../verify/report.ts";
import { batchSymbols } from "../../verify/sizes.ts";
import type { Tensors } from "../../verify/tensor.ts";
import { tensorCoreShare } from "../bench-report.ts";
import { checkRunnable } from "../check-runnable.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "../process.ts";
import type { ModelRun, RunsReport } from "../protocol.ts";
import { firstInnerDivergence, layersToLook } from "./layers.ts";
import { overflowBehind } from "./overflow.ts";
import { type Judgement, judgementOf } from "./precision.ts";
import { validateReference } from "./reference.ts";
import type { TimedRun, ValidateReport } from "./report.ts";

/** Root mean square of an inner value's error that is not looked for, as a share of the value's. */
const layerTolerance: Readonly<Record<Precision, number>> = {
  fp32: 1e-4,
  model: 1e-4,
  tf32: 0.01,
  fp16: 0.01,
  bf16: 0.05,
};

export interface ValidateOptions {
  /** The model whose outputs count; the validated one's own by default. */
  readonly against: string | undefined;
  /** Undefined: as it is stored, where that is half; else FP16. */
  readonly precision: Precision | undefined;
  /** One set of inputs; drawn by default. */
  readonly inputs: Tensors | undefined;
  /** Sets of normal inputs that are drawn. */
  readonly seeds: number;
  readonly dims: Readonly<Record<string, number>>;
  /** Size of every symbolic batch dimension. */
  readonly batch: number | undefined;
  /** Looks for the first inner value that is off. */
  readonly layers: boolean;
  /** Which GPU, as CUDA numbers them. */
  readonly device: number;
  readonly repeats: number | undefined;
  readonly warmup: number | undefined;
  /** Chooses the model's kernels by timing them, for so many seconds at the most; undefined: by prediction. */
  readonly autotuneSeconds: number | undefined;
}

/** Whether a model computes on the GPU what it should. Throws InputError where that cannot be found out. */
export function validateModel(
  model: string,
  options: ValidateOptions,
  limits: GpuLimits,
): Promise<ValidateReport> {
  return new Validation(model, options, limits).run();
}

class Validation {
  readonly #model: string;
  readonly #original: string;
  readonly #options: ValidateOptions;
  readonly #judgement: Judgement;
  readonly #limits: GpuLimits;
  readonly #seconds: Record<string, number> = {};

  constructor(model: string, options: ValidateOptions, limits: GpuLimits) {
    this.#model = model;
    this.#original = options.against ?? model;
    this.#options = options;
    this.#judgement = judgementOf(model, options.precision);
    this.#limits = limits;
  }

  async run(): Promise<ValidateReport> {
    const { device, layers } = this.#options;
    const { precision, budget } = this.#judgement;
    await checkRunnable([this.#model, this.#original], device, this.#limits);
    const reference = await this.#timed("reference", () => this.#reference(budget));
    const runs = this.#runs(reference);
    const measured = await this.#timed("GPU", () =>
      askGpu({ kind: "run", device, kernels: kernelsUrl, runs }, this.#limits),
    );
    const judged = await this.#judged(reference, measured);
    const outputs = worstOutputs(judged);
    const { overflow, notices } = await this.#timed("ranges", () => this.#overflow(outputs, reference));
    const same = outputs.length > 0 && outputs.every((output) => output.same);
    return {
      model: this.#model,
      against: this.#original,
      precision,
      gpu: measured.device,
      driver: `CUDA ${versionText(measured.driverVersion)}`,
      reference: reference.runtime,
      same,
      budget,
      draws: reference.runs.map(({ draw }) => draw),
      outputs,
      overflow,
      layers: layers ? await this.#timed("layers", () => this.#lookInside(reference)) : undefined,
      ...this.#times(runs, measured),
      notices: [...reference.notices, ...notices],
      seconds: this.#seconds,
    };
  }

  /** Meanwhile it is found out whether there is a GPU at all: without one, nobody has to wait. */
  async #reference(budget: Budget): Promise<Reference> {
    const { device } = this.#options;
    const stop = new AbortController();
    const probe = askGpu({ kind: "run", device, kernels: kernelsUrl, runs: [] }, this.#limits);
    const task = this.#referenceTask(budget);
    const reference = validateReference(task, device, this.#limits, stop.signal);
    probe.catch((error: unknown) => stop.abort(error));
    const [found] = await Promise.all([reference, probe]);
    return found;
  }

  #referenceTask(budget: Budget): ReferenceTask {
    const { inputs, seeds, dims, batch } = this.#options;
    const batchDims = batch === undefined ? {} : this.#batchDims(batch);
    return {
      path: this.#original,
      budget,
      seeds,
      sizes: Object.fromEntries(
        Object.entries({ ...batchDims, ...dims }).map(([name, size]) => [name, [size]]),
      ),
      inputs,
      expose: [],
      threads: undefined,
    };
  }

  #batchDims(batch: number): Record<string, number> {
    using model = openModel(this.#original);
    const symbols = batchSymbols(model);
    if (symbols.length === 0)
      throw new InputError("usage", `--batch: ${this.#original} has no symbolic batch dimension`);
    return Object.fromEntries(symbols.map((name) => [name, batch]));
  }

  /** Without ONNX Runtime nobody can say: that is a notice, and the rest of the report stands. */
  async #overflow(
    outputs: readonly OutputReport[],
    { runs }: Reference,
  ): Promise<{ readonly overflow: Overflow | undefined; readonly notices: readonly string[] }> {
    const { precision, budget } = this.#judgement;
    // TF32 rounds factors alone: nothing leaves the range of FP32.
    const type = budget.kind === "half" && precision !== "tf32" ? budget.dtype : undefined;
    const inputs = runs.map((run) => run.inputs);
    try {
      const question = { path: this.#original, type, outputs, inputs, childUrl: verifyChildUrl };
      return { overflow: await overflowBehind({ ...question, ...this.#limits }), notices: [] };
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { overflow: undefined, notices: [`whether values overflow is not known: ${error.message}`] };
    }
  }

  /** The candidate first; then what it is compared with, for its time alone. */
  #runs({ runs: draws }: Reference): ModelRun[] {
    const { warmup, repeats, autotuneSeconds } = this.#options;
    const { precision } = this.#judgement;
    const time = { warmup, repeats };
    const sets = draws.map(({ inputs }) => inputs);
    const only = sets.slice(0, 1);
    const run = (label: string, path: string, own: Precision, given: readonly Tensors[]): ModelRun => ({
      label,
      model: { path, precision: own },
      inputs: { kind: "given", sets: given },
      time,
    });
    const isOther = this.#model !== this.#original;
    return [
      { ...run("after", this.#model, precision, sets), steps: true, autotuneSeconds },
      ...(precision === "fp32" && !isOther ? [] : [run("before", this.#original, "fp32", only)]),
      ...(isOther && precision !== "fp32" && precision !== "model"
        ? [run("before", this.#original, precision, only)]
        : []),
    ];
  }

  #times(runs: readonly ModelRun[], { runs: reports }: RunsReport) {
    const timed = runs.flatMap(({ label, model }, index): TimedRun[] => {
      const report = reports[index];
      if (report === undefined) return [];
      const { times, launches, memory, steps } = report;
      const { path, precision } = model;
      const run = { name: `${label}, ${precision}`, model: path, precision, times, launches, memory };
      return [steps === undefined ? run : { ...run, steps }];
    });
    const [after, before] = timed;
    const [a, b] = [after?.times?.median, before?.times?.median];
    return {
      runs: [...timed.slice(1), ...timed.slice(0, 1)],
      speedup: a === undefined || b === undefined ? undefined : b / a,
      tensorCoreShare: tensorCoreShare(reports[0]?.steps ?? []),
      autotune: reports[0]?.autotune,
    };
  }

  async #lookInside({ runs: [first] }: Reference): Promise<ValidateReport["layers"]> {
    if (first === undefined) return undefined;
    const { device } = this.#options;
    const { precision } = this.#judgement;
    const { inputs } = first;
    const names = layersToLook(this.#original, this.#model, inputs);
    // Without a half budget, nothing is rounded: one run of the reference is enough.
    const budget: Budget = { kind: "relative", tolerance: layerTolerance.fp32 };
    const task = { ...this.#referenceTask(budget), inputs, expose: names };
    const { runs } = await validateReference(task, device, this.#limits);
    const model = { path: this.#model, precision, expose: names };
    const given = { kind: "given", sets: [inputs] } as const;
    const inner = await askGpu(
      { kind: "run", device, kernels: kernelsUrl, runs: [{ label: "looking inside", model, inputs: given }] },
      this.#limits,
    );
    const [expected, actual] = [runs[0]?.expected, inner.runs[0]?.outputs[0]];
    if (expected === undefined || actual === undefined) return undefined;
    const tolerance = layerTolerance[precision];
    return {
      looked: names.length,
      first: firstInnerDivergence(this.#original, names, expected, actual, tolerance),
    };
  }

  async #judged({ runs, rounded }: Reference, { runs: [after] }: RunsReport): Promise<Judged[]> {
    const { budget } = this.#judgement;
    const judged: Judged[] = [];
    // One after another: each may ask for more runs of the original.
    for (const [index, run] of runs.entries()) {
      const evidence: Evidence = {
        ...{ budget, rounded: rounded?.[index], mirrored: undefined },
        variants: (each) => this.#ways(each),
      };
      judged.push(await judge(run, after?.outputs[index] ?? new Map(), evidence));
    }
    return judged;
  }

  /** What else rounding to codes may make of a run. */
  async #ways({ inputs }: Run): Promise<readonly Tensors[]> {
    const { budget } = this.#judgement;
    if (budget.kind !== "relative" || budget.codesFactor === undefined) return [];
    const task = { ...this.#referenceTask(budget), inputs, ways: true };
    const found = await validateReference(task, this.#options.device, this.#limits);
    return found.ways ?? [];
  }

  async #timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.#seconds[what] = (performance.now() - start) / 1000;
    }
  }
}
