/** @file What a product does to each element before it is stored: read by the planner, done by gemm and conv kernels. */
import type { StorageType } from "./storage.ts";
import type { View } from "./view.ts";

/** `code` is `ActivationCode` in kernels/common/activation.cuh. `a` and `b` are what the formula says. */
export const activations = {
  none: { code: 0 },
  relu: { code: 1 },
  /** min(max(x, a), b) */
  clip: { code: 2 },
  /** x < 0 ? a x : x */
  leakyRelu: { code: 3 },
  sigmoid: { code: 4 },
  tanh: { code: 5 },
  /** x sigmoid(a x) */
  silu: { code: 6 },
  /** x/2 (1 + erf(x / sqrt 2)) */
  gelu: { code: 7 },
  /** x/2 (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) */
  geluTanh: { code: 8 },
  /** min(max(a x + b, 0), 1) */
  hardSigmoid: { code: 9 },
  /** x min(max(a x + b, 0), 1) */
  hardSwish: { code: 10 },
  /** x < 0 ? a (exp(x) - 1) : x */
  elu: { code: 11 },
  /** log(1 + exp(x)) */
  softplus: { code: 12 },
  /** a x + b */
  affine: { code: 13 },
} as const satisfies Record<string, { readonly code: number }>;

export type ActivationKind = keyof typeof activations;

export interface Activation {
  readonly kind: ActivationKind;
  readonly a: number;
  readonly b: number;
}

export const noActivation: Activation = { kind: "none", a: 0, b: 0 };

/**
 * v = sum × scale[n] + bias[n]; v = activation(v); v = v + residual; v = last(v), in FP32, then rounded to the output's type.
 * n is the channel: the product's `channelAxis`.
 */
export interface Epilogue {
  /** One element a channel, packed, float32. */
  readonly scale: View | undefined;
  /** One element a channel, packed, float32. */
  readonly bias: View | undefined;
  readonly activation: Activation;
  /** Of the output's shape, any strides that the product takes (`acceptsResidual`), any float type. */
  readonly residual: View | undefined;
  readonly last: Activation;
}

export const plainEpilogue: Epilogue = {
  scale: undefined,
  bias: undefined,
  activation: noActivation,
  residual: undefined,
  last: noActivation,
};

/** A product whose launch waits until it is known what follows it. */
export interface PendingProduct {
  readonly shape: readonly number[];
  readonly type: StorageType;
  /** The axis that scale and bias run along; undefined where the kernel takes neither. */
  readonly channelAxis: number | undefined;
  /** Axes from the outermost to the innermost, as the kernel likes to write. */
  readonly order: readonly number[];
  /** Whether the kernel can write to a view of these strides (concat in place), else it gets new memory. */
  acceptsOutput(view: View): boolean;
  acceptsResidual(view: View): boolean;
  /** Launches it. `to.type` is any float storage type. Called once. */
  emit(epilogue: Epilogue, to: View): void;
}
