/** @file The comparison itself, in the process that calls it. ONNX Runtime may take that process down: see verify.ts. */
import { InputError } from "../ir/errors.ts";
import type { Stacked } from "../ir/stacked.ts";
import { type OpenModel, openModel } from "../onnx/open.ts";
import { beyondNotices, mirrored } from "./beyond.ts";
import type { Budget } from "./budget.ts";
import { CandidateForms } from "./candidate-forms.ts";
import type { Lanes } from "./compare.ts";
import { divergenceTolerance, firstDivergence } from "./diverge.ts";
import { emptyNotices, refuseNothing } from "./emptiness.ts";
import { type Evidence, type Judged, judge, worstOutputs } from "./judge.ts";
import { nudged } from "./nudged.ts";
import { type Optimization, openSession, runtimeVersion, type SessionOptions } from "./ort.ts";
import { attempt, drawText, howText, type Plan, type Run, runDraw } from "./plan.ts";
import { doings } from "./protocol.ts";
import { decidingOperands, runRounded } from "./reference-here.ts";
import type { DivergenceReport, OutputReport, VerifyReport } from "./report.ts";
import { checkRunnable, signatureProblems } from "./signature.ts";
import type { GivenSizes, InputsFlag } from "./sizes.ts";
import type { Tensors } from "./tensor.ts";
import { runThoroughly, seedOfOtherWays } from "./thorough.ts";
import { decidedBehind, type Ties, tiesOf } from "./ties.ts";
import { withUnproven } from "./unproven.ts";

/** A comparison to make; plain data, so that it can be sent to another process. */
export interface VerifyTask {
  readonly original: string;
  readonly candidate: string;
  readonly budget: Budget;
  /** How many draws of normal inputs, beside large, negative and zero ones. */
  readonly seeds: number;
  /** Sizes of symbolic axes, by symbol; others are chosen. */
  readonly sizes: GivenSizes;
  /** Sizes beside those given are tried as well. */
  readonly otherSizes: boolean;
  /** Whether 0 samples are tried: ONNX Runtime may not survive it. */
  readonly emptyBatch: boolean;
  /** Whether they run with all optimizations as well: ONNX Runtime may not survive that either. */
  readonly allOptimizations: boolean;
  /** Inputs to use instead of drawn ones. */
  readonly inputs: Tensors | undefined;
  /** What gives them, for messages. */
  readonly inputsFlag: InputsFlag | undefined;
  /** Of values that the candidate pads, by name: positions of the original's elements along each axis. */
  readonly lanes: ReadonlyMap<string, Lanes>;
  /** Of inputs and outputs that the candidate has transposed: its axis i is the original's axis p[i]. */
  readonly permutations: ReadonlyMap<string, readonly number[]>;
  /** Where the candidate takes other samples than the original in one run. */
  readonly stacked: Stacked | undefined;
  /** Whether the candidate is one that was padded, for products that read finite numbers: see beyond.ts. */
  readonly assumesFinite: boolean;
  /** For ONNX Runtime; undefined leaves it the choice. */
  readonly threads: number | undefined;
}

export interface VerifyOutcome {
  readonly report: VerifyReport;
  /** Inputs on which the models differ. */
  readonly failingInputs: Tensors | undefined;
}

/** Throws InputError where the original, or either file, is at fault; a candidate that does not run is a difference. */
export async function verifyHere(
  task: VerifyTask,
  onProgress: (what: string) => void,
): Promise<VerifyOutcome> {
  using original = openModel(task.original);
  using candidate = openModel(task.candidate);
  checkRunnable(original);
  checkRunnable(candidate);
  // Awaited here: the models are closed on return.
  return await new Verification(task, original, candidate, onProgress).run();
}

class Verification {
  readonly #task: VerifyTask;
  readonly #original: OpenModel;
  readonly #candidate: OpenModel;
  readonly #onProgress: (what: string) => void;
  readonly #session: SessionOptions;
  /** Of the original, whose runs may be stacked. */
  readonly #originals: SessionOptions;
  /** Whose inputs are drawn. */
  readonly #drawn: OpenModel;
  readonly #forms: CandidateForms;

  constructor(
    task: VerifyTask,
    original: OpenModel,
    candidate: OpenModel,
    onProgress: (what: string) => void,
  ) {
    this.#task = task;
    this.#original = original;
    this.#candidate = candidate;
    this.#onProgress = onProgress;
    this.#forms = new CandidateForms(candidate, task.permutations);
    this.#session = { optimization: "basic", threads: task.threads };
    this.#originals = { ...this.#session, stacked: task.stacked };
    this.#drawn = task.stacked === undefined ? original : candidate;
  }

