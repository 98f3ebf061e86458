/** @file Matrix products, single and batched. */
import { bytesOfCompute, type Target } from "../hardware/target.ts";
import type { GemmWork } from "../ops/work.ts";
import { flopsOf } from "../ops/work.ts";
import { computeTypeOn } from "./precision.ts";
import { type MemoryCoefficients, memoryTime, overlapped, ratesOf, slowdownAt } from "./rates.ts";
import {
  alignmentBytes,
  alignmentClass,
  boundOf,
  formatFeature,
  log2,
  roundUp,
  type Sketch,
} from "./sketch.ts";
import { planTiles, type TileCoefficients, tileFeatures } from "./tiles.ts";

export interface GemmCoefficients extends MemoryCoefficients, TileCoefficients {
  readonly launch: number;
  /** Operations a clock an SM, where rows start on 8, 4 or 2 bytes, and on 8 or 4 of TF32. */
  readonly perClock: {
    readonly on8: number;
    readonly on4: number;
    readonly on2: number;
    readonly tf32: number;
  };
  /** Of the CUDA cores' rate, what FP32 reaches. */
  readonly cudaShare: number;
}

/** So few rows by weights of few bits have kernels without tiles, which expand weights as they arrive. */
const streamedRows = 8;

/** The work as kernels see it: batches of one weight folded into rows. */
interface Folded {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Bytes that rows of A, B and C start on. */
  readonly alignA: number;
  readonly alignB: number;
  readonly alignC: number;
  /** The narrowest of them, over operands of more than one row. */
  readonly narrowest: number;
}

export function sketchGemm(work: GemmWork<number>, target: Target, c: GemmCoefficients): Sketch {
  const type = computeTypeOn(work.dtype, target);
  const width = bytesOfCompute(type);
  const machine = ratesOf(target, type);
  const folded = fold(work, width);
  const { batch, m, n, k } = folded;
  const sizes = [batch * m * k, (work.sharedB ? 1 : batch) * k * n, batch * m * n].map(
    (each) => each * width,
  );
  const bytes = sizes.reduce((sum, each) => sum + each, 0);
  // The residual knows products of plain operands: of one whose weights are stored in few bits, or that are broadcast, it reads what that would be.
  const stored = bytes - notRead(work, sizes, width);
  const product = { batch, m, n, k, width };
  const coefficients = machine.tensorCore ? c : { ...c, peakShare: c.cudaShare };
  const { narrowest } = folded;
  const perClock = machine.tensorCore ? perClockOf(narrowest, width, c) : Number.POSITIVE_INFINITY;
  const plan = planTiles(product, machine, coefficients, slowdownAt(perClock, c.peakShare, machine));
  const memory = memoryTime(stored, machine, c);
  const isStreamed = work.weightBits !== undefined && batch * m <= streamedRows;
  const compute = isStreamed ? 0 : plan.microseconds;
  const microseconds = c.launch + overlapped(compute, memory);
  const flops = flopsOf(work);
  return {
    family: "gemm",
    microseconds,
    bound: boundOf(compute, memory, c.launch, machine.tensorCore, stored < machine.l2Bytes),
    tensorCore: machine.tensorCore,
    format: type,
    bytes: stored,
    biasMicroseconds: 0,
    features: [
      log2(batch),
      log2(m),
      log2(n),
      log2(k),
      log2(flops),
      log2(bytes),
      log2(flops / bytes),
      alignmentClass((work.transA ? m : k) * width),
      alignmentClass((work.transB ? k : n) * width),
      alignmentClass(n * width),
      alignmentClass(m * width),
      log2(narrowest),
      log2(Math.min(folded.alignA, folded.alignB)),
      formatFeature(type),
      work.transB ? 1 : 0,
      log2(microseconds),
      log2(plan.microseconds / memory),
      log2(batch * m * n),
      log2(Math.min(m, n)),
      log2(m / n),
      ...sizes.map(log2),
      ...tileFeatures(product, machine.sms),
      log2(Math.ceil(k / 64)),
      k / roundUp(k, 64),
      plan.tileM,
      plan.tileN,
      log2(plan.split),
      log2(plan.waves),
      n / roundUp(n, 128),
      m / roundUp(m, 128),
    ],
  };
}

/** Of the operands' bytes, had each of the batch its own matrices in the type that is computed in, what memory does not hold. */
function notRead(work: GemmWork<number>, [ofA = 0, ofB = 0]: readonly number[], width: number): number {
  const { batch, sharedB, matricesA = batch, matricesB = batch, weightBits = 8 * width } = work;
  const repeated = sharedB ? 0 : ofA * (1 - matricesA / batch) + ofB * (1 - matricesB / batch);
  return repeated + ofB * (1 - Math.min(1, weightBits / (8 * width)));
}

function fold(work: GemmWork<number>, width: number): Folded {
  const { batch, m, n, k, transA, transB, sharedB } = work;
  const joined = sharedB && !transA;
  const rows = joined ? batch * m : m;
  const alignA = alignmentBytes((transA ? m : k) * width);
  const alignB = alignmentBytes((transB ? k : n) * width);
  const alignC = alignmentBytes(n * width);
  // A single row is one stretch of memory, whatever its length.
  const ofLines = (alignment: number, lines: number) => (lines === 1 ? 16 : alignment);
  const narrowest = Math.min(
    ofLines(alignA, transA ? k : rows),
    ofLines(alignB, transB ? n : k),
    ofLines(alignC, rows),
  );
  return { batch: joined ? 1 : batch, m: rows, n, k, alignA, alignB, alignC, narrowest };
}

/** The full rate where every row starts on 16 bytes. */
function perClockOf(alignment: number, width: number, { perClock }: GemmCoefficients): number {
  if (alignment >= 16) return Number.POSITIVE_INFINITY;
  if (width === 4) return perClock.tf32;
  if (alignment === 8) return perClock.on8;
  return alignment === 4 ? perClock.on4 : perClock.on2;
}
