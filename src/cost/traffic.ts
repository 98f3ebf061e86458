/** @file Memory-bound work: a launch floor and passes over memory, by how the data is walked. */
import type { Target } from "../hardware/target.ts";
import { type TrafficPattern, type TrafficVariant, type TrafficWork, trafficVariants } from "../ops/work.ts";
import type { Range } from "./calibration.ts";
import { bytesAt } from "./precision.ts";
import { type MemoryCoefficients, memoryTime, type Rates, ratesOf } from "./rates.ts";
import { alignmentClass, boundOf, log2, roundUp, type Sketch } from "./sketch.ts";

const flat: ReadonlySet<TrafficVariant> = new Set(["add", "relu", "silu", "gelu", "cast", "bias"]);

/** By operator where it is known, by pattern where not. */
export interface TrafficCoefficients<Name extends string = TrafficVariant> extends MemoryCoefficients {
  /** The floor, in microseconds. */
  readonly launch: Readonly<Record<Name, number>>;
  /** Time over memory against a plain pass. */
  readonly passes: Readonly<Record<Name, number>>;
  /** Microseconds that a thousand rows cost an SM in a row-wise kernel. */
  readonly rowOverhead: number;
}

/**
 * How data is walked, as far as time tells. "elementwise" is what operators take that run one by one, those with an operand that repeats (a
 * bias, a mask) twice as long as others; "loop" is a compiled loop, which knows the addresses of what repeats and takes as long as the others;
 * "row-loop" is a compiled loop that reduces rows and rescales them, with the loops around it (h200-compiled-norms-seed41.jsonl).
 */
export const walks = [
  "elementwise",
  "copy",
  "reduction",
  "normalization",
  "pool",
  "loop",
  "row-loop",
] as const satisfies readonly (TrafficPattern | "loop" | "row-loop")[];

export type Walk = (typeof walks)[number];

export type WalkCoefficients = TrafficCoefficients<Walk>;

export function walkOf({ pattern, isLoop }: TrafficWork<number>, { stack }: Target): Walk {
  if (isLoop === true) return "row-loop";
  return pattern === "elementwise" && stack.fuses.elementwise === "loops" ? "loop" : pattern;
}

/** What a CUDA graph without a kernel takes a call. */
const viewMicroseconds = 0.065;

export interface TrafficTerms extends MemoryCoefficients {
  readonly launch: number;
  readonly passes: number;
  readonly rowOverhead: number;
}

/** Of one operator, or of one pattern. */
export function termsOf<Name extends string>(c: TrafficCoefficients<Name>, name: Name): TrafficTerms {
  return { ...c, launch: c.launch[name], passes: c.passes[name] };
}

export function sketchTraffic(
  work: TrafficWork<number>,
  target: Target,
  c: TrafficTerms,
  variant: TrafficVariant | undefined,
): Sketch {
  const { pattern } = work;
  const walk = variant === undefined ? walkOf(work, target) : pattern;
  // What goes over memory in order has no rows: how many of its elements are called one is nothing to it.
  const isFlat = walk === "loop" || (variant !== undefined && flat.has(variant));
  const [rows, columns] = isFlat ? [1, work.rows * work.columns] : [work.rows, work.columns];
  const width = bytesAt(work.dtype, target.precision);
  const scale = width / bytesAt(work.dtype, "as-is") || 1;
  const [read, written] = [work.bytesRead * scale, work.bytesWritten * scale];
  const bytes = read + written;
  const machine = ratesOf(target, "fp32");
  // The transpose of a vector is a view.
  const view = variant === "transpose" && Math.min(rows, columns) === 1;
  const launch = view ? viewMicroseconds : c.launch;
  const rowWise = walk === "normalization" || walk === "reduction";
  const perRow = rowWise ? (c.rowOverhead * rows) / 1000 / machine.sms : 0;
  const memory = view ? 0 : memoryTime(bytes, machine, c) * c.passes + perRow;
  const microseconds = launch + memory;
  const found = foundIn(work, microseconds, machine, c);
  return {
    family: variant === undefined ? "walk" : "traffic",
    microseconds: found?.microseconds ?? microseconds,
    bound: boundOf(0, memory, launch, false, bytes < machine.l2Bytes),
    tensorCore: false,
    format: width,
    bytes,
    ...(found === undefined ? {} : { range: found.range }),
    biasMicroseconds: 0,
    features: [
      walks.indexOf(walk),
      variant === undefined ? -1 : trafficVariants.indexOf(variant),
      launch,
      c.passes,
      log2(rows),
      log2(columns),
      log2(rows * columns),
      log2(read),
      log2(written),
      log2(bytes),
      log2(read / Math.max(written, 1)),
      alignmentClass(columns * width),
      // Of walks, round rows tell which operators were measured there, not what roundness costs.
      variant === undefined ? 0 : alignmentClass(rows * width),
      log2(microseconds),
      memory / microseconds,
      width,
      columns / roundUp(columns, 128),
      columns / roundUp(columns, 1024),
      log2(rows / machine.sms),
      log2(rows / columns),
      bytes / machine.l2Bytes < 4 ? bytes / machine.l2Bytes : 4,
    ],
  };
}

/** How far the terms of what nobody measured may be off at either end. */
const slack = 1.5;

/**
 * Where data decides how much is done: anything between the pass over what is read, which takes `least`, and all that may come to it. Halfway
 * between them, as ratios go.
 */
function foundIn(
  { mostOperations, mostBytes }: TrafficWork<number>,
  least: number,
  machine: Rates,
  c: TrafficTerms,
): { readonly microseconds: number; readonly range: Range } | undefined {
  if (mostOperations === undefined && mostBytes === undefined) return undefined;
  const compute = (mostOperations ?? 0) / machine.cudaFlops;
  const most = least + compute + memoryTime(mostBytes ?? 0, machine, c) * c.passes;
  const microseconds = Math.sqrt(least * most);
  const apart = slack * (most / microseconds);
  return { microseconds, range: { low: 1 / apart, high: apart } };
}
