/** @file Fused attention: query tiles in waves, a loop over keys in each, head_dim rounded up to what the kernel has. */
import { bytesOfCompute, type Target } from "../hardware/target.ts";
import { type AttentionWork, flopsOf } from "../ops/work.ts";
import { computeTypeOn } from "./precision.ts";
import { type MemoryCoefficients, memoryTime, overlapped, ratesOf } from "./rates.ts";
import { alignmentClass, boundOf, formatFeature, log2, roundUp, type Sketch } from "./sketch.ts";

export interface AttentionCoefficients extends MemoryCoefficients {
  readonly launch: number;
  /** Of the datasheet's rate, the two products and the softmax between them. */
  readonly peakShare: number;
  readonly tileOverhead: number;
  /** Softmax of one score, as operations of the Tensor Cores that wait for it. */
  readonly softmaxCost: number;
  /** Factors on the loop over keys: a head_dim off the multiple takes another backend, and so does a mask. */
  readonly slowOdd: number;
  readonly masked: { readonly launch: number; readonly slow: number; readonly slowOdd: number };
  readonly cudaShare: number;
}

const queryTile = 128;
const keyTile = 128;
/** So few queries leave most of a tile empty: kernels for them split the keys over the SMs that have no tile (flash decoding). */
const fewQueries = 8;

export function sketchAttention(
  work: AttentionWork<number>,
  target: Target,
  c: AttentionCoefficients,
): Sketch {
  const { batch, heads, kvHeads, queryLength, keyLength, headDim, valueHeadDim, causal } = work;
  const type = computeTypeOn(work.dtype, target);
  const width = bytesOfCompute(type);
  const machine = ratesOf(target, type);
  const { headDimSteps, headDimMultiple } = target.stack.attention;
  const widest = Math.max(headDim, valueHeadDim);
  const step = headDimSteps.find((size) => size >= widest) ?? roundUp(widest, 64);
  const odd = headDim % headDimMultiple !== 0 || valueHeadDim % headDimMultiple !== 0;
  const tiles = Math.ceil(queryLength / queryTile) * batch * heads;
  const waves = Math.ceil(tiles / machine.sms);
  // FP32 was measured at more than its rate on CUDA cores, which FP64 has no other units for.
  const cudaShare = type === "fp64" ? Math.min(1, c.cudaShare) : c.cudaShare;
  const share = machine.tensorCore ? c.peakShare : cudaShare;
  // A causal query tile sees half the keys on average, and all of its own.
  const keys = causal ? roundUp(keyLength, keyTile) / 2 + keyTile / 2 : roundUp(keyLength, keyTile);
  const perTile = (queryTile * keys * (4 * step + c.softmaxCost)) / ((machine.flops / machine.sms) * share);
  const { launch, slow, slowOdd } = work.masked ? c.masked : { ...c, slow: 1 };
  const slowdown = odd ? slowOdd : slow;
  const parts = queryLength > fewQueries ? 1 : partsOf(keyLength, tiles, machine.sms);
  const compute = waves * ((perTile * slowdown) / parts + c.tileOverhead);
  const mask = work.masked ? batch * queryLength * keyLength : 0;
  const elements = batch * (heads * queryLength + kvHeads * keyLength) * (headDim + valueHeadDim) + mask;
  const bytes = elements * width;
  const memory = memoryTime(bytes, machine, c);
  const microseconds = launch + overlapped(compute, memory);
  const flops = flopsOf(work);
  return {
    family: "attention",
    microseconds,
    bound: boundOf(compute, memory, launch, machine.tensorCore, bytes < machine.l2Bytes),
    tensorCore: machine.tensorCore,
    format: type,
    bytes,
    biasMicroseconds: 0,
    features: [
      log2(batch),
      log2(heads),
      log2(batch * heads),
      log2(queryLength),
      log2(keyLength),
      headDim,
      step,
      causal ? 1 : 0,
      work.masked ? 1 : 0,
      alignmentClass(headDim * width),
      alignmentClass(queryLength * width),
      alignmentClass(keyLength * width),
      formatFeature(type),
      log2(flops),
      log2(bytes),
      log2(microseconds),
      log2(compute / memory),
      log2(tiles / machine.sms),
      waves / (tiles / machine.sms),
      log2((tiles * 2) / machine.sms),
      Math.ceil((tiles * 2) / machine.sms) / ((tiles * 2) / machine.sms),
      queryLength / roundUp(queryLength, 128),
      queryLength / roundUp(queryLength, 64),
      keyLength / roundUp(keyLength, 128),
      log2(heads / kvHeads),
    ],
  };
}

function partsOf(keyLength: number, tiles: number, sms: number): number {
  return Math.max(1, Math.min(Math.ceil(keyLength / keyTile), Math.floor(sms / tiles)));
}
