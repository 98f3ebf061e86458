/** @file Resampling as it is defined, in double precision: for kernels on a GPU, and for what a plan makes of a model. */

/** As kernels/resample/params.table.ts has it; rows packed. */
export interface Resampling {
  readonly batch: number;
  readonly source: number;
  readonly target: number;
  readonly features: number;
  readonly isInclusive: boolean;
  readonly low: Index;
  readonly high: Index;
  readonly spanAdd: number;
  readonly spanLeast: number;
  readonly zeroSpan: number;
  readonly emptyWeight: number;
  readonly emptyKind: number;
  readonly weightLeast: number;
  readonly weightMost: number;
  readonly blend: number;
}

interface Index {
  readonly shift: number;
  readonly least: number;
  readonly most: number;
}

interface Operands {
  readonly x: ArrayLike<number>;
  /** [batch, source] */
  readonly times: ArrayLike<number>;
  /** [batch, target] */
  readonly targets: ArrayLike<number>;
}

type Round = (weight: number) => number;
type Blended = (low: number, high: number, weight: number) => number;

/** Round to the type that weights have; the identity unless given. */
export function resampled(rule: Resampling, operands: Operands, round?: Round): Float64Array {
  return overRows(rule, operands, round, (low, high, weight) => blended(rule.blend, low, high, weight));
}

/** Magnitudes of the products that each element is the sum of: where they cancel, float32 keeps little of it. */
export function termsOf(rule: Resampling, operands: Operands, round?: Round): Float64Array {
  return overRows(rule, operands, round, (low, high, weight) =>
    rule.blend === 1
      ? Math.abs((1 - weight) * low) + Math.abs(weight * high)
      : Math.abs(low) + Math.abs(high) + Math.abs(weight * (high - low)),
  );
}

function overRows(
  rule: Resampling,
  { x, times, targets }: Operands,
  round: Round = (weight) => weight,
  blend: Blended,
): Float64Array {
  const { batch, source, target, features } = rule;
  const y = new Float64Array(batch * target * features);
  for (let b = 0; b < batch; b++) {
    const own = Array.from({ length: source }, (_, s) => times[b * source + s] ?? Number.NaN);
    for (let t = 0; t < target; t++) {
      const at = targets[b * target + t] ?? Number.NaN;
      const count = own.filter((time) => (rule.isInclusive ? time <= at : time < at)).length;
      const [low, high] = [rule.low, rule.high].map((index) => indexOf(index, count, source));
      const weight = round(weightOf(rule, own[low ?? 0] ?? Number.NaN, own[high ?? 0] ?? Number.NaN, at));
      for (let f = 0; f < features; f++) {
        const rowAt = (row = 0) => x[(b * source + row) * features + f] ?? Number.NaN;
        y[(b * target + t) * features + f] = blend(rowAt(low), rowAt(high), weight);
      }
    }
  }
  return y;
}

function indexOf({ shift, least, most }: Index, count: number, source: number): number {
  const at = Math.min(Math.max(count + shift, least), most);
  return at < 0 ? at + source : at;
}

/** Times are float32, and so is what is made of them. */
function weightOf(rule: Resampling, left: number, right: number, target: number): number {
  const between = Math.fround(right - left);
  let span = Math.max(Math.fround(between + rule.spanAdd), rule.spanLeast);
  if (span === 0) span = rule.zeroSpan;
  let weight = Math.fround(Math.fround(target - left) / span);
  if (rule.emptyKind === 1 && between === 0) weight = rule.emptyWeight;
  if (rule.emptyKind === 2 && !(between > 0)) weight = rule.emptyWeight;
  return Math.min(Math.max(weight, rule.weightLeast), rule.weightMost);
}

function blended(blend: number, low: number, high: number, weight: number): number {
  if (blend === 1) return (1 - weight) * low + weight * high;
  return blend === 2 && !(weight < 0.5) ? high - (high - low) * (1 - weight) : low + weight * (high - low);
}
