/** @file From work to microseconds, with an interval, for one target. */
import { isSameTarget, type Target } from "../hardware/target.ts";
import { maxOf } from "../ir/lists.ts";
import { flopsOf, type Work } from "../ops/work.ts";
import { betweenMeasured } from "./between-measured.ts";
import type { Calibration } from "./calibration.ts";
import type { ChangeModel } from "./change.ts";
import { type FamilyResidual, Fitted, type Kinship } from "./fitted.ts";
import { inSingle, singlePrecisions } from "./float64.ts";
import { isUnmeasured } from "./precision.ts";
import { combineSavings, savingOfOne, type Timed } from "./saving.ts";
import type { Sketch } from "./sketch.ts";
import { sketch, type WorkDetail } from "./terms.ts";

export type Bound = "tensor-core" | "cuda-core" | "dram" | "l2" | "launch";

/** One kernel (or the few a stack launches for one piece of work), replayed without gaps. */
export interface Estimate {
  readonly microseconds: number;
  /** The truth lies between `low` and `high` in nine cases of ten. */
  readonly low: number;
  readonly high: number;
  /** The largest term of the analytic model. */
  readonly bound: Bound;
  /** Whether Tensor Cores do the multiplications. */
  readonly tensorCore: boolean;
  /** Multiply-adds counted as two. */
  readonly flops: number;
  /** Compulsory traffic: each operand once. */
  readonly bytes: number;
  /**
   * Of `microseconds`, the pass that adds a convolution's bias on a stack that does not fuse it: subtract it for
   * a convolution without bias, or ask for one (`biased: false`). 0 for other work.
   */
  readonly biasMicroseconds: number;
}

/** Microseconds that a change saves; negative where it costs. */
export interface Saving {
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
}

/** Work with what is known beside it; a step of a timeline is one. */
export interface Detailed {
  readonly work: Work<number>;
  readonly detail: WorkDetail;
}

/** Work as it runs in a model. */
export interface Run extends Detailed {
  readonly target: Target;
  /** In one run of the model. */
  readonly runs: number;
}

export interface CostModel {
  /** How near what was fitted is to the target: `measured` where it was on this GPU and stack, in its number format. */
  kinship(target: Target): Kinship;
  estimate(work: Work<number>, target: Target, detail?: WorkDetail): Estimate;
  /** `before` and `after` are what one change replaces by what; their errors move together, so the interval is tighter. */
  savingOf(
    before: readonly (Work<number> | Detailed)[],
    after: readonly (Work<number> | Detailed)[],
    target: Target,
  ): Saving;
  /** The same of one piece of work in all its runs, which may be on two targets; either side may be missing. */
  savingOfRuns(before: Run | undefined, after: Run | undefined): Saving;
}

export interface CostModelOptions {
  /** Coefficients of a machine that someone measured; they replace the committed ones where they match. */
  readonly calibration?: Calibration | undefined;
  /** Kernels as they run in a model, other kernels before and behind; else one by one, each again and again, as rows are measured. */
  readonly inModels?: boolean | undefined;
}

/** An estimate with what `savingOf` needs of how it came about. */
export interface Evaluation {
  readonly sketch: Sketch;
  readonly microseconds: number;
  /** ln of high and low against `microseconds`, both above zero. */
  readonly above: number;
  readonly below: number;
  /** How much of the error a changed self shares. */
  readonly shared: number;
  readonly savingScale: number;
  /** Where changes of its family were measured. */
  readonly change: ChangeModel | undefined;
  /** On the logarithms of its intervals, for what was fitted elsewhere. */
  readonly widening: number;
  /** Set where no residual says how far it is off: the terms stand alone, or it is in a number format that nothing was measured in. */
  readonly isOfTerms?: true;
  /** By itself. */
  readonly once: number;
  /** Made when first asked for: equal works have one. */
  estimate?: Estimate;
}

export function createCostModel({ calibration, inModels = false }: CostModelOptions = {}): CostModel {
  if (calibration !== undefined) return new FittedCostModel([calibration], inModels);
  const known = committed.get(inModels) ?? new FittedCostModel([], inModels);
  committed.set(inModels, known);
  return known;
}

/** Of the committed coefficients, by `inModels`: models that are linted one after another have many sizes in common. */
const committed = new Map<boolean, FittedCostModel>();

/** Layers repeat within a model, and a solver asks for the same sizes again and again. */
const maxRemembered = 50_000;
/** Works made for one question fill this up; those that are asked for again are soon back. */
const maxRecent = 4096;
/** Of one piece of work: more targets than a lint asks for begin anew. */
const maxTargets = 16;