  async run(): Promise<VerifyOutcome> {
    const start = performance.now();
    const problems = signatureProblems(this.#original, this.#candidate, this.#task.budget);
    const found = problems.length > 0 ? nothing(problems) : await this.#compare();
    const { original, candidate, budget } = this.#task;
    const outputs = worstOutputs(found.judged);
    const failing = found.judged.find((each) => each.outputs.some(({ same }) => !same));
    const output = failing?.outputs.find(({ same }) => !same);
    // Inner values of runs that are stacked have samples anywhere.
    const isOne = this.#task.stacked === undefined;
    const divergence =
      failing && output && isOne ? await this.#findDivergence(failing.run, output) : undefined;
    if (found.problems.length === 0) refuseNothing(this.#task.original, found.judged);
    const report: VerifyReport = {
      original,
      candidate,
      same: found.problems.length === 0 && failing === undefined && outputs.length > 0,
      problems: found.problems,
      budget,
      runtime: await runtimeVersion(),
      draws: found.plan.runs.map(({ draw }) => draw),
      outputs,
      firstDivergence: divergence,
      notices: [...found.plan.notices, ...emptyNotices(found.judged), ...beyondNotices(found.judged)],
      seconds: (performance.now() - start) / 1000,
    };
    return { report, failingInputs: failing?.run.inputs };
  }

  /** One session at a time: memory for both models is never needed at once. */
  async #compare(): Promise<Found> {
    const planned = await this.#runOriginal();
    const unoptimized = await this.#runOtherwise("disabled", planned);
    const fused = this.#task.allOptimizations
      ? await this.#runOtherwise("all", planned)
      : { runs: [], notices: [] };
    const notices = [...planned.notices, ...unoptimized.notices, ...fused.notices];
    const plan = { ...planned, notices, runs: [...planned.runs, ...unoptimized.runs, ...fused.runs] };
    const rounded = this.#task.budget.kind === "half" ? await this.#runRounded(plan.runs) : undefined;
    const judged: Judged[] = [];
    try {
      for await (const each of this.#judged("basic", planned.runs, rounded)) judged.push(each);
      for await (const each of this.#judged("disabled", unoptimized.runs, rounded)) judged.push(each);
      for await (const each of this.#judged("all", fused.runs, rounded)) judged.push(each);
    } catch (error) {
      if (!(error instanceof InputError && error.code === "cannot-run")) throw error;
      return { plan, judged, problems: [error.message] };
    }
    return { plan, judged: withUnproven(judged, this.#task.budget), problems: [] };
  }

  /** What the candidate makes of runs. Throws InputError `cannot-run` where it takes one of them not. */
  async *#judged(
    optimization: Optimization,
    runs: readonly Run[],
    rounded: ReadonlyMap<Run, Tensors> | undefined,
  ): AsyncIterable<Judged> {
    if (runs.length === 0) return;
    this.#onProgress(`${doings.candidate}${howText[optimization]}, loading`);
    await using session = await openSession(
      { path: this.#task.candidate },
      { ...this.#session, optimization },
    );
    for (const run of runs) {
      this.#onProgress(`${doings.candidate}, ${drawText(run.draw)}`);
      const actual = this.#forms.asOriginal(await session.run(this.#forms.asCandidate(run.inputs)));
      const evidence: Evidence = {
        budget: this.#task.budget,
        rounded: rounded?.get(run),
        variants: (each) => this.#variants(each),
        mirrored: this.#task.assumesFinite ? (each) => this.#mirrored(each) : undefined,
        ties: (each, output) => this.#ties(each, output),
      };
      yield await judge(run, actual, evidence);
    }
  }

  async #runOriginal(): Promise<Plan> {
    const { original: path, inputs: given, ...rest } = this.#task;
    const { budget, seeds, sizes, otherSizes, emptyBatch, inputsFlag } = rest;
    this.#onProgress("the original, loading");
    await using session = await openSession({ path }, this.#originals);
    const asked = { budget, seeds, sizes, given, otherSizes, emptyBatch, inputsFlag };
    const options = { ...asked, onProgress: this.#onProgress };
    const plan = await runThoroughly(session, this.#drawn, options);
    return { ...plan, notices: [...session.notices, ...plan.notices] };
  }

  /** One more run with optimizations off, which hide what they repair, or with all, as it runs where nobody asks. */
  async #runOtherwise(
    optimization: "disabled" | "all",
    { runs, smallest }: Plan,
  ): Promise<Pick<Plan, "runs" | "notices">> {
    const { original: path } = this.#task;
    // Loading it is what ends a process, or running it.
    this.#onProgress(doingOriginal[optimization]);
    const run = await attempt(async () => {
      await using session = await openSession({ path }, { ...this.#originals, optimization });
      if (smallest !== undefined) {
        const draw = { kind: "normal", seed: seedOfOtherWays, ...smallest } as const;
        return await runDraw(session, this.#drawn, draw, { onProgress: () => {} });
      }
      const [given] = runs;
      const inputs = given?.inputs ?? new Map();
      const draw = { name: `given${howText[optimization]}`, sizes: {} };
      return { draw, inputs, expected: await session.run(inputs) };
    });
    if (!(run instanceof InputError)) return { runs: [run], notices: [] };
    return {
      runs: [],
      notices: [
        `not compared with${howText[optimization].replace(",", "")}: the original does not run so (${run.message})`,
      ],
    };
  }

  /** The original with weights and inputs rounded to half, on every set of inputs. */
  async #runRounded(runs: readonly Run[]): Promise<Map<Run, Tensors>> {
    const { budget } = this.#task;
    const results = new Map<Run, Tensors>();
    if (budget.kind !== "half") return results;
    const what = `the original with weights in ${budget.dtype}`;
    this.#onProgress(`${what}, loading`);
    const rounded = await runRounded(this.#original, budget.dtype, runs, {
      ...this.#originals,
      onProgress: (run) => this.#onProgress(`${what}, ${drawText(run.draw)}`),
      isHalf: (name) => this.#forms.typeOf(name) === budget.dtype,
    });
    for (const [index, run] of runs.entries()) results.set(run, rounded[index] ?? new Map());
    return results;
  }

  /** The original's outputs computed in other ways, and with inputs that differ in the last bit. */
  async #variants(run: Run): Promise<readonly Tensors[]> {
    const { original: path } = this.#task;
    this.#onProgress(`the original, how it rounds, ${drawText(run.draw)}`);
    const results: Tensors[] = [];
    for (const optimization of ["all", "basic", "disabled"] as const) {
      const inputs = optimization === "basic" ? nudged(run.inputs) : run.inputs;
      const result = await attempt(async () => {
        await using session = await openSession({ path }, { ...this.#originals, optimization });
        return await session.run(inputs);
      });
      if (!(result instanceof InputError)) results.push(result);
    }
    return results;
  }

  /** The original's outputs with every infinity of the inputs negated; nothing where it does not run on them. */
  async #mirrored(run: Run): Promise<Tensors | undefined> {
    const inputs = mirrored(run);
    if (inputs === undefined) return undefined;
    this.#onProgress(`the original, infinities negated, ${drawText(run.draw)}`);
    const result = await attempt(async () => {
      await using session = await openSession({ path: this.#task.original }, this.#originals);
      return await session.run(inputs);
    });
    return result instanceof InputError ? undefined : result;
  }

  /** What decides an output, in the original and with weights and inputs rounded; nothing where that is not known. */
  async #ties(run: Run, output: string): Promise<Ties | undefined> {
    const { budget, stacked } = this.#task;
    const decided = decidedBehind(this.#original.graph, output);
    // Inner values of runs that are stacked have samples anywhere.
    if (decided === undefined || budget.kind !== "half" || stacked !== undefined) return undefined;
    this.#onProgress(`the original, what decides "${output}", ${drawText(run.draw)}`);
    const operands = await attempt(() =>
      decidingOperands(this.#original, decided, run, {
        ...this.#originals,
        budget,
        isHalf: (name) => this.#forms.typeOf(name) === budget.dtype,
      }),
    );
    const expected = run.expected.get(output);
    if (operands instanceof InputError || expected === undefined) return undefined;
    return tiesOf(decided, expected, operands);
  }

  #findDivergence(run: Run, output: OutputReport): Promise<DivergenceReport | undefined> {
    const { budget, lanes } = this.#task;
    const { difference } = output;
    const error = difference === undefined ? 1 : difference.maximumError / difference.largest;
    return firstDivergence({
      original: this.#original,
      candidate: this.#candidate,
      run,
      candidateInputs: this.#forms.asCandidate(run.inputs),
      output: output.name,
      tolerance: divergenceTolerance(budget, error),
      isHalf: budget.kind === "half",
      lanes,
      session: this.#session,
      onProgress: this.#onProgress,
    });
  }
}

const doingOriginal = {
  disabled: "the original, optimizations off",
  all: doings.originalFused,
} as const;

interface Found {
  readonly plan: Plan;
  readonly judged: readonly Judged[];
  readonly problems: readonly string[];
}

function nothing(problems: readonly string[]): Found {
  return { plan: { runs: [], notices: [], smallest: undefined }, judged: [], problems };
}
