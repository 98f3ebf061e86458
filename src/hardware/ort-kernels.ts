/**
 * @file Which kernels ONNX Runtime's CUDA provider has, as far as it lacks some: by its OperatorKernels.md (commit 001d12d of 2026, beside release 1.30), and runs of what it has none of.
 * Operators of ai.onnx go by their types, others by domain and type.
 */

/** The first opset of its domain in which an operator has a kernel. */
export type KernelsSince = Readonly<Record<string, number>>;

/**
 * Of the functions among ONNX's operators (as of 1.23), those in no row of that table but DirectML's, that are no losses. Run by ONNX Runtime 1.30, each was the
 * nodes of its function. GroupNorm of com.microsoft, which has a kernel, is another operator, in NHWC.
 */
export const ortInlines = { CenterCropPad: true, GroupNormalization: true, Mish: true, Swish: true } as const;

/** In BF16, in every operand that has the node's type. CastLike, GroupNormalization and Swish are here as functions whose nodes all have one. */
export const ortBfloat16 = {
  Abs: 13,
  Add: 13,
  Attention: 23,
  AveragePool: 22,
  Cast: 13,
  CastLike: 15,
  Compress: 9,
  Concat: 4,
  ConstantOfShape: 9,
  Conv: 22,
  Div: 13,
  Dropout: 13,
  Erf: 13,
  Exp: 13,
  Expand: 8,
  Flatten: 1,
  Gather: 1,
  GatherElements: 11,
  GatherND: 13,
  Gelu: 20,
  Gemm: 13,
  GroupNormalization: 21,
  HardSigmoid: 22,
  HardSwish: 22,
  Identity: 1,
  IsInf: 20,
  IsNaN: 13,
  LayerNormalization: 17,
  MatMul: 13,
  Max: 6,
  Min: 6,
  Mod: 13,
  Mul: 13,
  Neg: 13,
  Pow: 15,
  RMSNormalization: 23,
  ReduceSum: 13,
  Relu: 13,
  Reshape: 1,
  ReverseSequence: 10,
  RotaryEmbedding: 23,
  ScatterElements: 11,
  ScatterND: 11,
  Shape: 1,
  Sigmoid: 13,
  Sign: 13,
  SimplifiedLayerNormalization: 1,
  Size: 1,
  Slice: 1,
  Softmax: 13,
  Split: 2,
  Sqrt: 13,
  Squeeze: 1,
  Sub: 13,
  Sum: 6,
  Swish: 24,
  Tanh: 13,
  TensorScatter: 24,
  Tile: 13,
  Transpose: 1,
  Trilu: 14,
  Unsqueeze: 1,
  Where: 16,
  "com.microsoft::Attention": 1,
  "com.microsoft::BiasGelu": 1,
  "com.microsoft::FastGelu": 1,
  "com.microsoft::FusedMatMul": 1,
  "com.microsoft::GatherBlockQuantized": 1,
  "com.microsoft::Gelu": 1,
  "com.microsoft::GroupQueryAttention": 1,
  "com.microsoft::MatMulBnb4": 1,
  "com.microsoft::MatMulNBits": 1,
  "com.microsoft::MoE": 1,
  "com.microsoft::MultiHeadAttention": 1,
  "com.microsoft::PagedAttention": 1,
  "com.microsoft::QMoE": 1,
  "com.microsoft::QuickGelu": 1,
  "com.microsoft::RotaryEmbedding": 1,
  "com.microsoft::SkipLayerNormalization": 1,
  "com.microsoft::SkipSimplifiedLayerNormalization": 1,
  "com.microsoft::SparseAttention": 1,
  "com.microsoft::TransposeMatMul": 1,
  "com.microsoft::Trilu": 1,
} as const satisfies KernelsSince;

/** With prefer_nhwc images run in com.ms.internal.nhwc, which has BF16 of nothing. */
const { Conv: _conv, AveragePool: _pool, ...besideImages } = ortBfloat16;

export const ortBfloat16Nhwc: KernelsSince = besideImages;

/** Whether a stack whose kernels are these has none of convolutions in the type. */
export function lacksConvolutions(since: KernelsSince | undefined): boolean {
  if (since === undefined) return false;
  const { Conv: conv } = since;
  return conv === undefined;
}