const noDetail: WorkDetail = {};

interface Asked {
  readonly target: Target;
  readonly detail: WorkDetail;
  readonly evaluation: Evaluation;
}

class FittedCostModel implements CostModel {
  readonly #calibrations: readonly Calibration[];
  readonly #inModels: boolean;
  readonly #fits = new Map<string, Fitted>();
  readonly #remembered = new Map<string, Evaluation>();
  /** By the object itself: equal works of a model are mostly one. */
  readonly #recent = new Map<Work<number>, Asked[]>();

  constructor(calibrations: readonly Calibration[], inModels: boolean) {
    this.#calibrations = calibrations;
    this.#inModels = inModels;
  }

  kinship(target: Target): Kinship {
    return isUnmeasured(target.precision) ? "datasheet" : this.#fitOf(target).kinship;
  }

  estimate(work: Work<number>, target: Target, detail: WorkDetail = noDetail): Estimate {
    const evaluation = this.#evaluate(work, target, detail);
    evaluation.estimate ??= new LazyEstimate(evaluation, work);
    return evaluation.estimate;
  }

  savingOf(
    before: readonly (Work<number> | Detailed)[],
    after: readonly (Work<number> | Detailed)[],
    target: Target,
  ): Saving {
    const evaluate = (asked: Work<number> | Detailed): Timed => {
      const { work, detail } = "kind" in asked ? { work: asked, detail: noDetail } : asked;
      const evaluation = this.#evaluate(work, target, detail);
      return { evaluation, microseconds: evaluation.microseconds };
    };
    const [from, to] = [before.map(evaluate), after.map(evaluate)];
    const count = Math.max(from.length, to.length);
    return combineSavings(Array.from({ length: count }, (_, index) => savingOfOne(from[index], to[index])));
  }

  savingOfRuns(before: Run | undefined, after: Run | undefined): Saving {
    return savingOfOne(this.#evaluateRuns(before), this.#evaluateRuns(after));
  }

  #evaluateRuns(run: Run | undefined): Timed | undefined {
    if (run === undefined) return undefined;
    const evaluation = this.#evaluate(run.work, run.target, run.detail);
    return { evaluation, microseconds: evaluation.microseconds * run.runs };
  }

  #evaluate(work: Work<number>, target: Target, detail: WorkDetail): Evaluation {
    const before = this.#recent.get(work);
    if (before !== undefined)
      for (let at = 0; at < before.length; at++) {
        const asked = before[at];
        if (asked !== undefined && isSame(asked, target, detail)) return asked.evaluation;
      }
    const evaluation = this.#lookUp(work, target, detail);
    const asked = { target, detail, evaluation };
    if (before !== undefined && before.length < maxTargets) {
      before.push(asked);
      return evaluation;
    }
    if (this.#recent.size >= maxRecent) this.#recent.clear();
    this.#recent.set(work, [asked]);
    return evaluation;
  }

  #lookUp(work: Work<number>, target: Target, detail: WorkDetail): Evaluation {
    const key = keyOf(work, target, detail);
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const fit = this.#fitOf(target);
    const between = this.#inModels ? target.stack.betweenKernels : 0;
    const sketched = (each: Work<number>) => sketch(each, target, fit.coefficients, detail);
    const evaluated = (each: Sketch) => evaluate(each, fit, between);
    const alone =
      work.kind === "recurrent" ? betweenMeasured(work, sketched, evaluated) : evaluated(sketched(work));
    const evaluation = this.#noLess(alone, inSingle(work), target, detail);
    if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
    this.#remembered.set(key, evaluation);
    return evaluation;
  }

  /** Than any of `others` on the target. */
  #noLess(
    evaluation: Evaluation,
    others: readonly Work<number>[],
    target: Target,
    detail: WorkDetail,
  ): Evaluation {
    const times = others.flatMap((other) =>
      singlePrecisions.map((precision) => this.#lookUp(other, { ...target, precision }, detail).microseconds),
    );
    const more = maxOf(times) - evaluation.microseconds;
    if (!(more > 0)) return evaluation;
    const { sketch: own, above, below, shared, savingScale, change, widening, isOfTerms } = evaluation;
    const [microseconds, once] = [evaluation.microseconds + more, evaluation.once + more];
    const errors = { above, below, shared, savingScale, change, widening, ...(isOfTerms && { isOfTerms }) };
    return { sketch: own, ...errors, microseconds, once };
  }

  #fitOf(target: Target): Fitted {
    const key = `${target.gpu.id} ${target.stack.id}`;
    const known = this.#fits.get(key) ?? new Fitted(target, this.#calibrations);
    this.#fits.set(key, known);
    return known;
  }
}

