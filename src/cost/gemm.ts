/** @file Matrix products, single and batched. */
import { bytesOfCompute, type Target } from "../hardware/target.ts";
import type { GemmWork } from "../ops/work.ts";
import { flopsOf } from "../ops/work.ts";
import { type MemoryCoefficients, machineOf, memoryTime, overlapped } from "./machine.ts";
import { computeDtype } from "./precision.ts";
import { alignmentBytes, boundOf, log2, roundUp, type Sketch } from "./sketch.ts";
import { planTiles, type TileCoefficients, tileFeatures } from "./tiles.ts";

export interface GemmCoefficients extends MemoryCoefficients, TileCoefficients {
  readonly launch: number;
  /** Factors on the K loop where rows start on 8, 4, 2 bytes at best, of two-byte elements. */
  readonly slow8: number;
  readonly slow4: number;
  readonly slow2: number;
  /** The same of four-byte elements (TF32). */
  readonly slowTf32: number;
  /** Of the CUDA cores' rate, what FP32 reaches. */
  readonly cudaShare: number;
}

/** The work as kernels see it: batches of one weight folded into rows, padding done that the stack does itself. */
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
  const type = computeDtype(work.dtype, target.precision);
  const width = bytesOfCompute(type);
  const machine = machineOf(target, type);
  const folded = fold(work, target, width);
  const { batch, m, n, k } = folded;
  const sizes = [batch * m * k, (work.sharedB ? 1 : batch) * k * n, batch * m * n].map((each) => each * width);
  const bytes = sizes.reduce((sum, each) => sum + each, 0);
  const product = { batch, m, n, k, width };
  const coefficients = machine.tensorCore ? c : { ...c, peakShare: c.cudaShare };
  const { narrowest } = folded;
  const plan = planTiles(product, machine, coefficients, machine.tensorCore ? slowdownOf(narrowest, width, c) : 1);
  const memory = memoryTime(bytes, machine, c);
  const microseconds = c.launch + overlapped(plan.microseconds, memory);
  const flops = flopsOf(work);
  return {
    family: "gemm",
    microseconds,
    bound: boundOf(plan.microseconds, memory, c.launch, machine.tensorCore, bytes < machine.l2Bytes),
    tensorCore: machine.tensorCore,
    bytes,
    biasMicroseconds: 0,
    features: [
      log2(batch),
      log2(m),
      log2(n),
      log2(k),
      log2(flops),
      log2(bytes),
      log2(flops / bytes),
      log2(folded.alignA),
      log2(folded.alignB),
      log2(folded.alignC),
      log2(narrowest),
      log2(Math.min(folded.alignA, folded.alignB)),
      log2(alignmentBytes(m * width)),
      ["fp16", "bf16", "tf32", "fp32", "int8"].indexOf(type),
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

function fold(work: GemmWork<number>, target: Target, width: number): Folded {
  const { batch, m, transA, transB, sharedB } = work;
  const step = target.stack.padsInside ? 16 / width : 1;
  const [n, k] = [roundUp(work.n, step), roundUp(work.k, step)];
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

function slowdownOf(alignment: number, width: number, c: GemmCoefficients): number {
  if (alignment >= 16) return 1;
  if (width === 4) return c.slowTf32;
  if (alignment === 8) return c.slow8;
  return alignment === 4 ? c.slow4 : c.slow2;
}
