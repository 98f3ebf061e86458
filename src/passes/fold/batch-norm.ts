/** @file BatchNormalization into the weights and bias of the product before it. */
import { InputError } from "../../ir/errors.ts";
import { labelOf, type Node } from "../../ir/model.ts";
import { own } from "../../ir/own.ts";
import type { TensorBytes } from "../../ir/patch.ts";
import type { PassNote } from "../pass.ts";
import { MemoryBytes } from "../tensors.ts";
import { encodeFloats, type FloatType, isFloatType, readFloats } from "../transform-tensor.ts";
import { rename } from "./alias.ts";
import { type ChannelLayout, largestMagnitudes, layouts, scaledWeights } from "./channels.ts";
import type { Stored } from "./contents.ts";
import type { Draft } from "./draft.ts";

/** What a BatchNormalization does to channel c: factors[c] · x + shifts[c]. */
interface Affine {
  readonly factors: Float64Array;
  readonly shifts: Float64Array;
}

/** A product whose output only a BatchNormalization reads, perhaps by way of an Add of a constant. */
interface Site {
  readonly product: Node;
  /** The Add of a MatMul's bias. */
  readonly add: Node | undefined;
  readonly norm: Node;
}

/** Folds every BatchNormalization that can be; says of those behind a product that cannot why not. */
export function foldBatchNorms(draft: Draft): PassNote[] {
  const notes: PassNote[] = [];
  for (const norm of draft.nodes) {
    const site = siteOf(draft, norm);
    if (site === undefined) continue;
    const reason = foldSite(draft, site);
    const product = labelOf(site.product);
    notes.push(
      reason === undefined
        ? { kind: "changed", node: norm, message: `folded into the weights of "${product}"` }
        : { kind: "kept", node: norm, message: `not folded into "${product}": ${reason}` },
    );
  }
  return notes;
}

function siteOf(draft: Draft, norm: Node): Site | undefined {
  if (!isInference(draft, norm)) return undefined;
  const before = soleSource(draft, norm);
  if (before === undefined) return undefined;
  const type = draft.opTypeOf(before);
  if (type === "MatMul" && draft.opsetOf(before) < numpyBroadcasting) return undefined;
  if (Object.hasOwn(layouts, type)) return { product: before, add: undefined, norm };
  if (type !== "Add" || draft.opsetOf(before) < numpyBroadcasting) return undefined;
  const addends = draft.inputsOf(before);
  // Of a product that is added to itself there is no bias to take.
  if (new Set(addends).size < addends.length) return undefined;
  const product = addends.map((name) => draft.producerOf(name));
  const matMul = product.find((node) => node !== undefined && isMatMulFor(draft, node, before));
  return matMul && { product: matMul, add: before, norm };
}

/** The opset from which Add broadcasts without being told how. */
const numpyBroadcasting = 7;

/** The standard node that makes input 0, which is read once. */
function soleSource(draft: Draft, node: Node): Node | undefined {
  const [name = ""] = draft.inputsOf(node);
  const producer = draft.producerOf(name);
  if (producer === undefined || draft.soleReaderOf(name) !== node) return undefined;
  return draft.isStandard(producer) ? producer : undefined;
}

function isMatMulFor(draft: Draft, node: Node, add: Node): boolean {
  const [output = ""] = draft.outputsOf(node);
  return draft.isStandard(node) && draft.opTypeOf(node) === "MatMul" && draft.soleReaderOf(output) === add;
}

/** Before opset 7 a node says so itself; then it is one output that says it; from 14 on it may say otherwise. */
function isInference(draft: Draft, node: Node): boolean {
  if (!draft.isStandard(node) || draft.opTypeOf(node) !== "BatchNormalization") return false;
  if (draft.int(node, "training_mode") === 1 || draft.int(node, "spatial") === 0) return false;
  const isAlone = draft.outputsOf(node).every((name, index) => index === 0 || name === "");
  return isAlone && (draft.opsetOf(node) >= 7 || draft.int(node, "is_test") === 1);
}

/** Changes the draft, or says why not. */
function foldSite(draft: Draft, site: Site): string | undefined {
  const [, weightName = ""] = draft.inputsOf(site.product);
  const weights = draft.storedOf(weightName);
  if (weights === undefined)
    return draft.isSparse(weightName) ? "its weights are sparse" : "its weights are computed";
  if (!isFloatType(weights.dtype)) return `its weights are ${weights.dtype}`;
  if (draft.soleReaderOf(weightName) !== site.product) return "its weights are shared";
  const layout = own(layouts, draft.opTypeOf(site.product))?.(draft, site.product, weights.dims);
  if (layout === undefined) return "the channels are not on the columns of its weights";
  const affine = affineOf(draft, site.norm, layout.count);
  if (typeof affine === "string") return affine;
  const bias = biasOf(draft, site, layout.count);
  if (typeof bias === "string") return bias;
  const { factors } = affine;
  const shifts = affine.shifts.map(
    (shift, channel) => shift + (bias.numbers[channel] ?? 0) * (factors[channel] ?? 1),
  );
  const folding = { weightName, weights, dtype: weights.dtype, layout, factors, shifts, biasDims: bias.dims };
  const obstacle = overflow(folding);
  if (obstacle !== undefined) return obstacle;
  apply(draft, site, folding);
  return undefined;
}

