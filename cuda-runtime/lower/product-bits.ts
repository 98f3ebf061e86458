/**
 * @file MatMulNBits: weights of 4 or 8 bits in blocks along k. For few rows those of 4 bits are expanded in the product's own loop; else
 * they are expanded to floats, once where they are constants.
 */
import type { Epilogue, PendingProduct } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { add, binary, constant, convert, load, multiply, subtract } from "../ir/expr-build.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, expanded, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { emitNBits, type NBitsWeights, takesNBits } from "../kernels/gemm-nbits/gemm-nbits.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { stacksOf } from "./product-matmul.ts";
import { alike, pendingOf, setAfter } from "./product-pending.ts";

interface Blocks {
  readonly n: number;
  readonly k: number;
  readonly bits: number;
  readonly blockSize: number;
  /** Of one row of weights. */
  readonly count: number;
}

function blocksOf(context: LowerContext): Blocks {
  const required = (name: string) => context.int(name) ?? context.fail(`lacks the attribute ${name}`);
  const bits = context.int("bits") ?? 4;
  if (bits !== 4 && bits !== 8) context.fail(`has weights of ${bits} bits, supported are 4 and 8`);
  const [n, k, blockSize] = [required("N"), required("K"), required("block_size")];
  return { n, k, bits, blockSize, count: Math.ceil(k / blockSize) };
}

/** A, weights [N, blocks, bytes], scales a block, zero points, group index, bias. */
const matMulNBits: Lower = (context) => {
  if (context.hasInput(4)) context.fail("has a group index (input 4), which is not supported");
  const blocks = blocksOf(context);
  const a = context.input(0);
  if (!isFloatStorage(a.type)) context.fail(`multiplies ${a.type}`);
  const product = fewRows(context, blocks, a) ?? expandedProduct(context, blocks, a);
  setAfter(context, product, context.hasInput(5) ? (sum) => add(sum, context.expr(5)) : undefined);
};

/** Weights of 4 bits that are read as they are stored. Undefined where expanding them at load is what there is. */
function fewRows(context: LowerContext, blocks: Blocks, a: View): PendingProduct | undefined {
  const { n, k, bits, blockSize, count } = blocks;
  const rows =
    reshaped(a, [elementCount(a.shape) / k, k]) ??
    reshaped(context.packed(a), [elementCount(a.shape) / k, k]);
  const [codes, scales] = [context.input(1), context.input(2)];
  const zeros = context.hasInput(3) ? context.input(3) : undefined;
  const isConstant = [codes, scales, ...(zeros === undefined ? [] : [zeros])].every((view) =>
    context.isConstant(view),
  );
  if (rows === undefined || bits !== 4 || !isConstant || !isFloatStorage(scales.type)) return undefined;
  if (zeros !== undefined && zeros.type !== "uint8") return undefined;
  if (!takesNBits(rows, blocks, context.target)) return undefined;
  const weights: NBitsWeights = {
    codes: viewAs(context, codes, [n, (count * blockSize) / 2]),
    scales: viewAs(context, context.packed(scales, { type: rows.type }), [n, count]),
    zeros: zeros && viewAs(context, zeros, [n, Math.ceil(count / 2)]),
    ...{ n, blockSize, blocks: count },
  };
  const shape = context.outputShape(0);
  const flat = (view: View) => reshaped(view, [rows.shape[0] ?? 1, n]);
  return {
    shape,
    type: context.outputType(0),
    channelAxis: shape.length - 1,
    order: shape.map((_, axis) => axis),
    acceptsOutput: (view) => isFloatStorage(view.type) && flat(view) !== undefined,
    acceptsResidual: (view) => isFloatStorage(view.type) && flat(expanded(view, shape)) !== undefined,
    emit(epilogue: Epilogue, to: View) {
      const residual = epilogue.residual && flat(expanded(epilogue.residual, shape));
      const target = flat(to) ?? context.fail("tc-lint bug: an output that was not accepted");
      emitNBits(context, { a: rows, weights, to: target, epilogue: { ...epilogue, residual } });
    },
  };
}

function expandedProduct(context: LowerContext, blocks: Blocks, a: View): PendingProduct {
  const type = isFloatStorage(a.type) ? a.type : "float32";
  const weights = expandedWeights(context, blocks, type);
  const stacks = stacksOf(...alike(context, a, permuted(weights, [1, 0])));
  const shape = context.outputShape(0);
  return pendingOf(context, {
    ...stacks,
    shape,
    type: context.outputType(0),
    channelAxis: shape.length - 1,
  });
}

/** [N, K] = (code - zero) scale. */
function expandedWeights(context: LowerContext, blocks: Blocks, type: StorageType): View {
  const { n, k, bits, blockSize, count } = blocks;
  const perByte = 8 / bits;
  const bytes = (blockSize * bits) / 8;
  const codes = viewAs(context, context.input(1), [n, count, bytes]);
  const scales = viewAs(context, context.input(2), [n, count, 1]);
  const zeros = zerosOf(context, blocks);
  const memory = context.temporary(type, [n, count, bytes, perByte]);
  for (let part = 0; part < perByte; part++) {
    const distance = subtract(codeOf(codes, bits, part), zeros);
    const to = sliced(memory, 3, part, 1);
    const target = { ...to, shape: to.shape.slice(0, 3), strides: to.strides.slice(0, 3) };
    context.evaluateInto(multiply(distance, convert("f32", load(scales))), target);
  }
  return sliced(viewAs(context, memory, [n, count * blockSize]), 1, 0, k);
}

/** The `part`-th code of each byte, the low bits first, as a float. */
function codeOf(bytes: View, bits: number, part: number): Expr {
  const byte = load(bytes);
  if (bits === 8) return convert("f32", byte);
  const shifted = part === 0 ? byte : binary("shr", byte, constant(byte.type, part * bits));
  return convert("f32", binary("and", shifted, constant(byte.type, 2 ** bits - 1)));
}

/** One a block, as a float that broadcasts over [N, blocks, bytes]: given as floats, as packed codes, or the middle. */
function zerosOf(context: LowerContext, { n, count, bits }: Blocks): Expr {
  if (!context.hasInput(3)) return constant("f32", 2 ** (bits - 1));
  const zeros = context.input(3);
  if (zeros.type !== "uint8") return convert("f32", load(viewAs(context, zeros, [n, count, 1])));
  const perByte = 8 / bits;
  const width = Math.ceil(count / perByte);
  const packed = viewAs(context, zeros, [n, width]);
  const memory = context.temporary("float32", [n, width, perByte]);
  for (let part = 0; part < perByte; part++) {
    const to = sliced(memory, 2, part, 1);
    const target = { ...to, shape: to.shape.slice(0, 2), strides: to.strides.slice(0, 2) };
    context.evaluateInto(codeOf(packed, bits, part), target);
  }
  const all = sliced(viewAs(context, memory, [n, width * perByte]), 1, 0, count);
  return load({ ...all, shape: [n, count, 1], strides: [...all.strides, 0] });
}

function viewAs(context: LowerContext, view: View, shape: readonly number[]): View {
  const elements = shape.reduce((total, size) => total * size, 1);
  if (view.shape.reduce((total, size) => total * size, 1) !== elements) {
    return context.fail(`has an input of shape [${view.shape.join(",")}], expected [${shape.join(",")}]`);
  }
  return (
    reshaped(view, shape) ?? reshaped(context.packed(view), shape) ?? context.fail("tc-lint bug: packed")
  );
}

export const bitsLowerings: LowerTable = { "com.microsoft::MatMulNBits": matMulNBits };
