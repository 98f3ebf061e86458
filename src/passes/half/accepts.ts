/**
 * @file Which operators take half precision, from which opset on, and which of their inputs and outputs have a type of
 * their own. An operator that is not here keeps FP32.
 *
 * Source: type constraints in ONNX's operator changelog (opsets 1 to 28) and in ONNX Runtime's ContribOperators.md.
 */
import type { DType } from "../../ir/dtype.ts";
import { own } from "../../ir/own.ts";

export type HalfType = Extract<DType, "float16" | "bfloat16">;

/** How one float input or output takes part in its node's choice of type. */
export type Slot =
  /** Has the node's type. */
  | "half"
  /** FP32 whatever the node's type is. */
  | "float"
  /** Any type, without effect on the others. */
  | "any"
  /** No FP32 tensor: not looked at. */
  | "other";

export interface OpTypes {
  /** First opset that takes the type; undefined for none. */
  readonly since: Readonly<Record<HalfType, number | undefined>>;
  /** Positions whose slot is not "half". */
  readonly inputs: ReadonlyMap<number, Slot>;
  readonly outputs: ReadonlyMap<number, Slot>;
}

/** Opsets that first take float16 and bfloat16 (0 for never), and the operators of ai.onnx. */
const standard: readonly (readonly [float16: number, bfloat16: number, ops: string])[] = [
  [
    1,
    13,
    `Abs Add ArgMax ArgMin Cast Ceil Clip Concat Constant DepthToSpace Div Dropout Exp Flatten Floor Gather Gemm
     Greater Hardmax Identity LRN Less Log LogSoftmax MatMul Max Mean Min Mul Neg Pad Reciprocal ReduceL1 ReduceL2
     ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape
     Shape Sigmoid Size Slice Softmax SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze`,
  ],
  [1, 14, "BatchNormalization"],
  [1, 15, "Pow"],
  [1, 16, "LeakyRelu PRelu"],
  [
    1,
    22,
    `AveragePool Conv ConvTranspose Elu GRU GlobalAveragePool GlobalLpPool GlobalMaxPool HardSigmoid
     InstanceNormalization LSTM LpNormalization LpPool MaxPool RNN Selu Softplus Softsign`,
  ],
  [1, 24, "TopK"],
  [1, 0, "Upsample"],
  [1, 17, "SimplifiedLayerNormalization"],
  [7, 22, "Acos Asin Atan Cos Sin Tan"],
  [8, 13, "Expand"],
  [9, 13, "Erf IsNaN MeanVarianceNormalization NonZero Sign"],
  [9, 16, "Where"],
  [9, 20, "ConstantOfShape"],
  [9, 22, "Acosh Asinh Atanh Cosh MaxUnpool Sinh"],
  [9, 0, "Compress OneHot Scatter Shrink"],
  [10, 13, "Mod Resize"],
  [10, 22, "ThresholdedRelu"],
  [10, 0, "ReverseSequence"],
  [11, 13, "Equal GatherElements GatherND ScatterElements ScatterND"],
  [11, 22, "Det Round"],
  [11, 0, "Unique"],
  [12, 16, "GreaterOrEqual LessOrEqual"],
  [12, 0, "Einsum"],
  [14, 14, "CumSum Trilu"],
  [14, 22, "HardSwish"],
  [15, 15, "CastLike"],
  [16, 22, "GridSample"],
  [17, 17, "DFT LayerNormalization STFT"],
  [18, 18, "CenterCropPad Col2Im"],
  [18, 22, "Mish"],
  [19, 19, "DequantizeLinear"],
  [19, 22, "DeformConv"],
  [20, 20, "AffineGrid Gelu IsInf"],
  [21, 21, "GroupNormalization"],
  [23, 23, "Attention RMSNormalization RotaryEmbedding"],
  [24, 24, "Swish TensorScatter"],
  [26, 26, "CumProd"],
  [27, 27, "CausalConvWithState LinearAttention"],
  [28, 28, "Celu SwiGLU"],
];

/** Of com.microsoft, and of ONNX Runtime's internal NHWC domain: version 1 takes float16, and these bfloat16 too. */
const microsoftBoth =
  "BiasGelu FastGelu FusedMatMul GemmFastGelu GroupQueryAttention MatMulNBits RotaryEmbedding TransposeMatMul";
const microsoftHalf = `Attention BiasAdd BiasSplitGelu ComplexMul ComplexMulConj Conv DecoderMaskedMultiHeadAttention
  EmbedLayerNormalization ExpandDims FusedConv FusedGemm FusedMatMulActivation Gelu MultiHeadAttention NhwcConv
  NhwcFusedConv PackedAttention PackedMultiHeadAttention QuickGelu RelativePositionBias SkipLayerNormalization
  SkipSimplifiedLayerNormalization`;

const microsoft = "com.microsoft";
const domains = [microsoft, "com.ms.internal.nhwc"];

type Exceptions = Readonly<
  Record<string, { readonly inputs?: Record<number, Slot>; readonly outputs?: Record<number, Slot> }>
>;

/** Inputs and outputs outside the type that the operator's first float input or output has. */
const exceptions: Exceptions = {
  Cast: { inputs: { 0: "any" } },
  CastLike: { inputs: { 0: "any" } },
  Shape: { inputs: { 0: "any" } },
  Size: { inputs: { 0: "any" } },
  Dropout: { inputs: { 1: "float" } },
  OneHot: { inputs: { 0: "float", 1: "float" } },
  Resize: { inputs: { 1: "float", 2: "float" } },
  Upsample: { inputs: { 1: "float" } },
  GridSample: { inputs: { 1: "float" } },
  LayerNormalization: { outputs: { 1: "float", 2: "float" } },
  SimplifiedLayerNormalization: { outputs: { 1: "float" } },
  [`${microsoft}::SkipLayerNormalization`]: { outputs: { 1: "float", 2: "float" } },
  [`${microsoft}::SkipSimplifiedLayerNormalization`]: { outputs: { 1: "float", 2: "float" } },
};

const table = new Map<string, OpTypes>();
for (const [float16, bfloat16, ops] of standard) {
  for (const op of ops.split(/\s+/)) add(op, { float16, bfloat16: bfloat16 === 0 ? undefined : bfloat16 });
}
for (const domain of domains) {
  for (const op of microsoftBoth.split(/\s+/)) add(`${domain}::${op}`, { float16: 1, bfloat16: 1 });
  for (const op of microsoftHalf.split(/\s+/)) add(`${domain}::${op}`, { float16: 1, bfloat16: undefined });
}

function add(key: string, since: OpTypes["since"]): void {
  const { inputs, outputs } = own(exceptions, key) ?? {};
  table.set(key, { since, inputs: positions(inputs), outputs: positions(outputs) });
}

function positions(slots: Record<number, Slot> | undefined): ReadonlyMap<number, Slot> {
  return new Map(Object.entries(slots ?? {}).map(([position, slot]) => [Number(position), slot]));
}

/** Undefined for an operator that keeps FP32. `domain` "" is ai.onnx. */
export function typesOf(domain: string, opType: string): OpTypes | undefined {
  return table.get(domain === "" ? opType : `${domain}::${opType}`);
}

/** Whether an operator takes the type at a version of its domain. */
export function accepts(types: OpTypes, type: HalfType, opset: number): boolean {
  const since = types.since[type];
  return since !== undefined && opset >= since;
}