function affineOf(draft: Draft, norm: Node, count: number): Affine | string {
  const parameters = draft
    .inputsOf(norm)
    .slice(1, 5)
    .map((name) => parameter(draft, name, count));
  const [scale, shift, mean, variance] = parameters;
  if (scale === undefined || shift === undefined || mean === undefined || variance === undefined) {
    return "its parameters are not constants that can be read";
  }
  const epsilon = draft.float(norm, "epsilon") ?? Math.fround(1e-5);
  const factors = Float64Array.from(
    scale,
    (value, channel) => value / Math.sqrt((variance[channel] ?? 0) + epsilon),
  );
  const shifts = Float64Array.from(
    shift,
    (value, channel) => value - (mean[channel] ?? 0) * (factors[channel] ?? 0),
  );
  // Runtimes compute the factor in single precision.
  if (!fits(factors, "float32") || !shifts.every(Number.isFinite)) return "its parameters make infinities";
  return { factors, shifts };
}

/** A constant vector of `count` numbers. */
function parameter(draft: Draft, name: string, count: number): readonly number[] | undefined {
  const stored = draft.storedOf(name);
  return stored !== undefined && stored.dims.length === 1 && stored.dims[0] === count
    ? stored.numbers(count)
    : undefined;
}

interface Bias {
  readonly dims: readonly number[];
  /** One a channel. */
  readonly numbers: readonly number[];
}

/** The bias there is so far, or why it cannot be read. */
function biasOf(draft: Draft, { product, add }: Site, count: number): Bias | string {
  const name = add === undefined ? draft.inputsOf(product)[2] : addend(draft, product, add);
  if (name === undefined || name === "") return { dims: [count], numbers: new Array<number>(count).fill(0) };
  const stored = draft.storedOf(name);
  const numbers = stored?.numbers(count);
  const isRow = stored?.dims.slice(0, -1).every((dim) => dim === 1) === true && stored.dims.length <= 2;
  if (stored === undefined || numbers === undefined || !isRow || ![1, count].includes(numbers.length)) {
    return "its bias is not one constant a channel";
  }
  const beta = draft.opTypeOf(product) === "Gemm" ? (draft.float(product, "beta") ?? 1) : 1;
  return {
    dims: numbers.length === count ? stored.dims : [count],
    numbers: Array.from({ length: count }, (_, channel) => beta * (numbers[channel % numbers.length] ?? 0)),
  };
}

function addend(draft: Draft, product: Node, add: Node): string | undefined {
  const [output] = draft.outputsOf(product);
  return draft.inputsOf(add).find((name) => name !== output);
}

interface Folding {
  readonly weightName: string;
  readonly weights: Stored;
  readonly dtype: FloatType;
  readonly layout: ChannelLayout;
  readonly factors: Float64Array;
  readonly shifts: Float64Array;
  readonly biasDims: readonly number[];
}

/** Why the folded numbers would leave the type, or did so before. Weights that are not here are not written either. */
function overflow({ weights, dtype, layout, factors, shifts }: Folding): string | undefined {
  if (!fits(shifts, dtype)) return `its bias would be too large for ${dtype}`;
  const largest = largestWeights(weights.bytes, dtype, layout);
  if (largest === undefined) return undefined;
  if (!largest.every(Number.isFinite)) return "its weights are not all finite";
  const scaled = largest.map((weight, channel) => weight * (factors[channel] ?? 1));
  return fits(scaled, dtype) ? undefined : `its weights could be too large for ${dtype}`;
}

/** Whether the numbers are finite in `dtype`. */
function fits(values: Float64Array, dtype: FloatType): boolean {
  return readFloats(new MemoryBytes(encodeFloats(values, dtype)), dtype).every(Number.isFinite);
}

/** Undefined where the tensor is in a file that is not there. */
function largestWeights(
  bytes: TensorBytes,
  dtype: FloatType,
  layout: ChannelLayout,
): Float64Array | undefined {
  try {
    return largestMagnitudes(bytes, dtype, layout);
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return undefined;
    throw error;
  }
}

function apply(draft: Draft, { product, add, norm }: Site, folding: Folding): void {
  const { weightName, weights, dtype, layout, factors, shifts, biasDims } = folding;
  const [output = ""] = draft.outputsOf(norm);
  const bytes = new MemoryBytes(encodeFloats(shifts, dtype));
  const numbers = [...readFloats(bytes, dtype)];
  const bias = draft.add(`${output}_bias`, { spec: { dtype, dims: biasDims, bytes }, numbers });
  const scaled = scaledWeights(weights.bytes, dtype, layout, factors);
  draft.make(weightName, { spec: { dtype, dims: weights.dims, bytes: scaled }, numbers: undefined });
  const last = add ?? product;
  const [result = ""] = draft.outputsOf(last);
  if (draft.opTypeOf(last) === "MatMul") {
    // It has no bias: what is left of the BatchNormalization adds one.
    draft.setOperator(norm, "Add");
    draft.setInputs(norm, [result, bias]);
    return;
  }
  if (add === undefined) draft.setInput(product, 2, bias);
  else draft.setInputs(add, [draft.outputsOf(product)[0] ?? "", bias]);
  if (draft.opTypeOf(product) === "Gemm") draft.setAttribute(product, "beta", null);
  draft.remove(norm);
  rename(draft, last, result, output);
}
