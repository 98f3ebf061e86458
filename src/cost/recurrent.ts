/** @file LSTM, GRU, RNN: one product for all inputs, then a chain of small ones, one a step. */
import { bytesOfCompute, type Target } from "../hardware/target.ts";
import type { RecurrentWork } from "../ops/work.ts";
import { computeTypeOn } from "./precision.ts";
import { type MemoryCoefficients, memoryTime, overlapped, ratesOf, slowdownAt } from "./rates.ts";
import { alignmentBytes, alignmentClass, boundOf, formatFeature, log2, type Sketch } from "./sketch.ts";
import { planTiles, type TileCoefficients } from "./tiles.ts";

export interface RecurrentCoefficients extends MemoryCoefficients, TileCoefficients {
  readonly launch: number;
  /** Microseconds of a step apart from its product: the barrier between steps, the gates. */
  readonly step: number;
  /** Operations a clock an SM where sizes are odd. */
  readonly perClockOdd: number;
  readonly cudaShare: number;
}

export function sketchRecurrent(
  work: RecurrentWork<number>,
  target: Target,
  c: RecurrentCoefficients,
): Sketch {
  const { steps, batch, inputSize, hiddenSize, gates, directions } = work;
  const type = computeTypeOn(work.dtype, target);
  const width = bytesOfCompute(type);
  const machine = ratesOf(target, type);
  const n = gates * hiddenSize;
  const coefficients = machine.tensorCore ? c : { ...c, peakShare: c.cudaShare };
  const alignment = Math.min(alignmentBytes(inputSize * width), alignmentBytes(hiddenSize * width));
  const narrow = machine.tensorCore && alignment < 16;
  const slowdown = narrow ? slowdownAt(c.perClockOdd, c.peakShare, machine) : 1;
  const inputs = planTiles(
    { batch: directions, m: steps * batch, n, k: inputSize, width },
    machine,
    coefficients,
    slowdown,
  );
  const chained = planTiles({ batch: 1, m: batch, n, k: hiddenSize, width }, machine, coefficients, slowdown);
  const weightBytes = n * hiddenSize * width;
  const perStep = c.step + overlapped(chained.microseconds, memoryTime(weightBytes, machine, c));
  const states = steps * batch * (inputSize + directions * hiddenSize) * width;
  const biases = work.biased === true ? 2 * n : 0;
  const bytes = states + directions * (weightBytes + (n * inputSize + biases) * width);
  const compute = inputs.microseconds + directions * steps * perStep;
  const memory = memoryTime(bytes, machine, c);
  const microseconds = c.launch + overlapped(compute, memory);
  return {
    family: "recurrent",
    microseconds,
    bound: boundOf(compute, memory, c.launch, machine.tensorCore, bytes < machine.l2Bytes),
    tensorCore: machine.tensorCore,
    format: type,
    bytes,
    chain: [steps, batch, hiddenSize, gates, directions].join(" "),
    biasMicroseconds: 0,
    features: [
      log2(steps),
      log2(batch),
      log2(inputSize),
      log2(hiddenSize),
      gates,
      directions,
      alignmentClass(inputSize * width),
      alignmentClass(hiddenSize * width),
      log2(microseconds),
      formatFeature(type),
    ],
  };
}
