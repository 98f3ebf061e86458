/** @file Convolutions and their epilogues as plain loops in double precision. */
import type { Activation } from "../../cuda-runtime/ir/epilogue.ts";
import { elementCount, stridesOf } from "../../cuda-runtime/ir/view.ts";

/** Row-major. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** One entry a spatial axis. */
export interface WindowSpec {
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
}

/** [N, K, …positions] of x [N, C, …spatial] and w [K, C / groups, …taps]. */
export function outputShapeOf(
  x: readonly number[],
  w: readonly number[],
  { strides, dilations, padsBegin, padsEnd }: WindowSpec,
): number[] {
  const spatial = x.slice(2).map((size, axis) => {
    const extent = ((w[axis + 2] ?? 1) - 1) * (dilations[axis] ?? 1) + 1;
    const padded = size + (padsBegin[axis] ?? 0) + (padsEnd[axis] ?? 0);
    return Math.floor((padded - extent) / (strides[axis] ?? 1)) + 1;
  });
  return [x[0] ?? 1, w[0] ?? 1, ...spatial];
}

export function convolved(x: Tensor, w: Tensor, groups: number, window: WindowSpec): Tensor {
  const shape = outputShapeOf(x.shape, w.shape, window);
  const [batch = 1, filters = 1, ...positions] = shape;
  const [, perGroup = 1, ...taps] = w.shape;
  const out = new Float64Array(elementCount(shape));
  const xStrides = stridesOf(x.shape);
  const steps = offsetsOf(x.shape.slice(2), xStrides.slice(2), positions, taps, window);
  const tapCount = elementCount(taps);
  const positionCount = elementCount(positions);
  for (let n = 0; n < batch; n++) {
    for (let k = 0; k < filters; k++) {
      const group = Math.floor(k / (filters / groups));
      const row = (n * filters + k) * positionCount;
      for (let c = 0; c < perGroup; c++) {
        const plane = n * (xStrides[0] ?? 0) + (group * perGroup + c) * (xStrides[1] ?? 0);
        for (let tap = 0; tap < tapCount; tap++) {
          const weight = w.values[(k * perGroup + c) * tapCount + tap] ?? Number.NaN;
          for (let at = 0; at < positionCount; at++) {
            const step = steps[tap * positionCount + at] ?? -1;
            if (step >= 0)
              out[row + at] = (out[row + at] ?? 0) + weight * (x.values[plane + step] ?? Number.NaN);
          }
        }
      }
    }
  }
  return { shape, values: out };
}

/** Of each tap and position, the offset in a plane of x; -1 outside. */
function offsetsOf(
  input: readonly number[],
  strides: readonly number[],
  positions: readonly number[],
  taps: readonly number[],
  window: WindowSpec,
): Int32Array {
  const positionCount = elementCount(positions);
  const out = new Int32Array(elementCount(taps) * positionCount);
  for (let tap = 0; tap < elementCount(taps); tap++) {
    const tapAt = coordinatesOf(tap, taps);
    for (let position = 0; position < positionCount; position++) {
      const at = coordinatesOf(position, positions).map(
        (p, axis) =>
          p * (window.strides[axis] ?? 1) -
          (window.padsBegin[axis] ?? 0) +
          (tapAt[axis] ?? 0) * (window.dilations[axis] ?? 1),
      );
      const isInside = at.every((index, axis) => index >= 0 && index < (input[axis] ?? 0));
      out[tap * positionCount + position] = isInside
        ? at.reduce((sum, index, axis) => sum + index * (strides[axis] ?? 0), 0)
        : -1;
    }
  }
  return out;
}

export function coordinatesOf(index: number, shape: readonly number[]): number[] {
  const strides = stridesOf(shape);
  return shape.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size);
}

/** As ONNX states it: every input element adds to the outputs that its taps reach. `w`: [C, K / groups, …taps]. */
export function transposedConvolved(
  x: Tensor,
  w: Tensor,
  groups: number,
  window: Pick<WindowSpec, "strides" | "dilations" | "padsBegin">,
  spatial: readonly number[],
): Tensor {
  const [batch = 1, channels = 1, ...input] = x.shape;
  const [, perGroup = 1, ...taps] = w.shape;
  const shape = [batch, perGroup * groups, ...spatial];
  const out = new Float64Array(elementCount(shape));
  const outStrides = stridesOf(shape);
  const tapCount = elementCount(taps);
  const inputCount = elementCount(input);
  for (let index = 0; index < elementCount(x.shape); index++) {
    const n = Math.floor(index / (channels * inputCount));
    const c = Math.floor(index / inputCount) % channels;
    const from = coordinatesOf(index % inputCount, input);
    for (let tap = 0; tap < tapCount; tap++) {
      const at = coordinatesOf(tap, taps).map(
        (t, axis) =>
          (from[axis] ?? 0) * (window.strides[axis] ?? 1) -
          (window.padsBegin[axis] ?? 0) +
          t * (window.dilations[axis] ?? 1),
      );
      if (!at.every((position, axis) => position >= 0 && position < (spatial[axis] ?? 0))) continue;
      const within = at.reduce((sum, position, axis) => sum + position * (outStrides[axis + 2] ?? 0), 0);
      for (let k = 0; k < perGroup; k++) {
        const filter = Math.floor(c / (channels / groups)) * perGroup + k;
        const place = n * (outStrides[0] ?? 0) + filter * (outStrides[1] ?? 0) + within;
        const weight = w.values[(c * perGroup + k) * tapCount + tap] ?? Number.NaN;
        out[place] = (out[place] ?? 0) + weight * (x.values[index] ?? Number.NaN);
      }
    }
  }
  return { shape, values: out };
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const clip = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);

/** By its series, which is good to 1e-9 as far as it is asked for. */
function erf(x: number): number {
  if (Math.abs(x) > 4) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-12; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const formulas: Partial<Record<Activation["kind"], (x: number, a: number, b: number) => number>> = {
  none: (x) => x,
  relu: (x) => Math.max(x, 0),
  clip,
  leakyRelu: (x, a) => (x < 0 ? a * x : x),
  sigmoid,
  tanh: Math.tanh,
  silu: (x, a) => x * sigmoid(a * x),
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  geluTanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  hardSigmoid: (x, a, b) => clip(a * x + b, 0, 1),
  hardSwish: (x, a, b) => x * clip(a * x + b, 0, 1),
  elu: (x, a) => (x < 0 ? a * Math.expm1(x) : x),
  softplus: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
  affine: (x, a, b) => a * x + b,
};

function activated(x: number, { kind, a, b }: Activation): number {
  const formula = formulas[kind];
  if (formula === undefined) throw new Error(`no reference for ${kind}`);
  return formula(x, a, b);
}

export interface ReferenceEpilogue {
  /** One element a channel, axis 1. */
  readonly scale?: ArrayLike<number> | undefined;
  readonly bias?: ArrayLike<number> | undefined;
  readonly activation: Activation;
  readonly residual?: ArrayLike<number> | undefined;
  readonly last: Activation;
}

export function finished({ shape, values }: Tensor, epilogue: ReferenceEpilogue): Float64Array {
  const [, channels = 1] = shape;
  const perChannel = elementCount(shape.slice(2));
  return Float64Array.from(values, (sum, index) => {
    const channel = Math.floor(index / perChannel) % channels;
    const affine = sum * (epilogue.scale?.[channel] ?? 1) + (epilogue.bias?.[channel] ?? 0);
    const first = activated(affine, epilogue.activation);
    return activated(first + (epilogue.residual?.[index] ?? 0), epilogue.last);
  });
}
