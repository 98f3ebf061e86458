/** @file What a change saves: differences of estimates whose errors go together. */
import { type ChangedSide, type ChangeRange, ratioRange } from "./change.ts";
import type { Evaluation, Saving } from "./model.ts";
import { isUnmeasured } from "./precision.ts";
import type { Sketch } from "./sketch.ts";

/** Errors of layers of one model are partly the same error: this share of their product of widths. */
const sharedAcrossLayers = 0.25;

/** ln of a ratio of bytes from which on two passes over memory are as different as any two. */
const unlike = Math.log(1.5);

/** Of the logarithm of the time before's own interval, what a change may lose more than its ratio says: both at once are rare. */
const scaleShare = 0.6;

/** Of the time before; below it is rounding. */
const leastDifference = 1e-6;

/** A kernel in all its runs. */
export interface Timed {
  readonly evaluation: Evaluation;
  /** Of all runs. */
  readonly microseconds: number;
}

type Ends = Pick<Evaluation, "above" | "below">;

/** Either side may be missing: what is only removed, or only added. */
export function savingOfOne(before: Timed | undefined, after: Timed | undefined): Saving {
  if (before === undefined || after === undefined) return ofOneSide(before, after);
  const microseconds = before.microseconds - after.microseconds;
  // What is predicted to make no difference at all has no error of its own.
  if (Math.abs(microseconds) <= leastDifference * before.microseconds)
    return { microseconds, low: microseconds, high: microseconds };
  const ratio = ratioOf(before, after);
  if (ratio !== undefined) return ofRatio(before.microseconds, microseconds, ratio, before.evaluation);
  const [from, to] = [before.evaluation, after.evaluation];
  const same = from.sketch.family === to.sketch.family;
  const shared = same ? sharedBy(from, to) : 0;
  if (same && from.isOfTerms && to.isOfTerms) {
    const saving = ofTerms(before, after, shared);
    return from.sketch.format === to.sketch.format && isUnmeasured(from.sketch.format)
      ? eitherWay(saving)
      : saving;
  }
  const scale = same ? Math.max(from.savingScale, to.savingScale) : 1;
  // Where one is too high the other tends to be, so the widths partly cancel.
  const apart = (a: number, b: number) => scale * Math.sqrt(Math.max(0, a * a + b * b - 2 * shared * a * b));
  const up = ({ microseconds: whole, evaluation }: Timed) => whole * (Math.exp(evaluation.above) - 1);
  const down = ({ microseconds: whole, evaluation }: Timed) => whole * (1 - Math.exp(-evaluation.below));
  return {
    microseconds,
    low: microseconds - apart(down(before), up(after)),
    high: microseconds + apart(up(before), down(after)),
  };
}

/**
 * Of kernels in a number format that nothing was measured in, what a change of sizes or layout does is known of another format's alone, of many layers no better
 * than of one: it may cost as much as it is predicted to save.
 */
function eitherWay({ microseconds, low, high }: Saving): Saving {
  const most = Math.abs(microseconds);
  return { microseconds, low: Math.min(low, -most), high: Math.max(high, most) };
}

/**
 * Errors of the terms alone are factors of two, where it matters which way both go: what they share makes all of the saving larger or smaller, and no loss of
 * it; the rest is each side's own.
 */
function ofTerms(before: Timed, after: Timed, shared: number): Saving {
  const microseconds = before.microseconds - after.microseconds;
  const [common, own] = [Math.sqrt(shared), Math.sqrt(1 - shared)];
  const up = ({ microseconds: whole, evaluation }: Timed) => whole * Math.expm1(own * evaluation.above);
  const down = ({ microseconds: whole, evaluation }: Timed) => -whole * Math.expm1(-own * evaluation.below);
  const { above, below } = (microseconds < 0 ? after : before).evaluation;
  const more = Math.abs(microseconds) * Math.expm1(common * above);
  const less = -Math.abs(microseconds) * Math.expm1(-common * below);
  const [beneath, beyond] = microseconds < 0 ? [more, less] : [less, more];
  return {
    microseconds,
    low: microseconds - Math.hypot(down(before), up(after), beneath),
    high: microseconds + Math.hypot(up(before), down(after), beyond),
  };
}

/** ln(after / before) lies between; undefined where no such change was measured. */
function ratioOf(before: Timed, after: Timed): ChangeRange | undefined {
  const error = errorOf(before.evaluation, after.evaluation);
  if (error === undefined) return undefined;
  const { widening } = before.evaluation;
  const predicted = Math.log(after.microseconds / before.microseconds);
  return { ...error, low: predicted + widening * error.low, high: predicted + widening * error.high };
}

/** Layers repeat, and so do their changes. */
const knownErrors = new WeakMap<Evaluation, Map<Evaluation, ChangeRange | undefined>>();

function errorOf(before: Evaluation, after: Evaluation): ChangeRange | undefined {
  const { change } = before;
  if (change === undefined || change !== after.change || isOneChain(before.sketch, after.sketch))
    return undefined;
  const known = knownErrors.get(before) ?? new Map<Evaluation, ChangeRange | undefined>();
  knownErrors.set(before, known);
  if (known.has(after)) return known.get(after);
  const error = ratioRange(change, asMeasured(before), asMeasured(after));
  known.set(after, error);
  return error;
}

