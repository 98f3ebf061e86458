/** @file Where the output channels of a product lie in its weights, and weights with one factor a channel. */
import { bytesOf } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import type { TensorBytes } from "../../ir/patch.ts";
import { MemoryBytes } from "../tensors.ts";
import { type FloatType, readFloats, TransformedTensor } from "../transform-tensor.ts";
import type { Draft } from "./draft.ts";

/** Element i of the weights belongs to output channel `channels[⌊i / inner⌋ mod channels.length]`. */
export interface ChannelLayout {
  readonly inner: number;
  readonly channels: Int32Array;
  /** How many output channels there are. */
  readonly count: number;
}

/** Products with constant weights as input 1, an optional bias as input 2, and channels on axis 1 of the output. */
export const layouts: Readonly<
  Record<string, (draft: Draft, node: Node, dims: readonly number[]) => ChannelLayout | undefined>
> = {
  Conv: (_, __, dims) => rows(dims[0] ?? 0, volume(dims.slice(1))),
  ConvTranspose: (draft, node, dims) => transposedConv(dims, draft.int(node, "group") ?? 1),
  Gemm: (draft, node, [first = 0, second = 0]) =>
    draft.int(node, "transB") === 1 ? rows(first, second) : rows(second, 1),
  MatMul: (draft, node, dims) => {
    const isMatrix = dims.length === 2 && draft.factOf(draft.inputsOf(node)[0]).shape?.length === 2;
    return isMatrix ? rows(dims[1] ?? 0, 1) : undefined;
  },
};

function rows(count: number, inner: number): ChannelLayout {
  return { inner, channels: Int32Array.from({ length: count }, (_, channel) => channel), count };
}

/** Weights [C, M / groups, …]: input channel c belongs to one group, whose output channels follow each other. */
function transposedConv([inputs = 0, perGroup = 0, ...kernel]: readonly number[], groups: number) {
  const inputsPerGroup = inputs / groups;
  const channels = Int32Array.from(
    { length: inputs * perGroup },
    (_, row) => Math.floor(Math.floor(row / perGroup) / inputsPerGroup) * perGroup + (row % perGroup),
  );
  return { inner: volume(kernel), channels, count: perGroup * groups };
}

function volume(dims: readonly number[]): number {
  return dims.reduce((total, dim) => total * dim, 1);
}

/** The weights times one factor a channel, read window by window. */
export function scaledWeights(
  source: TensorBytes,
  dtype: FloatType,
  { inner, channels }: ChannelLayout,
  factors: Float64Array,
): TensorBytes {
  const map = (values: Float64Array, first: number) => {
    let row = Math.floor(first / inner);
    let end = (row + 1) * inner - first;
    for (let index = 0; index < values.length; row++, end += inner) {
      const factor = factors[channels[row % channels.length] ?? 0] ?? 1;
      for (const stop = Math.min(end, values.length); index < stop; index++)
        values[index] = (values[index] ?? 0) * factor;
    }
  };
  return new TransformedTensor(source, { from: dtype, to: dtype, map });
}

const windowBytes = 1 << 20;

/** The largest magnitude in each output channel; NaN where one is none. Throws what reading the source throws. */
export function largestMagnitudes(
  source: TensorBytes,
  dtype: FloatType,
  { inner, channels, count }: ChannelLayout,
): Float64Array {
  const largest = new Float64Array(count);
  const width = bytesOf(dtype, 1);
  for (let offset = 0; offset < source.size; offset += windowBytes) {
    const window = new Uint8Array(Math.min(windowBytes, source.size - offset));
    source.readInto(offset, window);
    const values = readFloats(new MemoryBytes(window), dtype);
    const first = offset / width;
    let row = Math.floor(first / inner);
    for (let index = 0, end = (row + 1) * inner - first; index < values.length; row++, end += inner) {
      const channel = channels[row % channels.length] ?? 0;
      let most = largest[channel] ?? 0;
      for (const stop = Math.min(end, values.length); index < stop; index++)
        most = Math.max(most, Math.abs(values[index] ?? 0));
      largest[channel] = most;
    }
  }
  return largest;
}
