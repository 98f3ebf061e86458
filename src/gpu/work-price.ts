/**
 * @file What the bundled runtime takes for one product by itself: its planner's own price, of weights as the file has them. The cost model prices
 * cuBLAS and cuDNN, which lose more by odd sizes: the runtime packs weights when it loads.
 */
import { predictedMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import { plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { channelsSecond, permuted, type View } from "../../cuda-runtime/ir/view.ts";
import { emitConv } from "../../cuda-runtime/kernels/conv/conv.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { DType } from "../ir/dtype.ts";
import type { ConvWork, GemmWork, Work } from "../ops/work.ts";

/** Microseconds of one run; undefined where the product's operands are not known well enough. */
export type WorkPrice = (work: Work<number>) => number | undefined;

/** Layers repeat, and sizes are tried in turn: each work is planned once. */
export function workPriceOn(target: PlanTarget, precision: Precision): WorkPrice {
  const known = new Map<string, number | undefined>();
  return (work) => {
    if (work.kind !== "gemm" && work.kind !== "conv") return undefined;
    const key = JSON.stringify(work);
    if (!known.has(key)) known.set(key, priceOf(work, target, precision));
    return known.get(key);
  };
}

function priceOf(
  work: GemmWork<number> | ConvWork<number>,
  target: PlanTarget,
  precision: Precision,
): number | undefined {
  const storage = storageOf(work, target, precision);
  if (storage === undefined) return undefined;
  const operands = new DraftOperands(target);
  if (work.kind === "gemm") emitProduct({ operands, work, storage });
  else emitImage({ operands, work, storage });
  return operands.actions().reduce((sum, action) => sum + predictedMicroseconds(action, target), 0);
}

const halves: Readonly<Partial<Record<DType, FloatStorage>>> = { float16: "float16", bfloat16: "bfloat16" };

/** Of products of halves: others have less to lose by odd sizes, and weights of fewer bits have kernels of their own. */
function storageOf(
  work: GemmWork<number> | ConvWork<number>,
  { features }: PlanTarget,
  precision: Precision,
): FloatStorage | undefined {
  if (work.kind === "conv" ? work.transposed : work.weightBits !== undefined) return undefined;
  const storage = {
    fp16: "float16",
    bf16: "bfloat16",
    tf32: undefined,
    fp32: undefined,
    model: halves[work.dtype],
  } as const;
  const has = { float16: features.half, bfloat16: features.bf16, float32: false };
  const found = storage[precision];
  return found !== undefined && has[found] ? found : undefined;
}

interface Request<W> {
  readonly operands: DraftOperands;
  readonly work: W;
  readonly storage: FloatStorage;
}

function emitProduct({ operands, work, storage }: Request<GemmWork<number>>): void {
  const { batch, m, n, k, transA, transB, sharedB } = work;
  // Of weights one product has all rows.
  const [outer, rows] = sharedB ? [[], batch * m] : [[batch], m];
  const { matricesA = batch, matricesB = batch } = work;
  const ofA = sharedB ? [] : [matricesA];
  const a = transA
    ? lastSwapped(operands.tensor("input", storage, [...ofA, k, rows]))
    : operands.tensor("input", storage, [...ofA, rows, k]);
  const shapeB = transB ? [n, k] : [k, n];
  const stored = sharedB
    ? operands.tensor("constant", storage, shapeB)
    : operands.tensor("input", storage, [matricesB, ...shapeB]);
  const b = transB ? lastSwapped(stored) : stored;
  emitGemm(operands.emitter, {
    a,
    b,
    to: operands.output(storage, [...outer, rows, n]),
    epilogue: plainEpilogue,
  });
}

function lastSwapped(view: View): View {
  const rank = view.shape.length;
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return permuted(view, [...axes.slice(0, -2), rank - 1, rank - 2]);
}

/** Channels last, as the runtime keeps them. */
function emitImage({ operands, work, storage }: Request<ConvWork<number>>): void {
  const { batch, channels, filters, groups, input, output, kernel, strides, dilations } = work;
  const pads = input.map((size, axis) => {
    const reach = (dilations[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) + 1;
    return Math.floor((((output[axis] ?? 1) - 1) * (strides[axis] ?? 1) + reach - size) / 2);
  });
  emitConv(operands.emitter, {
    x: channelsSecond(operands.tensor("input", storage, [batch, ...input, channels])),
    w: operands.tensor("constant", storage, [filters, channels / groups, ...kernel]),
    to: channelsSecond(operands.output(storage, [batch, ...output, filters])),
    ...{ strides, dilations, pads, groups, epilogue: plainEpilogue },
  });
}
