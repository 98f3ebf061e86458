/**
 * @file What the bundled runtime takes for one product by itself: its planner's own price, of weights as the file has them. The cost model prices
 * cuBLAS and cuDNN, which lose more by odd sizes: the runtime packs weights when it loads.
 */
import { predictedMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import { plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { permuted, type View } from "../../cuda-runtime/ir/view.ts";
import { emitConv } from "../../cuda-runtime/kernels/conv/conv.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { PlanDraft } from "../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../cuda-runtime/plan/emitter.ts";
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
  const operands = new Operands(target, storage);
  if (work.kind === "gemm") emitProduct(operands, work);
  else emitImage(operands, work);
  return operands.microseconds();
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

/** Tensors that nobody fills, and what is launched on them. */
class Operands {
  readonly #draft = new PlanDraft();
  readonly #target: PlanTarget;
  readonly emitter: PlanEmitter;
  readonly storage: FloatStorage;

  constructor(target: PlanTarget, storage: FloatStorage) {
    this.#target = target;
    this.storage = storage;
    this.emitter = new PlanEmitter(this.#draft, target, false);
  }

  input(shape: readonly number[]): View {
    return this.#draft.allocate("input", this.storage, shape);
  }

  weights(shape: readonly number[]): View {
    const view = this.#draft.allocate("constant", this.storage, shape);
    this.#draft.upload({ buffer: view.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} });
    return view;
  }

  output(shape: readonly number[]): View {
    return this.#draft.allocate("output", this.storage, shape);
  }

  /** Of every run: what is done to weights alone is done once. */
  microseconds(): number {
    const { steps } = this.#draft.finish();
    return steps.reduce((sum, { action }) => sum + predictedMicroseconds(action, this.#target), 0);
  }
}

function emitProduct(operands: Operands, work: GemmWork<number>): void {
  const { batch, m, n, k, transA, transB, sharedB } = work;
  // Of weights one product has all rows.
  const [outer, rows] = sharedB ? [[], batch * m] : [[batch], m];
  const { matricesA = batch, matricesB = batch } = work;
  const ofA = sharedB ? [] : [matricesA];
  const a = transA ? lastSwapped(operands.input([...ofA, k, rows])) : operands.input([...ofA, rows, k]);
  const shapeB = transB ? [n, k] : [k, n];
  const stored = sharedB ? operands.weights(shapeB) : operands.input([matricesB, ...shapeB]);
  const b = transB ? lastSwapped(stored) : stored;
  emitGemm(operands.emitter, { a, b, to: operands.output([...outer, rows, n]), epilogue: plainEpilogue });
}

function lastSwapped(view: View): View {
  const rank = view.shape.length;
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return permuted(view, [...axes.slice(0, -2), rank - 1, rank - 2]);
}

/** Channels last, as the runtime keeps them. */
function emitImage(operands: Operands, work: ConvWork<number>): void {
  const { batch, channels, filters, groups, input, output, kernel, strides, dilations } = work;
  const pads = input.map((size, axis) => {
    const reach = (dilations[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) + 1;
    return Math.floor((((output[axis] ?? 1) - 1) * (strides[axis] ?? 1) + reach - size) / 2);
  });
  emitConv(operands.emitter, {
    x: channelsSecond(operands.input([batch, ...input, channels])),
    w: operands.weights([filters, channels / groups, ...kernel]),
    to: channelsSecond(operands.output([batch, ...output, filters])),
    ...{ strides, dilations, pads, groups, epilogue: plainEpilogue },
  });
}

function channelsSecond(view: View): View {
  const rank = view.shape.length;
  return permuted(view, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, axis) => axis + 1)]);
}