function asMeasured({ sketch, once, above, widening }: Evaluation): ChangedSide {
  return { sketch, once, above: above / widening };
}

/** Of changes whose times in all have the errors `ratio`, on ln(after / before), and `scale`, on ln of the time before: below and above, both above zero. */
export function savingByRatio(
  { before, after }: { readonly before: number; readonly after: number },
  ratio: ChangeRange,
  scale: Ends,
): Saving {
  const microseconds = before - after;
  if (!(Math.abs(microseconds) > leastDifference * before))
    return { microseconds, low: microseconds, high: microseconds };
  const predicted = Math.log(after / before);
  const around = { ...ratio, low: predicted + ratio.low, high: predicted + ratio.high };
  return ofRatio(before, microseconds, around, scale);
}

/**
 * What share is saved is one question, of how many microseconds another: the latter alone makes no saving a loss. Their errors are two,
 * so that their logarithms add up as squares do.
 */
function ofRatio(whole: number, microseconds: number, ratio: ChangeRange, { above, below }: Ends): Saving {
  const scale = ratio.scale ?? 1;
  const bound = (logRatio: number) => {
    const edge = whole * (1 - Math.exp(logRatio));
    const apart = edge / microseconds;
    if (!(apart > 0)) return edge * Math.exp(scaleShare * above);
    const off = Math.hypot(Math.log(apart), scale * (apart > 1 ? above : below));
    return microseconds * Math.exp(apart > 1 ? off : -off);
  };
  return { microseconds, low: bound(ratio.high), high: bound(ratio.low) };
}

/** The same pass over a little more memory is the same kernel with the same error; a product at another width may not be. */
function sharedBy(before: Evaluation, after: Evaluation): number {
  const shared = sharedByTerms(before, after) ?? Math.min(before.shared, after.shared);
  if (!isSmooth(before.sketch, after.sketch)) return shared;
  const apart = Math.abs(Math.log(after.sketch.bytes / before.sketch.bytes));
  // Errors that follow the size smoothly differ with the square of the distance.
  return shared + (1 - shared) * Math.max(0, 1 - (apart / unlike) ** 2);
}

/**
 * What the terms' errors on either side of a change have in common, as measured: correlations of 0.7 to 0.98 where they predict nearly the same time for
 * both, of 0.2 to 0.6 where they predict another. A product in another number format is another kernel, with an error of its own (0.1 to 0.4).
 */
const sharedByTermsOf = { alike: { pass: 0.8, product: 0.7 }, apart: 0.5, inOtherFormat: 0.2 };

/** ln of a ratio of times from which on two are as different as any. */
const unlikeTimes = 0.25;

/** Undefined where a residual was fitted, and with it what its errors share. */
function sharedByTerms(before: Evaluation, after: Evaluation): number | undefined {
  if (before.isOfTerms !== true || after.isOfTerms !== true) return undefined;
  const [from, to] = [before.sketch, after.sketch];
  const { alike, apart, inOtherFormat } = sharedByTermsOf;
  const isPass = isSmooth(from, to);
  if (from.format !== to.format && !isPass) return inOtherFormat;
  if (from.layout !== to.layout) return apart;
  const distance = Math.abs(Math.log(to.microseconds / from.microseconds)) / unlikeTimes;
  return apart + (alike[isPass ? "pass" : "product"] - apart) * Math.max(0, 1 - distance ** 2);
}

/** Whether the error follows the size: of passes over memory, and of recurrences that read another width. */
function isSmooth(before: Sketch, after: Sketch): boolean {
  return before.family === "traffic" || before.family === "walk" || isOneChain(before, after);
}

function isOneChain(before: Sketch, after: Sketch): boolean {
  return before.chain !== undefined && before.chain === after.chain && before.format === after.format;
}

function ofOneSide(before: Timed | undefined, after: Timed | undefined): Saving {
  const only = before ?? after;
  if (only === undefined) return { microseconds: 0, low: 0, high: 0 };
  const { microseconds } = only;
  const { above, below } = only.evaluation;
  const [low, high] = [microseconds * Math.exp(-below), microseconds * Math.exp(above)];
  return before === undefined
    ? { microseconds: -microseconds, low: -high, high: -low }
    : { microseconds, low, high };
}

/** Savings of layers that change together. */
export function combineSavings(savings: readonly Saving[]): Saving {
  const microseconds = savings.reduce((sum, each) => sum + each.microseconds, 0);
  const below = jointWidth(savings.map((each) => each.microseconds - each.low));
  const above = jointWidth(savings.map((each) => each.high - each.microseconds));
  return { microseconds, low: microseconds - below, high: microseconds + above };
}

function jointWidth(widths: readonly number[]): number {
  const sum = widths.reduce((total, width) => total + width, 0);
  const squares = widths.reduce((total, width) => total + width * width, 0);
  return Math.sqrt(squares + sharedAcrossLayers * (sum * sum - squares));
}
