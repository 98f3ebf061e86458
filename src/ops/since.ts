/**
 * @file The opset that an operator of ai.onnx is there since, where that is no early one: in an older one its name means nothing, and no runtime loads it.
 * LayerNormalization is left out, which ONNX Runtime has at every opset, and what was experimental before opset 9.
 *
 * Source: onnx.defs.get_all_schemas_with_history() of ONNX 1.23.
 */
const introduced: readonly (readonly [opset: number, names: string])[] = [
  [10, "ConvInteger DequantizeLinear IsInf MatMulInteger Mod NonMaxSuppression QLinearConv QLinearMatMul"],
  [10, "QuantizeLinear Resize ReverseSequence RoiAlign StringNormalizer"],
  [11, "BitShift ConcatFromSequence CumSum Det DynamicQuantizeLinear GatherElements GatherND Range Round"],
  [11, "ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert"],
  [11, "SequenceLength SplitToSequence Unique"],
  [12, "Celu Einsum GreaterOrEqual LessOrEqual NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"],
  [14, "HardSwish Trilu"],
  [15, "Bernoulli CastLike Optional OptionalGetElement OptionalHasElement"],
  [16, "GridSample"],
  [17, "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT SequenceMap"],
  [18, "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im GroupNormalization Mish"],
  [19, "DeformConv"],
  [20, "AffineGrid Gelu ImageDecoder RegexFullMatch StringConcat StringSplit"],
  [23, "Attention RMSNormalization RotaryEmbedding"],
  [24, "Swish TensorScatter"],
  [26, "BitCast CumProd"],
  [27, "CausalConvWithState LinearAttention"],
  [28, "SwiGLU"],
];

const sinceOf = new Map(
  introduced.flatMap(([opset, names]) => names.split(" ").map((name) => [name, opset] as const)),
);

/** The first opset that has an operator, where the one given is older; undefined where it has it, or where nobody says which it is. */
export function missingBefore(domain: string, type: string, opset: number | undefined): number | undefined {
  if (domain !== "" || opset === undefined) return undefined;
  const since = sinceOf.get(type);
  return since !== undefined && opset < since ? since : undefined;
}