/** What a residual makes of a sketch. Its interval is worked out when somebody asks for it: a search for sizes goes by times alone. */
class FittedEvaluation implements Evaluation {
  readonly sketch: Sketch;
  readonly microseconds: number;
  readonly once: number;
  readonly widening: number;
  estimate?: Estimate;
  readonly #residual: FamilyResidual;
  #spread: number | undefined;

  constructor(sketched: Sketch, residual: FamilyResidual, { widening }: Fitted, between: number) {
    this.sketch = sketched;
    this.once = meanOf(sketched, residual);
    this.microseconds = this.once + between;
    this.widening = widening;
    this.#residual = residual;
  }

  get above(): number {
    return this.#spreadOf() * this.#residual.range.high;
  }

  get below(): number {
    return -this.#spreadOf() * this.#residual.range.low;
  }

  get shared(): number {
    return this.#residual.shared;
  }

  get savingScale(): number {
    return this.#residual.savingScale;
  }

  get change(): ChangeModel | undefined {
    return this.#residual.change;
  }

  #spreadOf(): number {
    this.#spread ??= Math.exp(this.#residual.spread.predict(this.sketch.features)) * this.widening;
    return this.#spread;
  }
}

function meanOf({ microseconds, features }: Sketch, { mean }: FamilyResidual): number {
  return microseconds * Math.exp(mean.predict(features));
}

/** `between` is what a kernel of a model takes longer than by itself. */
function evaluate(sketched: Sketch, fit: Fitted, between: number): Evaluation {
  const residual = fit.residual(sketched);
  // Of codes the mean is that of the kernels that FP16 has, and nothing says how far it is off.
  if (residual !== undefined && !isUnmeasured(sketched.format))
    return new FittedEvaluation(sketched, residual, fit, between);
  const { low, high } = fit.analyticRange(sketched);
  const widening = fit.wideningOf(sketched);
  const [below, above] = [-Math.log(low) * widening, Math.log(high) * widening];
  const once = residual === undefined ? sketched.microseconds : meanOf(sketched, residual);
  const terms = { shared: 0.5, savingScale: 1, change: undefined, isOfTerms: true } as const;
  return { sketch: sketched, microseconds: once + between, above, below, once, ...terms, widening };
}

/** Low and high are worked out when somebody asks for them. They are the prototype's: a copy by spreading has to name them. */
class LazyEstimate implements Estimate {
  readonly microseconds: number;
  readonly bound: Bound;
  readonly tensorCore: boolean;
  readonly flops: number;
  readonly bytes: number;
  readonly biasMicroseconds: number;
  readonly #evaluation: Evaluation;
  #low: number | undefined;
  #high: number | undefined;

  constructor(evaluation: Evaluation, work: Work<number>) {
    const { sketch, microseconds, once } = evaluation;
    this.microseconds = microseconds;
    this.bound = sketch.bound;
    this.tensorCore = sketch.tensorCore;
    this.flops = flopsOf(work);
    this.bytes = sketch.bytes;
    this.biasMicroseconds = (sketch.biasMicroseconds / sketch.microseconds) * once;
    this.#evaluation = evaluation;
  }

  get low(): number {
    this.#low ??= this.microseconds * Math.exp(-this.#evaluation.below);
    return this.#low;
  }

  get high(): number {
    this.#high ??= this.microseconds * Math.exp(this.#evaluation.above);
    return this.#high;
  }
}

function isSame({ target, detail }: Asked, asked: Target, other: WorkDetail): boolean {
  return isSameTarget(target, asked) && detail.biased === other.biased && detail.variant === other.variant;
}

/** Everything an evaluation depends on. */
function keyOf(work: Work<number>, { gpu, stack, precision }: Target, detail: WorkDetail): string {
  let key = `${gpu.id};${stack.id};${precision}`;
  // Entries would make two arrays of every field.
  const fields = work as unknown as Readonly<Record<string, unknown>>;
  for (const name in fields) key += `;${name}=${fields[name]}`;
  if (detail !== noDetail) for (const [name, value] of Object.entries(detail)) key += `;${name}=${value}`;
  return key;
}
